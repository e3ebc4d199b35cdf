/* SPDX-License-Identifier: MIT */
#include "writer/rotation.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "runtime/diag.h"
#include "producer/clock.h"
#include "runtime/log.h"
#include "writer/rotation_cuts.h"

enum {
	LEAST_PARTS = 256,            /* minimum part of max_size for a useful compaction */
	/* If max_size has room for this many prefixes, it has room for both files and for events. */
	ROOMY_HEADS = 4,
	SLICE_NS = 8000000,
	RETRY_US = 60000000,
	FLUSH_NS = 250000000, /* after a slower flush, later compactions do not flush */
};

/* Returns whether events wait until the recorder knows if a compaction will make room. */
static bool is_room_wanted(const struct gmt_rotation *rotate)
{
	return rotate->stream->is_full && rotate->stream->room_may_come &&
		rotate->rewrite.phase == GMT_REWRITE_NONE;
}

bool gmt_rotation_wants_sync(const struct gmt_rotation *rotate)
{
	struct gmt_rotation_cut now = gmt_rotation_now(rotate, 0);

	return gmt_rotation_is_cut_due(rotate, &now) || is_room_wanted(rotate);
}

/* Reports on stderr, once for each `kind` (a literal), and by a note in the file. */
static void report(const struct gmt_rotation *rotate, const char *kind, const char *note)
{
	gmt_diag_warn_kind(kind, "%s: %s", rotate->recording->path, note);
	gmt_log_note(note);
}

/* Turns a full recording into a window, or shortens the window. Reports each change once. */
static void report_shorter_window(struct gmt_rotation *rotate)
{
	char note[GMT_LOG_NOTE_BYTES], size[32];

	snprintf(size, sizeof(size), "%s", gmt_text_size(rotate->max_size_bytes).text);
	if (rotate->mode == GMT_MODE_FULL) {
		rotate->mode = GMT_MODE_WINDOW;
		rotate->fits_only = true;
		snprintf(note, sizeof(note),
			"mode=full became mode=window: the file nearly reached max_size=%s; "
			"older events were replaced by totals",
			size);
		report(rotate, "mode=full became mode=window", note);
	} else if (!rotate->fits_only && !rotate->reported_short && rotate->mode == GMT_MODE_WINDOW) {
		rotate->reported_short = true;
		snprintf(note, sizeof(note), "the window is shorter than requested, because of max_size=%s",
			size);
		report(rotate, "the window is shorter", note);
	}
}

/*
 * Handles a failed compaction. If it found no room, the next compaction starts at once and keeps as
 * little as possible. Otherwise the recorder tries again after a while. Meanwhile the file leaves
 * room for that compaction (set_limits).
 */
static void give_up(struct gmt_rotation *rotate)
{
	char note[GMT_LOG_NOTE_BYTES], remedy[64] = "";

	rotate->cut_under_way = 0;
	if (rotate->rewrite.found_no_room) {
		bool is_new = !rotate->is_tight;

		rotate->is_tight = true;
		if (rotate->head_bytes < rotate->rewrite.head_bytes)
			rotate->head_bytes = rotate->rewrite.head_bytes;
		if (is_new) {
			gmt_diag_report("%s: %s; the recorder now folds more events", rotate->recording->path,
				rotate->rewrite.why);
			return;
		}
	}
	rotate->not_before_ns = gmt_clock_monotonic_ns() + (uint64_t)RETRY_US * 1000;
	if (rotate->reported_failure)
		return;
	rotate->reported_failure = true;
	if (rotate->rewrite.found_no_room)
		snprintf(remedy, sizeof(remedy), " (max_size=%lluMiB is enough)",
			(unsigned long long)(rotate->head_bytes * ROOMY_HEADS >> 20) + 1);
	snprintf(note, sizeof(note),
		"older events could not be folded: %.90s%s; the file grows up to max_size; "
		"the recorder tries again in one minute",
		rotate->rewrite.why, remedy);
	report(rotate, "a fold failed", note);
}

static const char *why_of(const struct gmt_rotation *rotate)
{
	return rotate->fits_only                 ? "max_size"
		: rotate->mode == GMT_MODE_AGGREGATE ? "mode=aggregate"
											 : "mode=window";
}

static void begin_compaction(struct gmt_rotation *rotate, uint32_t cut, uint64_t stamp,
	uint64_t sure)
{
	if (!rotate->compactions && !rotate->reported_failure)
		gmt_replacement_remove_orphans(rotate->recording->fd, &rotate->recording->file);
	if (!gmt_rotation_rewrite_begin(&rotate->rewrite, rotate->recording, rotate->cuts[cut].bytes,
			stamp, sure, why_of(rotate), !rotate->is_flush_slow)) {
		give_up(rotate);
		return;
	}
	rotate->cut_under_way = cut + 1;
}

/*
 * Begins a compaction if it is due, and chooses the cut at which the file will then begin. Called
 * directly after a cut.
 */
static void begin_compaction_if_due(struct gmt_rotation *rotate, const struct gmt_rotation_cut *now)
{
	uint32_t cut = gmt_rotation_cut_for_window(rotate, now);

	if (rotate->rewrite.phase != GMT_REWRITE_NONE || now->time_ns < rotate->not_before_ns)
		return;
	if (gmt_rotation_is_too_large(rotate, now)) {
		uint32_t small = gmt_rotation_cut_for_size(rotate, now);

		if (small == rotate->cut_count)
			return;
		if (cut == rotate->cut_count || small > cut) {
			report_shorter_window(rotate);
			cut = small;
		}
	} else if (cut == rotate->cut_count || !gmt_rotation_is_worth_it(rotate, cut)) {
		return;
	}
	begin_compaction(rotate, cut, gmt_rotation_settled_stamp(rotate, cut),
		gmt_rotation_published_until(rotate, cut));
}

/*
 * Returns whether the file is to be cut here. A full file without a suitable cut is cut at its end,
 * if a compaction is then useful. The end of a gzip member always has room. This case occurs if the
 * writer did not run for a while, then found many full rings and filled the file in one round.
 */
static bool is_cut_wanted(const struct gmt_rotation *rotate, const struct gmt_rotation_cut *now)
{
	if (!rotate->stream->is_full)
		return gmt_rotation_is_cut_due(rotate, now);
	return is_room_wanted(rotate) && rotate->cut_count < GMT_ROTATION_CUTS &&
		now->bytes - gmt_rotation_last_cut(rotate)->bytes >=
		rotate->max_size_bytes / (rotate->cut_count ? GMT_ROTATION_KEPT_PARTS : LEAST_PARTS);
}

void gmt_rotation_synced(struct gmt_rotation *rotate, uint64_t stamp)
{
	struct gmt_rotation_cut now = gmt_rotation_now(rotate, stamp);

	if (rotate->stream->has_failed)
		return;
	if (is_cut_wanted(rotate, &now) && gmt_stream_end_member(rotate->stream)) {
		now.bytes = gmt_sink_written_bytes(rotate->stream->sink);
		rotate->cuts[rotate->cut_count++] = now;
	}
	begin_compaction_if_due(rotate, &now);
	if (is_room_wanted(rotate))
		rotate->stream->room_may_come = false;
}

/* Updates all positions after the new file has become the recording. */
static void continue_in_new_file(struct gmt_rotation *rotate, uint64_t head_bytes)
{
	uint32_t gone = rotate->cut_under_way;
	uint64_t part_bytes = rotate->cuts[gone - 1].bytes;

	rotate->start = rotate->cuts[gone - 1];
	rotate->start.bytes = rotate->head_bytes = head_bytes;
	rotate->is_tight = false;
	memmove(rotate->cuts, rotate->cuts + gone, (rotate->cut_count - gone) * sizeof(*rotate->cuts));
	rotate->cut_count -= gone;
	for (uint32_t i = 0; i < rotate->cut_count; i++)
		rotate->cuts[i].bytes = rotate->cuts[i].bytes - part_bytes + head_bytes;
	rotate->cut_under_way = 0;
	rotate->compactions++;
	rotate->stream->synced_file_bytes = gmt_sink_written_bytes(rotate->stream->sink);
	gmt_diag_report("%s: folded; %llu events were replaced by totals, the file has %llu bytes",
		rotate->recording->path, (unsigned long long)rotate->rewrite.compacted_events,
		(unsigned long long)rotate->stream->synced_file_bytes);
}

static void take_place(struct gmt_rotation *rotate)
{
	uint64_t head_bytes = rotate->rewrite.head_bytes;

	gmt_stream_sync(rotate->stream);
	/*
	 * If the disk was full during the sync, the new file was removed to make room
	 * (gmt_rotation_make_room).
	 */
	if (rotate->rewrite.phase == GMT_REWRITE_NONE)
		return;
	if (gmt_rotation_rewrite_take_place(&rotate->rewrite, rotate->stream))
		continue_in_new_file(rotate, head_bytes);
	else
		give_up(rotate);
}

/*
 * Returns how many bytes the file leaves free for the next compaction while no compaction runs.
 * Returns 0 if that would not help.
 */
static uint64_t room_for_compaction(const struct gmt_rotation *rotate)
{
	/* The data behind the newest cut is copied too. */
	uint64_t head = rotate->head_bytes + rotate->max_size_bytes / GMT_ROTATION_CUTS_OF_FILE;

	return head <= rotate->max_size_bytes / 2 ? head : 0;
}

/*
 * Sets the limits so that both files together stay within max_size. Data that the old file still
 * receives counts twice, because it is also copied. At first the size of the new prefix is unknown,
 * so the function uses the size of the last one. Returns the maximum size of the new file.
 */
static uint64_t set_limits(struct gmt_rotation *rotate)
{
	uint64_t max = rotate->max_size_bytes, now = gmt_sink_written_bytes(rotate->stream->sink), head;
	const struct gmt_rotation_rewrite *rewrite = &rotate->rewrite;

	if (!gmt_rotation_has_max_size(rotate))
		return UINT64_MAX;
	rotate->stream->room_may_come =
		rewrite->phase != GMT_REWRITE_NONE || gmt_clock_monotonic_ns() >= rotate->not_before_ns;
	if (rewrite->phase == GMT_REWRITE_NONE) {
		rotate->stream->limit_bytes = max - room_for_compaction(rotate);
		rotate->stream->is_full = false; /* until the limit is reached again */
		return 0;
	}
	head = rewrite->head_bytes
		? rewrite->head_bytes
		: gmt_rotation_rewrite_bytes(rewrite) + max / GMT_ROTATION_SLACK_PARTS;
	if (!rewrite->head_bytes && head < rotate->head_bytes + max / GMT_ROTATION_CUTS_OF_FILE)
		head = rotate->head_bytes + max / GMT_ROTATION_CUTS_OF_FILE;
	rotate->stream->limit_bytes = max > head ? (max - head + rewrite->part_bytes) / 2 : now;
	return max > now ? max - now : 0;
}

void gmt_rotation_init(struct gmt_rotation *rotate, struct gmt_recording *recording,
	struct gmt_stream *stream)
{
	memset(rotate, 0, sizeof(*rotate));
	rotate->recording = recording;
	rotate->stream = stream;
	rotate->mode = gmt_config.mode;
	rotate->window = gmt_config.window;
	rotate->max_size_bytes = gmt_config.max_size_bytes;
	rotate->start = gmt_rotation_now(rotate, gmt_clock_start.stamp);
	set_limits(rotate);
}

static bool work(struct gmt_rotation *rotate, uint64_t budget_ns)
{
	uint64_t new_bytes = set_limits(rotate);
	enum gmt_rotation_rewrite_state state = gmt_rotation_rewrite_work(&rotate->rewrite,
		gmt_sink_written_bytes(rotate->stream->sink), new_bytes, budget_ns);

	if (rotate->rewrite.flush_ns > FLUSH_NS && !rotate->is_flush_slow) {
		rotate->is_flush_slow = true;
		gmt_diag_report(
			"%s: the disk took %llu ms for a folded file; the recorder no longer waits for it",
			rotate->recording->path, (unsigned long long)(rotate->rewrite.flush_ns / 1000000));
	}
	if (state == GMT_REWRITE_FAILED)
		give_up(rotate);
	else if (state == GMT_REWRITE_IS_READY)
		take_place(rotate);
	set_limits(rotate);
	return rotate->rewrite.phase != GMT_REWRITE_NONE;
}

bool gmt_rotation_work(struct gmt_rotation *rotate)
{
	return rotate->rewrite.phase != GMT_REWRITE_NONE && work(rotate, SLICE_NS);
}

bool gmt_rotation_make_room(struct gmt_rotation *rotate)
{
	bool makes_room = rotate->rewrite.phase != GMT_REWRITE_NONE;

	if (makes_room) {
		snprintf(rotate->rewrite.why, sizeof(rotate->rewrite.why),
			"the disk has no space for both files");
		gmt_rotation_rewrite_drop(&rotate->rewrite);
		give_up(rotate);
		set_limits(rotate);
	}
	return makes_room;
}

/*
 * Works on the compaction until the deadline. Then cancels it, unless its new file is already
 * flushed to the disk. With a deadline of 0, cancels it in any case.
 */
static void work_until(struct gmt_rotation *rotate, uint64_t deadline_ns)
{
	while (rotate->rewrite.phase != GMT_REWRITE_NONE &&
		(gmt_clock_monotonic_ns() < deadline_ns || (deadline_ns && rotate->rewrite.is_flushed)))
		work(rotate, SLICE_NS);
	gmt_rotation_rewrite_drop(&rotate->rewrite);
	rotate->cut_under_way = 0;
	set_limits(rotate);
}

bool gmt_rotation_settle(struct gmt_rotation *rotate, uint64_t deadline_ns)
{
	struct gmt_rotation_cut now;

	if (!rotate->stream->is_full || !rotate->stream->room_may_come || rotate->stream->has_failed) {
		if (rotate->rewrite.phase != GMT_REWRITE_NONE)
			work_until(rotate, 0);
		return false;
	}
	if (rotate->rewrite.phase == GMT_REWRITE_NONE && gmt_clock_monotonic_ns() < deadline_ns) {
		gmt_stream_sync(rotate->stream);
		now = gmt_rotation_now(rotate, 0);
		begin_compaction_if_due(rotate, &now);
	}
	if (rotate->rewrite.phase == GMT_REWRITE_NONE)
		rotate->stream->room_may_come = false;
	else
		work_until(rotate, deadline_ns);
	return true;
}

void gmt_rotation_finish(struct gmt_rotation *rotate, uint64_t deadline_ns)
{
	if (rotate->mode != GMT_MODE_AGGREGATE || rotate->stream->is_full || rotate->stream->has_failed)
		return;
	gmt_stream_sync(rotate->stream);
	if (!gmt_stream_end_member(rotate->stream))
		return;
	rotate->cut_count -= rotate->cut_count == GMT_ROTATION_CUTS;
	rotate->cuts[rotate->cut_count++] = gmt_rotation_now(rotate, gmt_clock_stamp());
	begin_compaction(rotate, rotate->cut_count - 1, UINT64_MAX, 0);
	work_until(rotate, deadline_ns);
}

void gmt_rotation_forget(struct gmt_rotation *rotate)
{
	gmt_rotation_rewrite_forget(&rotate->rewrite);
}
