/* SPDX-License-Identifier: MIT */
#include "writer/file_compaction.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "runtime/stderr_messages.h"
#include "producer/clock.h"
#include "runtime/log.h"
#include "writer/file_compaction_cuts.h"

enum {
	MIN_GAIN_DIVISOR = 256,            /* minimum part of max_size for a useful compaction */
	/* With max_size of so many compacted prefixes, both files and the events have room. */
	SUFFICIENT_PREFIXES = 4,
	SLICE_NS = 8000000,
	RETRY_US = 60000000,
	FLUSH_NS = 250000000, /* after a slower flush, later compactions do not flush */
};

/* Returns whether events wait until the recorder knows if a compaction will make room. */
static bool waits_for_room(const struct gmt_file_compaction *compaction)
{
	return compaction->stream->is_full && compaction->stream->room_may_come &&
		compaction->rewrite.phase == GMT_REWRITE_NONE;
}

bool gmt_file_compaction_wants_sync(const struct gmt_file_compaction *compaction)
{
	struct gmt_file_compaction_cut now = gmt_file_compaction_now(compaction, 0);

	return gmt_file_compaction_is_cut_due(compaction, &now) || waits_for_room(compaction);
}

/* Reports on stderr, once for each `kind` (a literal), and by a note in the file. */
static void report(const struct gmt_file_compaction *compaction, const char *kind, const char *note)
{
	gmt_stderr_warn_kind(kind, "%s: %s", compaction->recording->path, note);
	gmt_log_note(note);
}

/* Turns a full recording into a window, or shortens the window. Reports each change once. */
static void report_shorter_window(struct gmt_file_compaction *compaction)
{
	char note[GMT_LOG_NOTE_BYTES], size[32];

	snprintf(size, sizeof(size), "%s", gmt_text_size(compaction->max_size_bytes).text);
	if (compaction->mode == GMT_MODE_FULL) {
		compaction->mode = GMT_MODE_WINDOW;
		compaction->is_size_window = true;
		snprintf(note, sizeof(note),
			"mode=full became mode=window: the file nearly reached max_size=%s; "
			"older events were replaced by totals",
			size);
		report(compaction, "mode=full became mode=window", note);
	} else if (!compaction->is_size_window && !compaction->reported_short &&
		compaction->mode == GMT_MODE_WINDOW) {
		compaction->reported_short = true;
		snprintf(note, sizeof(note), "the window is shorter than requested, because of max_size=%s",
			size);
		report(compaction, "the window is shorter", note);
	}
}

/*
 * Handles a failed compaction. If it found no room, the next compaction starts at once and keeps as
 * little as possible. Otherwise the recorder tries again after a while. Meanwhile the file leaves
 * room for that compaction (set_limits).
 */
static void give_up(struct gmt_file_compaction *compaction)
{
	char note[GMT_LOG_NOTE_BYTES], remedy[64] = "";

	compaction->cuts_to_remove = 0;
	if (compaction->rewrite.found_no_room) {
		bool is_new = !compaction->is_tight;

		compaction->is_tight = true;
		if (compaction->prefix_bytes < compaction->rewrite.prefix_bytes)
			compaction->prefix_bytes = compaction->rewrite.prefix_bytes;
		if (is_new) {
			gmt_stderr_report("%s: %s; the recorder now compacts more events",
				compaction->recording->path, compaction->rewrite.why);
			return;
		}
	}
	compaction->not_before_ns = gmt_clock_monotonic_ns() + (uint64_t)RETRY_US * 1000;
	if (compaction->reported_failure)
		return;
	compaction->reported_failure = true;
	if (compaction->rewrite.found_no_room)
		snprintf(remedy, sizeof(remedy), " (max_size=%lluMiB is enough)",
			(unsigned long long)(compaction->prefix_bytes * SUFFICIENT_PREFIXES >> 20) + 1);
	snprintf(note, sizeof(note),
		"older events could not be compacted: %.90s%s; the file grows up to max_size; "
		"the recorder tries again in one minute",
		compaction->rewrite.why, remedy);
	report(compaction, "a compaction failed", note);
}

static const char *reason_for_compaction(const struct gmt_file_compaction *compaction)
{
	return compaction->is_size_window            ? "max_size"
		: compaction->mode == GMT_MODE_AGGREGATE ? "mode=aggregate"
												 : "mode=window";
}

static void begin_compaction(struct gmt_file_compaction *compaction, uint32_t cut,
	uint64_t cut_stamp, uint64_t published_until_stamp)
{
	if (!compaction->compactions && !compaction->reported_failure)
		gmt_replacement_remove_orphans(compaction->recording->fd, &compaction->recording->file);
	if (!gmt_file_compaction_rewrite_begin(&compaction->rewrite, compaction->recording,
			compaction->cuts[cut].bytes, cut_stamp, published_until_stamp,
			reason_for_compaction(compaction), !compaction->is_flush_slow)) {
		give_up(compaction);
		return;
	}
	compaction->cuts_to_remove = cut + 1;
}

/*
 * Begins a compaction if it is due, and chooses the cut at which the file will then begin. Called
 * directly after a cut.
 */
static void begin_compaction_if_due(struct gmt_file_compaction *compaction,
	const struct gmt_file_compaction_cut *now)
{
	uint32_t cut = gmt_file_compaction_cut_for_window(compaction, now);

	if (compaction->rewrite.phase != GMT_REWRITE_NONE || now->time_ns < compaction->not_before_ns)
		return;
	if (gmt_file_compaction_is_too_large(compaction, now)) {
		uint32_t small = gmt_file_compaction_cut_for_size(compaction, now);

		if (small == compaction->cut_count)
			return;
		if (cut == compaction->cut_count || small > cut) {
			report_shorter_window(compaction);
			cut = small;
		}
	} else if (cut == compaction->cut_count || !gmt_file_compaction_is_worth_it(compaction, cut)) {
		return;
	}
	begin_compaction(compaction, cut, gmt_file_compaction_settled_stamp(compaction, cut),
		gmt_file_compaction_published_until(compaction, cut));
}

/*
 * Returns whether to cut the file here. A full file without a suitable cut is cut at its end, if a
 * compaction is then useful. The end of a gzip member always has room. A full file occurs if the
 * writer did not run for a while, then found many full rings and filled the file in one round.
 */
static bool is_cut_wanted(const struct gmt_file_compaction *compaction,
	const struct gmt_file_compaction_cut *now)
{
	if (!compaction->stream->is_full)
		return gmt_file_compaction_is_cut_due(compaction, now);
	return waits_for_room(compaction) && compaction->cut_count < GMT_FILE_COMPACTION_CUTS &&
		now->bytes - gmt_file_compaction_last_cut(compaction)->bytes >= compaction->max_size_bytes /
			(compaction->cut_count ? GMT_FILE_COMPACTION_KEPT_PARTS : MIN_GAIN_DIVISOR);
}

void gmt_file_compaction_synced(struct gmt_file_compaction *compaction, uint64_t stamp)
{
	struct gmt_file_compaction_cut now = gmt_file_compaction_now(compaction, stamp);

	if (compaction->stream->has_failed)
		return;
	if (is_cut_wanted(compaction, &now) && gmt_stream_end_member(compaction->stream)) {
		now.bytes = gmt_sink_written_bytes(compaction->stream->sink);
		compaction->cuts[compaction->cut_count++] = now;
	}
	begin_compaction_if_due(compaction, &now);
	if (waits_for_room(compaction))
		compaction->stream->room_may_come = false;
}

/* Updates all positions after the new file has become the recording. */
static void continue_in_new_file(struct gmt_file_compaction *compaction, uint64_t prefix_bytes)
{
	uint32_t removed = compaction->cuts_to_remove;
	uint64_t part_bytes = compaction->cuts[removed - 1].bytes;

	compaction->start = compaction->cuts[removed - 1];
	compaction->start.bytes = compaction->prefix_bytes = prefix_bytes;
	compaction->is_tight = false;
	memmove(compaction->cuts, compaction->cuts + removed,
		(compaction->cut_count - removed) * sizeof(*compaction->cuts));
	compaction->cut_count -= removed;
	for (uint32_t i = 0; i < compaction->cut_count; i++)
		compaction->cuts[i].bytes = compaction->cuts[i].bytes - part_bytes + prefix_bytes;
	compaction->cuts_to_remove = 0;
	compaction->compactions++;
	compaction->stream->synced_file_bytes = gmt_sink_written_bytes(compaction->stream->sink);
	gmt_stderr_report("%s: compacted; %llu events were replaced by totals, the file has %llu bytes",
		compaction->recording->path, (unsigned long long)compaction->rewrite.compacted_events,
		(unsigned long long)compaction->stream->synced_file_bytes);
}

static void replace_file(struct gmt_file_compaction *compaction)
{
	uint64_t prefix_bytes = compaction->rewrite.prefix_bytes;

	gmt_stream_sync(compaction->stream);
	/*
	 * If the disk was full during the sync, the new file was removed to make room
	 * (gmt_file_compaction_make_room).
	 */
	if (compaction->rewrite.phase == GMT_REWRITE_NONE)
		return;
	if (gmt_file_compaction_rewrite_take_place(&compaction->rewrite, compaction->stream))
		continue_in_new_file(compaction, prefix_bytes);
	else
		give_up(compaction);
}

/*
 * Returns how many bytes the file leaves free for the next compaction while no compaction runs.
 * Returns 0 if that would not help.
 */
static uint64_t reserve_for_compaction_bytes(const struct gmt_file_compaction *compaction)
{
	/* The data behind the newest cut is copied too. */
	uint64_t head =
		compaction->prefix_bytes + compaction->max_size_bytes / GMT_FILE_COMPACTION_CUTS_OF_FILE;

	return head <= compaction->max_size_bytes / 2 ? head : 0;
}

/*
 * Sets the limits so that both files together stay within max_size. Data that the old file still
 * receives counts twice, because it is also copied. At first the size of the new prefix is unknown,
 * so the function uses the size of the last one. Returns the maximum size of the new file.
 */
static uint64_t set_limits(struct gmt_file_compaction *compaction)
{
	uint64_t max = compaction->max_size_bytes,
			 now = gmt_sink_written_bytes(compaction->stream->sink), head;
	const struct gmt_file_compaction_rewrite *rewrite = &compaction->rewrite;

	if (!gmt_file_compaction_has_max_size(compaction))
		return UINT64_MAX;
	compaction->stream->room_may_come =
		rewrite->phase != GMT_REWRITE_NONE || gmt_clock_monotonic_ns() >= compaction->not_before_ns;
	if (rewrite->phase == GMT_REWRITE_NONE) {
		compaction->stream->limit_bytes = max - reserve_for_compaction_bytes(compaction);
		compaction->stream->is_full = false; /* until the limit is reached again */
		return 0;
	}
	head = rewrite->prefix_bytes
		? rewrite->prefix_bytes
		: gmt_file_compaction_rewrite_bytes(rewrite) + max / GMT_FILE_COMPACTION_SLACK_PARTS;
	if (!rewrite->prefix_bytes &&
		head < compaction->prefix_bytes + max / GMT_FILE_COMPACTION_CUTS_OF_FILE)
		head = compaction->prefix_bytes + max / GMT_FILE_COMPACTION_CUTS_OF_FILE;
	compaction->stream->limit_bytes = max > head ? (max - head + rewrite->part_bytes) / 2 : now;
	return max > now ? max - now : 0;
}

void gmt_file_compaction_init(struct gmt_file_compaction *compaction,
	struct gmt_recording_state *recording, struct gmt_stream *stream)
{
	memset(compaction, 0, sizeof(*compaction));
	compaction->recording = recording;
	compaction->stream = stream;
	compaction->mode = gmt_config.mode;
	compaction->window = gmt_config.window;
	compaction->max_size_bytes = gmt_config.max_size_bytes;
	compaction->start = gmt_file_compaction_now(compaction, gmt_clock_start.stamp);
	set_limits(compaction);
}

static bool work(struct gmt_file_compaction *compaction, uint64_t budget_ns)
{
	uint64_t new_bytes = set_limits(compaction);
	enum gmt_file_compaction_rewrite_state state =
		gmt_file_compaction_rewrite_work(&compaction->rewrite,
			gmt_sink_written_bytes(compaction->stream->sink), new_bytes, budget_ns);

	if (compaction->rewrite.flush_ns > FLUSH_NS && !compaction->is_flush_slow) {
		compaction->is_flush_slow = true;
		gmt_stderr_report(
			"%s: the disk took %llu ms for a compacted file; the recorder no longer waits for it",
			compaction->recording->path,
			(unsigned long long)(compaction->rewrite.flush_ns / 1000000));
	}
	if (state == GMT_REWRITE_FAILED)
		give_up(compaction);
	else if (state == GMT_REWRITE_IS_READY)
		replace_file(compaction);
	set_limits(compaction);
	return compaction->rewrite.phase != GMT_REWRITE_NONE;
}

bool gmt_file_compaction_work(struct gmt_file_compaction *compaction)
{
	return compaction->rewrite.phase != GMT_REWRITE_NONE && work(compaction, SLICE_NS);
}

bool gmt_file_compaction_make_room(struct gmt_file_compaction *compaction)
{
	bool makes_room = compaction->rewrite.phase != GMT_REWRITE_NONE;

	if (makes_room) {
		snprintf(compaction->rewrite.why, sizeof(compaction->rewrite.why),
			"the disk has no space for both files");
		gmt_file_compaction_rewrite_drop(&compaction->rewrite);
		give_up(compaction);
		set_limits(compaction);
	}
	return makes_room;
}

/*
 * Works on the compaction until the deadline. Then cancels it, unless its new file is already
 * flushed to the disk. With a deadline of 0, cancels it in any case.
 */
static void work_until(struct gmt_file_compaction *compaction, uint64_t deadline_ns)
{
	while (compaction->rewrite.phase != GMT_REWRITE_NONE &&
		(gmt_clock_monotonic_ns() < deadline_ns || (deadline_ns && compaction->rewrite.is_flushed)))
		work(compaction, SLICE_NS);
	gmt_file_compaction_rewrite_drop(&compaction->rewrite);
	compaction->cuts_to_remove = 0;
	set_limits(compaction);
}

bool gmt_file_compaction_settle(struct gmt_file_compaction *compaction, uint64_t deadline_ns)
{
	struct gmt_file_compaction_cut now;

	if (!compaction->stream->is_full || !compaction->stream->room_may_come ||
		compaction->stream->has_failed) {
		if (compaction->rewrite.phase != GMT_REWRITE_NONE)
			work_until(compaction, 0);
		return false;
	}
	if (compaction->rewrite.phase == GMT_REWRITE_NONE && gmt_clock_monotonic_ns() < deadline_ns) {
		gmt_stream_sync(compaction->stream);
		now = gmt_file_compaction_now(compaction, 0);
		begin_compaction_if_due(compaction, &now);
	}
	if (compaction->rewrite.phase == GMT_REWRITE_NONE)
		compaction->stream->room_may_come = false;
	else
		work_until(compaction, deadline_ns);
	return true;
}

void gmt_file_compaction_finish(struct gmt_file_compaction *compaction, uint64_t deadline_ns)
{
	if (compaction->mode != GMT_MODE_AGGREGATE || compaction->stream->is_full ||
		compaction->stream->has_failed)
		return;
	gmt_stream_sync(compaction->stream);
	if (!gmt_stream_end_member(compaction->stream))
		return;
	compaction->cut_count -= compaction->cut_count == GMT_FILE_COMPACTION_CUTS;
	compaction->cuts[compaction->cut_count++] =
		gmt_file_compaction_now(compaction, gmt_clock_stamp());
	begin_compaction(compaction, compaction->cut_count - 1, UINT64_MAX, 0);
	work_until(compaction, deadline_ns);
}

void gmt_file_compaction_forget(struct gmt_file_compaction *compaction)
{
	gmt_file_compaction_rewrite_forget(&compaction->rewrite);
}
