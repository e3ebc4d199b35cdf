/* SPDX-License-Identifier: MIT */
#include "reader/follow/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/pages.h"
#include "reader/load/clock.h"
#include "reader/replay/interpret_event.h"
#include "source/read_ahead.h"
#include "system/monotonic_clock.h"

enum { MAX_CLOCKS = 4096, KEPT_CLOCKS = 64 };

#define SECOND_NS UINT64_C(1000000000)

/* Returns the change of the second, after the seconds without a change were set to 0. */
static int64_t *change_at(struct gmt_follow_seconds *seconds, uint32_t second)
{
	if (second > seconds->second) {
		uint32_t missing = second - seconds->second;

		if (missing > GMT_FOLLOW_SECONDS)
			missing = GMT_FOLLOW_SECONDS;
		for (uint32_t i = 0; i < missing; i++)
			seconds->changes[(second - i) % GMT_FOLLOW_SECONDS] = 0;
		seconds->second = second;
	}
	return &seconds->changes[second % GMT_FOLLOW_SECONDS];
}

int64_t gmt_follow_seconds_sum(const struct gmt_follow_seconds *seconds, uint32_t second)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < GMT_FOLLOW_SECONDS && i <= second; i++)
		if (second - i <= seconds->second && seconds->second - (second - i) < GMT_FOLLOW_SECONDS)
			sum += seconds->changes[(second - i) % GMT_FOLLOW_SECONDS];
	return sum;
}

static bool made_site(void *user, const struct gmt_interpret_event *event, uint32_t site)
{
	struct gmt_follow *follow = user;
	struct gmt_follow_site *slot = gmt_vec_push(&follow->sites);

	(void)site;
	if (slot)
		*slot = (struct gmt_follow_site){ .trace = event->stack };
	return slot;
}

/* Notes that the site's live bytes have changed. */
static bool note_change(struct gmt_follow *follow, uint32_t site, int64_t bytes)
{
	uint32_t account = follow->accounting.sites.items[site].account;

	if (account >= follow->curves.count) {
		/* New curves are zero. */
		if (!gmt_vec_reserve(&follow->curves, account + 1 - follow->curves.count))
			return false;
		follow->curves.count = account + 1;
	}
	gmt_follow_curve_set(&follow->curves.items[account], follow->second,
		follow->accounting.accounts.items[account].live_bytes);
	*change_at(&follow->sites.items[site].growth, follow->second) += bytes;
	return true;
}

static bool began(void *user, const struct gmt_interpret_event *event, uint32_t site)
{
	struct gmt_follow *follow = user;

	return note_change(follow, site, (int64_t)event->size_bytes);
}

static bool ended(void *user, const struct gmt_interpret_event *event,
	const struct gmt_account_block *block)
{
	(void)event;
	return note_change(user, block->site, -(int64_t)block->size_bytes);
}

static bool refused(void *user, const struct gmt_interpret_event *event, uint32_t site)
{
	(void)event, (void)site;
	((struct gmt_follow *)user)->refusals++;
	return true;
}

static bool name_heap(void *user, uint64_t number, const char **ret_name, uint8_t *ret_source)
{
	struct gmt_follow *follow = user;
	uint64_t index;

	if (gmt_map_find(&follow->heap_names, number, &index)) {
		*ret_name = follow->heaps.items[index].name;
		*ret_source = follow->heaps.items[index].source;
	}
	return true;
}

/* Sets `second`, and the stamp at which it ends. */
static void set_second(struct gmt_follow *follow, uint64_t stamp)
{
	const struct gmt_recording *recording = follow->recording;
	uint64_t time_ns = gmt_clock_time_ns(recording, stamp);

	if (time_ns / SECOND_NS > follow->second && time_ns / SECOND_NS < UINT32_MAX)
		follow->second = (uint32_t)(time_ns / SECOND_NS);
	follow->next_second_stamp = stamp + gmt_clock_ticks(recording, SECOND_NS - time_ns % SECOND_NS);
}

static bool interpret(struct gmt_follow *follow, const struct gmt_recording_event *event)
{
	struct gmt_interpret_event interpreted = { 0 };

	if (follow->marks.work_end && event->stamp > follow->marks.work_end)
		return true;
	if (event->stamp < follow->last_stamp)
		follow->is_late = true;
	else
		follow->last_stamp = event->stamp;
	if (event->stamp >= follow->next_second_stamp)
		set_second(follow, event->stamp);
	++*change_at(&follow->event_counts, follow->second);
	gmt_interpret_event_set(&interpreted, event, event->trace);
	return gmt_interpret(&follow->interpreter, &interpreted);
}

/* Interprets the events up to a stamp, in order. Later events keep waiting. */
static bool interpret_until(struct gmt_follow *follow, uint64_t stamp)
{
	struct gmt_event_sorter *sorter = &follow->loader.events.sorter;
	struct gmt_events events = { 0 };
	struct gmt_events_reader reader = { 0 };
	bool done = gmt_event_sorter_finish(sorter, &events);

	gmt_clock_prepare(follow->recording);
	gmt_event_sorter_fini(sorter);
	*sorter = (struct gmt_event_sorter){ .shapes = &follow->recording->shapes };
	done = done && gmt_events_reader_init(&reader, &events, GMT_EVENTS_ALL);
	for (size_t i = 0; done && i < events.count; i++) {
		const struct gmt_recording_event *event = gmt_events_at(&reader, i);
		struct gmt_events_row *row;

		if (event->stamp <= stamp) {
			done = interpret(follow, event);
			continue;
		}
		row = gmt_event_sorter_push(sorter, event->stamp);
		done = row && gmt_events_row_of(sorter->shapes, event, row);
	}
	gmt_events_reader_fini(&reader);
	gmt_events_fini(&events);
	return done;
}

/*
 * A sync record with this stamp was read. Interprets the events before it, except those of the last
 * GMT_FOLLOW_WAIT_NS.
 */
static bool interpret_synced(struct gmt_follow *follow, uint64_t stamp)
{
	uint64_t wait = gmt_clock_ticks(follow->recording, GMT_FOLLOW_WAIT_NS);

	return interpret_until(follow, stamp > wait ? stamp - wait : 0);
}

static bool take_compacted_trace(void *user, const struct gmt_past_site *row, uint32_t *ret_trace)
{
	const struct gmt_recording *recording = ((struct gmt_follow *)user)->recording;

	*ret_trace = recording->compacted_traces.items[row - recording->compacted.sites.items];
	return true;
}

static const char *take_compacted_name(void *user, uint32_t name)
{
	return gmt_recording_name(((const struct gmt_follow *)user)->recording, name);
}

static bool take_compacted_site(void *user, const struct gmt_past_site *row, uint32_t site)
{
	(void)user, (void)row, (void)site;
	return true;
}

/* Restores the accounting of a compacted recording. Call after the last row of its prefix. */
static bool set_compacted(struct gmt_follow *follow)
{
	const struct gmt_compacted_prefix *compacted = &follow->recording->compacted;
	struct gmt_compacted_prefix_names names = { take_compacted_trace, take_compacted_name,
		take_compacted_site, follow };

	if (!gmt_compacted_prefix_prepare(compacted, &follow->interpreter, &names) ||
		!interpret_until(follow, UINT64_MAX) ||
		!gmt_compacted_prefix_set_accounting(compacted, &follow->interpreter, &names,
			&follow->compacted_mismatches))
		return false;
	/* The survivors did not happen in the last seconds, and their stamps are not in order. */
	follow->is_late = false;
	follow->event_counts = (struct gmt_follow_seconds){ 0 };
	follow->refusals = 0;
	for (size_t i = 0; i < follow->accounting.sites.count; i++) {
		follow->sites.items[i].growth = (struct gmt_follow_seconds){ 0 };
		follow->refusals += follow->accounting.sites.items[i].refused_count;
	}
	return gmt_follow_marks_add_compacted(&follow->marks, follow->recording);
}

static bool take_marks(struct gmt_follow *follow)
{
	struct gmt_recording *recording = follow->recording;

	for (size_t i = 0; i < recording->marks.count; i++) {
		const struct gmt_recording_mark *mark = &recording->marks.items[i];
		struct gmt_follow_heap_name *heap;

		if (!gmt_follow_marks_add(&follow->marks, mark))
			return false;
		if (mark->kind != GMT_MARK_KIND_HEAP)
			continue;
		heap = gmt_vec_push(&follow->heaps);
		if (!heap || !gmt_map_put(&follow->heap_names, mark->object, follow->heaps.count - 1))
			return false;
		*heap = (struct gmt_follow_heap_name){ .name = mark->name, .source = mark->source };
	}
	recording->marks.count = 0;
	return true;
}

/* Returns the row for a device's last sample. Sets *ret_is_new if the row is new. */
static struct gmt_sample *get_sample(struct gmt_follow *follow, uint16_t device, bool *ret_is_new)
{
	uint64_t index;

	*ret_is_new = !gmt_map_find(&follow->sample_ids, device, &index);
	if (!*ret_is_new)
		return &follow->samples.items[index];
	return gmt_map_put(&follow->sample_ids, device, follow->samples.count)
		? gmt_vec_push(&follow->samples)
		: NULL;
}

static bool take_samples(struct gmt_follow *follow)
{
	struct gmt_recording *recording = follow->recording;

	for (size_t i = 0; i < recording->samples.count; i++) {
		const struct gmt_sample *sample = &recording->samples.items[i];
		bool is_new;
		struct gmt_sample *slot = get_sample(follow, sample->device, &is_new);

		if (!slot)
			return false;
		/* A sample of NVML alone does not replace a sample of the driver. */
		if (is_new || sample->known & GMT_SAMPLE_DRIVER)
			*slot = *sample;
	}
	recording->samples.count = 0;
	return true;
}

/*
 * Removes from the recording what grows without end and is no longer needed. Keeps the first clock
 * record, for the average rate, and the last ones.
 */
static bool consume_records(struct gmt_follow *follow)
{
	struct gmt_recording *recording = follow->recording;
	struct gmt_recording_clock *clocks = recording->clocks.items;
	size_t count;

	gmt_clock_prepare(recording);
	count = recording->clocks.count;
	if (count > MAX_CLOCKS) {
		memmove(clocks + 1, clocks + count - KEPT_CLOCKS, KEPT_CLOCKS * sizeof(*clocks));
		recording->clocks.count = KEPT_CLOCKS + 1;
	}
	recording->calls.count = recording->ooms.count = 0;
	follow->covered_ns = gmt_clock_time_ns(recording, recording->last_stamp);
	return take_marks(follow) && take_samples(follow);
}

static bool load_row(struct gmt_follow *follow, const struct gmt_record_info *record,
	const char *row)
{
	bool was_compacted = follow->recording->compacted.exists;

	if (!gmt_load_row(&follow->loader, record, row))
		return false;
	switch (record->number) {
	case GMT_RECORD_FOLD:
		return was_compacted || set_compacted(follow);
	case GMT_RECORD_SYNC:
		follow->sync_stamp = ((const struct gmt_sync *)row)->stamp;
		return follow->waits_for_end ||
			(consume_records(follow) && interpret_synced(follow, follow->sync_stamp));
	case GMT_RECORD_END:
		follow->has_ended = true;
		return consume_records(follow) && interpret_until(follow, UINT64_MAX);
	}
	return true;
}

static bool load_block(struct gmt_follow *follow, const struct gmt_read_ahead_block *block)
{
	if (!block->record) {
		follow->recording->unknown_blocks++;
		return true;
	}
	if (block->record->number == GMT_RECORD_EVENT)
		return gmt_load_event_columns(&follow->loader.events, block->columns);
	for (uint32_t i = 0; i < block->count; i++)
		if (!load_row(follow, block->record,
				(const char *)block->rows + (size_t)i * block->record->row_bytes))
			return false;
	return true;
}

/* Updates file_bytes, and is_replaced: whether the path now names another file. */
static void check_replaced(struct gmt_follow *follow)
{
	struct stat open_file, named;

	if (follow->fd < 0 || fstat(follow->fd, &open_file))
		return;
	follow->file_bytes = (uint64_t)open_file.st_size;
	if (stat(follow->recording->path, &named))
		return;
	follow->is_replaced = open_file.st_dev != named.st_dev || open_file.st_ino != named.st_ino ||
		(uint64_t)open_file.st_size < follow->read_bytes;
}

enum gmt_status gmt_follow_read(struct gmt_follow *follow, uint64_t max_bytes,
	struct gmt_error *error)
{
	struct gmt_read_ahead_block block;
	uint64_t first_byte = follow->read_bytes;
	enum gmt_status status = GMT_OK;

	while (!status && follow->read_bytes - first_byte <= max_bytes) {
		status = gmt_read_ahead_next(follow->read_ahead, &block, error);
		if (status)
			break;
		gmt_budget_add(block.payload_bytes);
		follow->read_bytes = block.progress.read_bytes;
		if (follow->fd < 0)
			follow->file_bytes = block.progress.file_bytes;
		if (!load_block(follow, &block))
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	check_replaced(follow);
	/* Views convert stamps to times. */
	gmt_clock_prepare(follow->recording);
	if (status && follow->fd < 0) {
		bool done = consume_records(follow) && interpret_until(follow, UINT64_MAX);

		follow->has_ended = true;
		if (!done)
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	} else if (status == GMT_END && follow->waits_for_end) {
		follow->waits_for_end = false;
		if (!consume_records(follow) || !interpret_synced(follow, follow->sync_stamp))
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	return status;
}

static enum gmt_status open_source(struct gmt_follow *follow, const char *path,
	enum gmt_follow_mode mode, struct gmt_shared_recording *shared_recording,
	struct gmt_error *error)
{
	if (mode == GMT_FOLLOW_ENDED)
		return gmt_source_open_with(path, shared_recording, &follow->source, error);
	follow->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (follow->fd < 0)
		return gmt_error_set(error, GMT_NO_FILE, "%s: %s", path, strerror(errno));
	return gmt_source_open_growing(follow->fd, path, &follow->source, error);
}

enum gmt_status gmt_follow_open(const char *path, enum gmt_follow_mode mode,
	struct gmt_shared_recording *shared_recording, struct gmt_follow **ret_follow,
	struct gmt_error *error)
{
	struct gmt_follow *follow = gmt_pages_grow(NULL, 0, sizeof(*follow));
	enum gmt_status status;

	*ret_follow = NULL;
	if (!follow)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	gmt_budget_begin();
	follow->fd = -1;
	follow->waits_for_end = mode != GMT_FOLLOW_GROWING;
	follow->interpreter = (struct gmt_event_interpreter){
		.accounting = &follow->accounting,
		.heap_groups = &follow->heap_groups,
		.observer = { .made_site = made_site,
			.began = began,
			.ended = ended,
			.refused = refused,
			.name_heap = name_heap,
			.user = follow },
		.forgets_ended = true,
	};
	status = open_source(follow, path, mode, shared_recording, error);
	if (!status) {
		bool is_made = gmt_load_rows_init(&follow->loader, path);

		follow->recording = follow->loader.recording;
		if (is_made)
			follow->read_ahead = gmt_read_ahead_open(follow->source);
		if (!follow->read_ahead)
			status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	if (status)
		gmt_follow_close(follow);
	else
		*ret_follow = follow;
	return status;
}

uint64_t gmt_follow_now_ns(const struct gmt_follow *follow)
{
	const struct gmt_recording *recording = follow->recording;
	const struct gmt_recording_clock *last;
	uint64_t now_ns;

	if (follow->marks.work_end)
		return gmt_clock_time_ns(recording, follow->marks.work_end);
	if (follow->fd < 0 || follow->has_ended || !recording->clocks.count)
		return follow->covered_ns;
	last = &recording->clocks.items[recording->clocks.count - 1];
	now_ns = gmt_monotonic_ns();
	now_ns = now_ns > last->monotonic_ns ? now_ns - last->monotonic_ns : 0;
	now_ns += gmt_clock_time_ns(recording, last->stamp);
	return now_ns > follow->covered_ns ? now_ns : follow->covered_ns;
}

void gmt_follow_close(struct gmt_follow *follow)
{
	if (!follow)
		return;
	gmt_read_ahead_close(follow->read_ahead);
	gmt_source_close(follow->source);
	gmt_event_interpreter_fini(&follow->interpreter);
	gmt_accounting_fini(&follow->accounting);
	gmt_load_rows_fini(&follow->loader);
	gmt_recording_free(follow->recording);
	gmt_follow_marks_fini(&follow->marks);
	gmt_map_fini(&follow->heap_names);
	gmt_map_fini(&follow->sample_ids);
	gmt_vec_fini(&follow->heap_groups);
	gmt_vec_fini(&follow->sites);
	gmt_vec_fini(&follow->curves);
	gmt_vec_fini(&follow->samples);
	gmt_vec_fini(&follow->heaps);
	if (follow->fd >= 0)
		close(follow->fd);
	gmt_pages_free(follow, sizeof(*follow));
}
