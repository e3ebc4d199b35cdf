/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <string.h>

#include "base/budget.h"
#include "containers/intern.h"
#include "base/pages.h"
#include "reader/load/clock.h"
#include "reader/load/load_events.h"
#include "reader/load/order.h"
#include "reader/load/snapshot.h"
#include "source/read_ahead.h"
#include "source/source.h"

/* State that only loading needs. */
struct loader {
	struct gmt_snapshot *snapshot;
	struct gmt_load_events events;
	struct gmt_intern drop_keys; /* key: thread and reason; the id is the index in `drops` */
};

/*
 * Record kinds whose rows are stored unchanged: the vector of each, and its id map if it has ids.
 */
struct kept {
	size_t items, ids, id; /* offsets: vector and map in the snapshot, id in the row */
};

enum { NO_IDS = 0 };

static const struct kept *kept_of(uint32_t kind)
{
#define KEPT(KIND, vector, id_map, id_field, row) \
	[GMT_RECORD_##KIND] = { offsetof(struct gmt_snapshot, vector), id_map, id_field }
#define KEPT_BY_ID(KIND, vector, id_map, id_field, row) \
	KEPT(KIND, vector, offsetof(struct gmt_snapshot, id_map), offsetof(struct row, id_field), row)
	static const struct kept kept[] = {
		KEPT(OPTION, options, NO_IDS, NO_IDS, gmt_option),
		KEPT_BY_ID(API, apis, api_ids, id, gmt_api),
		KEPT_BY_ID(DEVICE, devices, device_ids, ordinal, gmt_device),
		KEPT_BY_ID(THREAD, threads, thread_ids, id, gmt_thread),
		KEPT_BY_ID(MODULE, modules, module_ids, id, gmt_module),
		KEPT_BY_ID(CODE, codes, code_ids, id, gmt_code),
		KEPT_BY_ID(FRAME, frame_places, frame_ids, id, gmt_frame),
		KEPT_BY_ID(FRAMES, frames, frames_ids, id, gmt_frames),
		KEPT_BY_ID(STACK, stacks, stack_ids, id, gmt_stack),
		KEPT_BY_ID(NAME, names, name_ids, id, gmt_name),
		KEPT(OOM, ooms, NO_IDS, NO_IDS, gmt_oom),
		KEPT(SAMPLE, samples, NO_IDS, NO_IDS, gmt_sample),
		KEPT(POOL, pools, NO_IDS, NO_IDS, gmt_pool),
		KEPT(CALLS, calls, NO_IDS, NO_IDS, gmt_calls),
		KEPT(UNHOOKED, unhooked, NO_IDS, NO_IDS, gmt_unhooked),
	};
#undef KEPT
#undef KEPT_BY_ID
	return kind < sizeof(kept) / sizeof(*kept) && kept[kind].items ? &kept[kind] : NULL;
}

static bool own_slice(struct gmt_snapshot *snapshot, struct gmt_slice *slice)
{
	slice->text = gmt_arena_copy(&snapshot->arena, slice->text, slice->length);
	return slice->text;
}

static bool own_list(struct gmt_snapshot *snapshot, struct gmt_list *list)
{
	uint64_t *items = gmt_arena_alloc(&snapshot->arena, (size_t)list->count * sizeof(*items));

	if (items && list->count)
		memcpy(items, list->items, (size_t)list->count * sizeof(*items));
	list->items = items;
	return items;
}

/* Copies the strings and lists of a row into the snapshot's arena. */
static bool own_row(struct gmt_snapshot *snapshot, const struct gmt_record_info *record, char *row)
{
	for (uint32_t f = 0; f < record->field_count; f++) {
		char *cell = row + record->fields[f].offset;

		if (record->fields[f].encoding == 'S' && !own_slice(snapshot, (struct gmt_slice *)cell))
			return false;
		if (record->fields[f].encoding == 'L' && !own_list(snapshot, (struct gmt_list *)cell))
			return false;
	}
	return true;
}

static bool keep_row(struct gmt_snapshot *snapshot, const struct kept *kept,
	const struct gmt_record_info *record, const char *row)
{
	/* All GMT_VEC types have this layout. */
	GMT_VEC(char) *vector = (void *)((char *)snapshot + kept->items);
	struct gmt_map *ids = kept->ids ? (struct gmt_map *)((char *)snapshot + kept->ids) : NULL;
	uint64_t before;

	if (ids && gmt_map_find(ids, *(const uint32_t *)(row + kept->id), &before)) {
		snapshot->repeated_ids++;
		return true;
	}
	if (ids && !gmt_map_put(ids, *(const uint32_t *)(row + kept->id), vector->count))
		return false;
	if (!gmt_vec_reserve_bytes((void **)&vector->items, &vector->capacity, vector->count, 1,
			record->row_bytes))
		return false;

	char *copy = vector->items + vector->count++ * record->row_bytes;
	memcpy(copy, row, record->row_bytes);
	return own_row(snapshot, record, copy);
}

/*
 * Drops the empty arguments that a program leaves when it sets its own title. Such a program
 * overwrites its arguments: one argument is left, and the arguments after it are empty.
 */
static void strip_title(struct gmt_snapshot *snapshot)
{
	size_t count = snapshot->command.count;

	while (count > 1 && !*snapshot->command.items[count - 1])
		count--;
	/* A single empty argument may be the program's own. */
	if (count == 1 && snapshot->command.count > 2)
		snapshot->command.count = 1;
}

static bool load_process(struct gmt_snapshot *snapshot, const struct gmt_process *row)
{
	struct gmt_process *process = &snapshot->process;

	if (snapshot->has_process) {
		snapshot->repeated_ids++;
		return true;
	}
	*process = *row;
	if (!own_row(snapshot, gmt_record_info(GMT_RECORD_PROCESS), (char *)process))
		return false;
	snapshot->has_process = true;
	snapshot->host = process->host.text;
	snapshot->executable = process->executable.text;
	snapshot->directory = process->directory.text;
	snapshot->shim_version = process->shim_version.text;
	snapshot->machine = process->machine.text;

	/* The copy ends with NUL, so a last argument that was cut is also a string. */
	const char *end = process->command.text + process->command.length;
	for (const char *at = process->command.text; at < end; at += strlen(at) + 1) {
		const char **argument = gmt_vec_push(&snapshot->command);

		if (!argument)
			return false;
		*argument = at;
	}
	strip_title(snapshot);
	return true;
}

static bool load_drop(struct loader *loader, const struct gmt_drop *row)
{
	struct gmt_snapshot *snapshot = loader->snapshot;
	char key[sizeof(row->thread) + 256];
	uint32_t length = row->reason.length < 256 ? row->reason.length : 256;
	uint32_t index;

	memcpy(key, &row->thread, sizeof(row->thread));
	memcpy(key + sizeof(row->thread), row->reason.text, length);
	if (!gmt_intern(&loader->drop_keys, key, sizeof(row->thread) + length, &index))
		return false;
	if (index == snapshot->drops.count) {
		struct gmt_snapshot_drop *drop = gmt_vec_push(&snapshot->drops);
		char *reason = gmt_arena_copy(&snapshot->arena, row->reason.text, row->reason.length);

		if (!drop || !reason)
			return false;
		*drop = (struct gmt_snapshot_drop){ .thread = row->thread, .reason = reason };
	}
	snapshot->drops.items[index].count = row->count;
	return true;
}

static bool load_note(struct gmt_snapshot *snapshot, const struct gmt_note *row)
{
	const char **note = gmt_vec_push(&snapshot->notes);
	char *text = gmt_arena_copy(&snapshot->arena, row->text.text, row->text.length);

	if (!note || !text)
		return false;
	*note = text;
	return true;
}

static bool load_clock(struct gmt_snapshot *snapshot, const struct gmt_clock *row)
{
	struct gmt_snapshot_clock *clock = gmt_vec_push(&snapshot->clocks);

	if (clock)
		*clock = (struct gmt_snapshot_clock){ row->stamp, row->monotonic_ns, row->realtime_ns };
	gmt_load_note_stamp(snapshot, row->stamp);
	return clock;
}

static bool load_mark(struct gmt_snapshot *snapshot, const struct gmt_mark *row)
{
	uint64_t index;

	if (!gmt_mark_kind_name(row->kind) || !gmt_mark_source_name(row->source)) {
		snapshot->unknown_marks++;
		return true;
	}

	struct gmt_snapshot_mark *mark = gmt_vec_push(&snapshot->marks);
	if (!mark)
		return false;
	*mark = (struct gmt_snapshot_mark){
		.stamp = row->stamp,
		.object = row->object,
		.thread = row->thread,
		.kind = row->kind,
		.source = row->source,
		.position = (uint32_t)snapshot->marks.count,
		/* The name's record comes before the mark in the file. */
		.name = gmt_map_find(&snapshot->name_ids, row->name, &index)
			? snapshot->names.items[index].text.text
			: "",
	};
	gmt_load_note_stamp(snapshot, row->stamp);
	return true;
}

static void check_count(struct gmt_snapshot *snapshot, uint64_t stamp, uint64_t events)
{
	gmt_load_note_stamp(snapshot, stamp);
	snapshot->promised_events = events;
	snapshot->counts_differ |= events != snapshot->seen_events;
}

/*
 * Loads a row of the compacted prefix. After the fold record, the event count continues from
 * fold->events.
 */
static bool load_compacted(struct loader *loader, uint32_t kind, const char *row)
{
	struct gmt_snapshot *snapshot = loader->snapshot;
	const struct gmt_fold *fold = (const struct gmt_fold *)row;
	const struct gmt_past_site *site = (const struct gmt_past_site *)row;
	uint32_t *slot;

	if (snapshot->compacted.has_compacted_prefix)
		return true;
	if (kind == GMT_RECORD_PAST_SITE) {
		slot = gmt_vec_push(&snapshot->compacted_traces);
		if (!slot ||
			!gmt_load_trace(&loader->events, site->stack, site->frames, site->caller, slot))
			return false;
	}
	/* All events of this layer or space may be compacted into totals. */
	if (kind == GMT_RECORD_PAST_ACCOUNT)
		snapshot->has_torch |= ((const struct gmt_past_account *)row)->layer == GMT_LAYER_TORCH;
	if (kind == GMT_RECORD_PAST_SPACE)
		snapshot->has_pool |= ((const struct gmt_past_space *)row)->space == GMT_SPACE_POOL;
	if (kind == GMT_RECORD_FOLD) {
		snapshot->seen_events = fold->events;
		snapshot->compaction_why =
			gmt_arena_copy(&snapshot->arena, fold->why.text, fold->why.length);
		gmt_load_note_stamp(snapshot, fold->stamp);
		if (!snapshot->compaction_why || !gmt_load_end_compacted(&loader->events))
			return false;
	}
	return gmt_compacted_add(&snapshot->compacted, kind, row, 1);
}

static bool load_row(struct loader *loader, const struct gmt_record_info *record, const char *row)
{
	struct gmt_snapshot *snapshot = loader->snapshot;
	const struct kept *kept = kept_of(record->number);
	const struct gmt_sync *sync;
	const struct gmt_end *end;

	if (kept)
		return keep_row(snapshot, kept, record, row);
	if (gmt_compacted_takes(record->number))
		return load_compacted(loader, record->number, row);
	switch (record->number) {
	case GMT_RECORD_PROCESS:
		return load_process(snapshot, (const struct gmt_process *)row);
	case GMT_RECORD_DROP:
		return load_drop(loader, (const struct gmt_drop *)row);
	case GMT_RECORD_NOTE:
		return load_note(snapshot, (const struct gmt_note *)row);
	case GMT_RECORD_CLOCK:
		return load_clock(snapshot, (const struct gmt_clock *)row);
	case GMT_RECORD_MARK:
		return load_mark(snapshot, (const struct gmt_mark *)row);
	case GMT_RECORD_OVERHEAD:
		snapshot->overhead = *(const struct gmt_overhead *)row;
		return true;
	case GMT_RECORD_SYNC:
		sync = (const struct gmt_sync *)row;
		check_count(snapshot, sync->stamp, sync->events);
		return true;
	case GMT_RECORD_END:
		end = (const struct gmt_end *)row;
		check_count(snapshot, end->stamp, end->events);
		snapshot->has_end = true;
		return true;
	}
	return true;
}

static enum gmt_status load_block(struct loader *loader, const struct gmt_read_ahead_block *block,
	struct gmt_error *error)
{
	if (!block->record) {
		loader->snapshot->unknown_blocks++;
		return GMT_OK;
	}
	if (block->record->number == GMT_RECORD_EVENT)
		return gmt_load_event_columns(&loader->events, block->columns)
			? GMT_OK
			: gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	for (uint32_t i = 0; i < block->count; i++)
		if (!load_row(loader, block->record,
				(const char *)block->rows + (size_t)i * block->record->row_bytes))
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return GMT_OK;
}

static enum gmt_status load_blocks(struct loader *loader, struct gmt_source *source,
	const struct gmt_snapshot_load_options *options, struct gmt_error *error)
{
	struct gmt_read_ahead *read_ahead = gmt_read_ahead_open(source);
	struct gmt_read_ahead_block block;
	enum gmt_status status =
		read_ahead ? GMT_OK : gmt_error_set(error, GMT_NO_MEMORY, "out of memory");

	while (!status) {
		status = gmt_read_ahead_next(read_ahead, &block, error);
		if (!status)
			gmt_budget_add(block.payload_bytes);
		if (!status)
			status = load_block(loader, &block, error);
		if (!status && options && options->progress)
			options->progress(options->user, block.progress.read_bytes, block.progress.file_bytes);
	}
	gmt_read_ahead_close(read_ahead);
	loader->snapshot->file_bytes = gmt_source_progress(source).file_bytes;
	loader->snapshot->recovered = gmt_source_recovered(source);
	return status;
}

/*
 * Decides the result of the load from how the input ended: success, a partial snapshot, or an
 * error.
 */
static enum gmt_status judge(struct loader *loader, enum gmt_status status, bool is_cut,
	struct gmt_error *error)
{
	struct gmt_snapshot *snapshot = loader->snapshot;

	if (status != GMT_END && status != GMT_DAMAGED)
		return status;
	if (!snapshot->has_process) {
		struct gmt_error why = { .text = "it holds no recording" };

		if (status == GMT_DAMAGED && error)
			why = *error;
		return gmt_error_set(error, GMT_FORMAT, "%s: cannot be read: %.512s", snapshot->path,
			why.text);
	}
	snapshot->damage = "";
	if (snapshot->has_end)
		snapshot->recording_pid = 0;
	/* In a recording that continues, the last block may be incomplete. That is not damage. */
	if (status == GMT_DAMAGED && !(snapshot->recording_pid && is_cut)) {
		snapshot->damaged = true;
		snapshot->damage =
			error ? gmt_arena_copy(&snapshot->arena, error->text, strlen(error->text)) : "?";
	}
	/* The file has events after the last count, although it has its end record. */
	if (snapshot->has_end && snapshot->seen_events != snapshot->promised_events)
		snapshot->counts_differ = true;
	gmt_clock_prepare(snapshot);
	gmt_order_marks(snapshot);
	if (!snapshot->damage || !gmt_load_finish_events(&loader->events))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return GMT_OK;
}

enum gmt_status gmt_snapshot_load(const char *path, const struct gmt_snapshot_load_options *options,
	struct gmt_snapshot **ret_snapshot, struct gmt_error *error)
{
	struct loader loader = { 0 };
	struct gmt_source *source;
	struct gmt_snapshot *snapshot;
	enum gmt_status status =
		gmt_source_open_with(path, options ? options->shared_recording : NULL, &source, error);

	gmt_budget_begin();
	if (status)
		return status;
	snapshot = gmt_pages_grow(NULL, 0, sizeof(*snapshot));
	if (snapshot) {
		loader.snapshot = loader.events.snapshot = snapshot;
		loader.events.order.shapes = &snapshot->shapes;
		snapshot->path = gmt_arena_copy(&snapshot->arena, path, strlen(path));
	}
	if (!snapshot || !snapshot->path) {
		status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	} else {
		status = load_blocks(&loader, source, options, error);
		snapshot->recording_pid = options ? options->recording_pid : 0;
		status = judge(&loader, status, gmt_source_is_cut(source), error);
	}
	gmt_load_events_fini(&loader.events);
	gmt_intern_fini(&loader.drop_keys);
	gmt_source_close(source);
	if (status)
		gmt_snapshot_free(snapshot);
	else
		*ret_snapshot = snapshot;
	return status;
}
