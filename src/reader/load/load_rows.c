/* SPDX-License-Identifier: MIT */
#include "reader/load/load_rows.h"

#include <stddef.h>
#include <string.h>

#include "base/pages.h"

bool gmt_load_rows_init(struct gmt_load_rows *loader, const char *path)
{
	struct gmt_recording *recording = gmt_pages_grow(NULL, 0, sizeof(*recording));

	if (!recording)
		return false;
	loader->recording = loader->events.recording = recording;
	loader->events.sorter.shapes = &recording->shapes;
	/* Until the process record is loaded, these texts are empty. */
	recording->host = recording->executable = recording->directory = "";
	recording->recorder_version = recording->machine = recording->imported_from = "";
	recording->path = gmt_arena_copy(&recording->arena, path, strlen(path));
	return recording->path;
}

/*
 * Record kinds whose rows are stored unchanged: the vector of each, and its id map if it has ids.
 */
struct stored_kind {
	size_t items, ids, id; /* offsets: vector and map in the recording, id in the row */
};

enum { NO_IDS = 0 };

static const struct stored_kind *stored_kind_of(uint32_t kind)
{
#define STORED(KIND, vector, id_map, id_field, row) \
	[GMT_RECORD_##KIND] = { offsetof(struct gmt_recording, vector), id_map, id_field }
#define STORED_BY_ID(KIND, vector, id_map, id_field, row) \
	STORED(KIND, vector, offsetof(struct gmt_recording, id_map), offsetof(struct row, id_field), \
		row)
	static const struct stored_kind stored[] = {
		STORED(OPTION, options, NO_IDS, NO_IDS, gmt_option),
		STORED(ENVIRONMENT, environment, NO_IDS, NO_IDS, gmt_environment),
		STORED_BY_ID(API, apis, api_ids, id, gmt_api),
		STORED_BY_ID(DEVICE, devices, device_ids, ordinal, gmt_device),
		STORED_BY_ID(THREAD, threads, thread_ids, id, gmt_thread),
		STORED_BY_ID(MODULE, modules, module_ids, id, gmt_module),
		STORED_BY_ID(CODE, codes, code_ids, id, gmt_code),
		STORED_BY_ID(FRAME, frame_places, frame_ids, id, gmt_frame),
		STORED_BY_ID(FRAMES, frames, frames_ids, id, gmt_frames),
		STORED_BY_ID(STACK, stacks, stack_ids, id, gmt_stack),
		STORED_BY_ID(NAME, names, name_ids, id, gmt_name),
		STORED(OOM, ooms, NO_IDS, NO_IDS, gmt_oom),
		STORED(SAMPLE, samples, NO_IDS, NO_IDS, gmt_sample),
		STORED(POOL, pools, NO_IDS, NO_IDS, gmt_pool),
		STORED(CALLS, calls, NO_IDS, NO_IDS, gmt_calls),
		STORED(UNHOOKED, unhooked, NO_IDS, NO_IDS, gmt_unhooked),
	};
#undef STORED
#undef STORED_BY_ID
	return kind < sizeof(stored) / sizeof(*stored) && stored[kind].items ? &stored[kind] : NULL;
}

static bool own_slice(struct gmt_recording *recording, struct gmt_slice *slice)
{
	slice->text = gmt_arena_copy(&recording->arena, slice->text, slice->length);
	return slice->text;
}

static bool own_list(struct gmt_recording *recording, struct gmt_list *list)
{
	uint64_t *items = gmt_arena_alloc(&recording->arena, (size_t)list->count * sizeof(*items));

	if (items && list->count)
		memcpy(items, list->items, (size_t)list->count * sizeof(*items));
	list->items = items;
	return items;
}

/* Copies the strings and lists of a row into the recording's arena. */
static bool own_row(struct gmt_recording *recording, const struct gmt_record_info *record,
	char *row)
{
	for (uint32_t f = 0; f < record->field_count; f++) {
		char *cell = row + record->fields[f].offset;

		if (record->fields[f].encoding == GMT_ENCODING_STRING &&
			!own_slice(recording, (struct gmt_slice *)cell))
			return false;
		if (record->fields[f].encoding == GMT_ENCODING_LIST &&
			!own_list(recording, (struct gmt_list *)cell))
			return false;
	}
	return true;
}

static bool store_row(struct gmt_recording *recording, const struct stored_kind *stored,
	const struct gmt_record_info *record, const char *row)
{
	/* All GMT_VEC types have this layout. */
	GMT_VEC(char) *vector = (void *)((char *)recording + stored->items);
	struct gmt_map *ids = stored->ids ? (struct gmt_map *)((char *)recording + stored->ids) : NULL;
	uint64_t before;

	if (ids && gmt_map_find(ids, *(const uint32_t *)(row + stored->id), &before)) {
		recording->repeated_ids++;
		return true;
	}
	if (ids && !gmt_map_put(ids, *(const uint32_t *)(row + stored->id), vector->count))
		return false;
	if (!gmt_vec_reserve_bytes((void **)&vector->items, &vector->capacity, vector->count, 1,
			record->row_bytes))
		return false;

	char *copy = vector->items + vector->count++ * record->row_bytes;
	memcpy(copy, row, record->row_bytes);
	return own_row(recording, record, copy);
}

/*
 * Drops the empty arguments that a program leaves when it sets its own title. Such a program
 * overwrites its arguments: one argument is left, and the arguments after it are empty.
 */
static void strip_title(struct gmt_recording *recording)
{
	size_t count = recording->command.count;

	while (count > 1 && !*recording->command.items[count - 1])
		count--;
	/* A single empty argument may be the program's own. */
	if (count == 1 && recording->command.count > 2)
		recording->command.count = 1;
}

static bool load_process(struct gmt_recording *recording, const struct gmt_process *row)
{
	struct gmt_process *process = &recording->process;

	if (recording->has_process) {
		recording->repeated_ids++;
		return true;
	}
	*process = *row;
	if (!own_row(recording, gmt_record_info(GMT_RECORD_PROCESS), (char *)process))
		return false;
	recording->has_process = true;
	recording->host = process->host.text;
	recording->executable = process->executable.text;
	recording->directory = process->directory.text;
	recording->recorder_version = process->recorder_version.text;
	recording->machine = process->machine.text;
	recording->imported_from = process->imported_from.text;

	/* The copy ends with NUL, so a last argument that was cut is also a string. */
	const char *end = process->command.text + process->command.length;
	for (const char *at = process->command.text; at < end; at += strlen(at) + 1) {
		const char **argument = gmt_vec_push(&recording->command);

		if (!argument)
			return false;
		*argument = at;
	}
	strip_title(recording);
	return true;
}

static bool load_drop(struct gmt_load_rows *loader, const struct gmt_drop *row)
{
	struct gmt_recording *recording = loader->recording;
	char key[sizeof(row->thread) + 256];
	uint32_t length = row->reason.length < 256 ? row->reason.length : 256;
	uint32_t index;

	memcpy(key, &row->thread, sizeof(row->thread));
	memcpy(key + sizeof(row->thread), row->reason.text, length);
	if (!gmt_intern(&loader->drop_keys, key, sizeof(row->thread) + length, &index))
		return false;
	if (index == recording->drops.count) {
		struct gmt_recording_drop *drop = gmt_vec_push(&recording->drops);
		char *reason = gmt_arena_copy(&recording->arena, row->reason.text, row->reason.length);

		if (!drop || !reason)
			return false;
		*drop = (struct gmt_recording_drop){ .thread = row->thread, .reason = reason };
	}
	recording->drops.items[index].count = row->count;
	return true;
}

static bool load_note(struct gmt_recording *recording, const struct gmt_note *row)
{
	const char **note = gmt_vec_push(&recording->notes);
	char *text = gmt_arena_copy(&recording->arena, row->text.text, row->text.length);

	if (!note || !text)
		return false;
	*note = text;
	return true;
}

static bool load_clock(struct gmt_recording *recording, const struct gmt_clock *row)
{
	struct gmt_recording_clock *clock = gmt_vec_push(&recording->clocks);

	if (clock)
		*clock = (struct gmt_recording_clock){ row->stamp, row->monotonic_ns, row->realtime_ns };
	gmt_load_note_stamp(recording, row->stamp);
	return clock;
}

static bool load_mark(struct gmt_recording *recording, const struct gmt_mark *row)
{
	if (!gmt_mark_kind_name(row->kind) || !gmt_mark_source_name(row->source)) {
		recording->unknown_marks++;
		return true;
	}

	struct gmt_recording_mark *mark = gmt_vec_push(&recording->marks);
	if (!mark)
		return false;
	*mark = (struct gmt_recording_mark){
		.stamp = row->stamp,
		.object = row->object,
		.thread = row->thread,
		.kind = row->kind,
		.source = row->source,
		.position = (uint32_t)recording->marks.count,
		/* The name's record comes before the mark in the file. */
		.name = gmt_recording_name(recording, row->name),
	};
	gmt_load_note_stamp(recording, row->stamp);
	return true;
}

static void check_count(struct gmt_recording *recording, uint64_t stamp, uint64_t events)
{
	gmt_load_note_stamp(recording, stamp);
	recording->promised_events = events;
	recording->counts_differ |= events != recording->seen_events;
}

/*
 * Loads a row of the compacted prefix. After the fold record, the event count continues from
 * fold->events.
 */
static bool load_compacted(struct gmt_load_rows *loader, uint32_t kind, const char *row)
{
	struct gmt_recording *recording = loader->recording;
	const struct gmt_fold *fold = (const struct gmt_fold *)row;
	const struct gmt_past_site *site = (const struct gmt_past_site *)row;
	uint32_t *slot;

	if (recording->compacted.exists)
		return true;
	if (kind == GMT_RECORD_PAST_SITE) {
		slot = gmt_vec_push(&recording->compacted_traces);
		if (!slot ||
			!gmt_load_trace(&loader->events, site->stack, site->frames, site->caller, slot))
			return false;
	}
	/* All events of this layer or space may be compacted into totals. */
	if (kind == GMT_RECORD_PAST_ACCOUNT)
		recording->has_torch |= ((const struct gmt_past_account *)row)->layer == GMT_LAYER_TORCH;
	if (kind == GMT_RECORD_PAST_SPACE)
		recording->has_pool |= ((const struct gmt_past_space *)row)->space == GMT_SPACE_POOL;
	if (kind == GMT_RECORD_FOLD) {
		recording->seen_events = fold->events;
		recording->compaction_why =
			gmt_arena_copy(&recording->arena, fold->why.text, fold->why.length);
		gmt_load_note_stamp(recording, fold->stamp);
		if (!recording->compaction_why || !gmt_load_end_compacted(&loader->events))
			return false;
	}
	return gmt_compacted_prefix_add(&recording->compacted, kind, row, 1);
}

bool gmt_load_row(struct gmt_load_rows *loader, const struct gmt_record_info *record,
	const char *row)
{
	struct gmt_recording *recording = loader->recording;
	const struct stored_kind *stored = stored_kind_of(record->number);
	const struct gmt_sync *sync;
	const struct gmt_end *end;

	if (stored)
		return store_row(recording, stored, record, row);
	if (gmt_compacted_prefix_takes(record->number))
		return load_compacted(loader, record->number, row);
	switch (record->number) {
	case GMT_RECORD_PROCESS:
		return load_process(recording, (const struct gmt_process *)row);
	case GMT_RECORD_DROP:
		return load_drop(loader, (const struct gmt_drop *)row);
	case GMT_RECORD_NOTE:
		return load_note(recording, (const struct gmt_note *)row);
	case GMT_RECORD_CLOCK:
		return load_clock(recording, (const struct gmt_clock *)row);
	case GMT_RECORD_MARK:
		return load_mark(recording, (const struct gmt_mark *)row);
	case GMT_RECORD_OVERHEAD:
		recording->overhead = *(const struct gmt_overhead *)row;
		return true;
	case GMT_RECORD_SYNC:
		sync = (const struct gmt_sync *)row;
		check_count(recording, sync->stamp, sync->events);
		return true;
	case GMT_RECORD_END:
		end = (const struct gmt_end *)row;
		check_count(recording, end->stamp, end->events);
		recording->has_end = true;
		return true;
	}
	return true;
}

void gmt_load_rows_fini(struct gmt_load_rows *loader)
{
	gmt_load_events_fini(&loader->events);
	gmt_intern_fini(&loader->drop_keys);
}
