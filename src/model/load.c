/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <string.h>

#include "base/intern.h"
#include "base/pages.h"
#include "books/books.h"
#include "model/backward.h"
#include "model/clock.h"
#include "model/order.h"
#include "model/snapshot.h"
#include "wire/decode.h"
#include "wire/source.h"

/* What only loading needs. */
struct loader {
	struct gmt_snapshot *snapshot;
	struct gmt_map trace_ids;   /* stack << 32 | frames to index in traces */
	struct gmt_map caller_ids;  /* that index << 32 | caller to the trace that has both */
	struct gmt_intern drop_keys; /* thread and reason; the id is the index in drops */
	struct gmt_map clamp_ids;   /* thread to index in clamps */
	GMT_VEC(uint64_t) clamps;   /* the last stamp of each thread */
	uint32_t clamp_thread;      /* whose clamp was used last ... */
	size_t clamp_index_plus_1;  /* ... and where it is */
};

/* Records that are kept as they are, each in its vector, by id where it has one. */
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

/* Lets the strings and lists of a row live as long as the snapshot. */
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
	/* Every GMT_VEC has this shape. */
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

	/* The copy has a NUL behind it, so an unended last argument is a string too. */
	const char *end = process->command.text + process->command.length;
	for (const char *at = process->command.text; at < end; at += strlen(at) + 1) {
		const char **argument = gmt_vec_push(&snapshot->command);

		if (!argument)
			return false;
		*argument = at;
	}
	return true;
}

/* Index in traces; `caller` 0: nobody says for whom. */
static bool trace_of(struct loader *loader, uint32_t stack, uint32_t frames, uint32_t caller, uint32_t *ret_trace)
{
	struct gmt_snapshot *snapshot = loader->snapshot;
	struct gmt_map *ids = &loader->trace_ids;
	uint64_t index, key = (uint64_t)stack << 32 | frames;

	if (caller) {
		uint32_t pair;

		if (!trace_of(loader, stack, frames, 0, &pair))
			return false;
		ids = &loader->caller_ids;
		key = (uint64_t)pair << 32 | caller;
	}
	if (!gmt_map_find(ids, key, &index)) {
		struct gmt_snapshot_trace *trace = gmt_vec_push(&snapshot->traces);

		index = snapshot->traces.count - 1;
		if (!trace || !gmt_map_put(ids, key, index))
			return false;
		*trace = (struct gmt_snapshot_trace){ .stack = stack, .frames = frames, .caller = caller };
	}
	*ret_trace = (uint32_t)index;
	return true;
}

/* A thread's clock never goes back, whatever processor it moves to: position orders within it. */
static bool clamp_stamp(struct loader *loader, uint32_t thread, uint64_t *stamp)
{
	if (!loader->clamp_index_plus_1 || loader->clamp_thread != thread) {
		uint64_t index;

		if (!gmt_map_find(&loader->clamp_ids, thread, &index)) {
			index = loader->clamps.count;
			if (!gmt_vec_reserve(&loader->clamps, 1) ||
				!gmt_map_put(&loader->clamp_ids, thread, index))
				return false;
			loader->clamps.items[loader->clamps.count++] = 0;
		}
		loader->clamp_thread = thread;
		loader->clamp_index_plus_1 = index + 1;
	}

	uint64_t *last = &loader->clamps.items[loader->clamp_index_plus_1 - 1];
	if (*stamp < *last)
		*stamp = *last;
	*last = *stamp;
	return true;
}

static void see_stamp(struct gmt_snapshot *snapshot, uint64_t stamp)
{
	if (stamp > snapshot->last_stamp)
		snapshot->last_stamp = stamp;
}

/* Kinds that say an offset where others say a stream. */
static bool has_offset(unsigned kind)
{
	return kind == GMT_KIND_BIND || kind == GMT_KIND_BIND_ADDRESS || kind == GMT_KIND_UNBIND;
}

static bool load_event(struct loader *loader, const struct gmt_event *row)
{
	struct gmt_snapshot *snapshot = loader->snapshot;
	struct gmt_snapshot_event event = {
		.stamp = row->stamp, .address = row->address, .size_bytes = row->size_bytes,
		.thread = row->thread, .result = row->result, .api = row->api, .device = row->device,
		.kind = row->kind, .layer = row->layer, .space = row->space,
	};

	snapshot->seen_events++;
	if (!gmt_layer_name(row->layer) || row->layer >= GMT_BOOKS_LAYERS || !gmt_kind_name(row->kind)) {
		snapshot->unknown_events++;
		return true;
	}
	/* UINT32_MAX: a fold says that it was for nobody. */
	if (snapshot->events.count >= UINT32_MAX - 1 || !trace_of(loader, row->stack, row->frames,
			row->caller == UINT32_MAX ? 0 : row->caller, &event.trace) ||
		!clamp_stamp(loader, row->thread, &event.stamp))
		return false;
	if (row->layer == GMT_LAYER_TORCH) {
		struct gmt_snapshot_totals *totals = gmt_vec_push(&snapshot->totals);

		if (!totals)
			return false;
		totals->allocated_bytes = (uint64_t)row->allocated_bytes;
		totals->reserved_bytes = (uint64_t)row->reserved_bytes;
		event.more_plus_1 = (uint32_t)snapshot->totals.count;
	} else if (row->object || row->context || has_offset(row->kind)) {
		struct gmt_snapshot_object *object = gmt_vec_push(&snapshot->objects);

		if (!object)
			return false;
		*object = (struct gmt_snapshot_object){
			.object = row->object, .offset = row->stream, .context = row->context,
		};
		event.more_plus_1 = (uint32_t)snapshot->objects.count;
	}

	see_stamp(snapshot, event.stamp);

	struct gmt_snapshot_event *slot = gmt_vec_push(&snapshot->events);
	if (slot)
		*slot = event;
	return slot;
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
	see_stamp(snapshot, row->stamp);
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
		.stamp = row->stamp, .object = row->object, .thread = row->thread,
		.kind = row->kind, .source = row->source,
		.position = (uint32_t)snapshot->marks.count,
		/* Its name is in the file before it. */
		.name = gmt_map_find(&snapshot->name_ids, row->name, &index) ?
			snapshot->names.items[index].text.text : "",
	};
	see_stamp(snapshot, row->stamp);
	return true;
}

static void check_count(struct gmt_snapshot *snapshot, uint64_t stamp, uint64_t events)
{
	see_stamp(snapshot, stamp);
	snapshot->promised_events = events;
	snapshot->counts_differ |= events != snapshot->seen_events;
}

/* What is behind the row of the fold counts on from all that was recorded up to it. */
static bool load_past(struct loader *loader, uint32_t kind, const char *row)
{
	struct gmt_snapshot *snapshot = loader->snapshot;
	const struct gmt_fold *fold = (const struct gmt_fold *)row;
	const struct gmt_past_site *site = (const struct gmt_past_site *)row;
	uint32_t *slot;

	if (snapshot->past.has_fold)
		return true;
	if (kind == GMT_RECORD_PAST_SITE) {
		slot = gmt_vec_push(&snapshot->past_traces);
		if (!slot || !trace_of(loader, site->stack, site->frames, site->caller, slot))
			return false;
	}
	if (kind == GMT_RECORD_FOLD) {
		snapshot->past_events = snapshot->events.count;
		snapshot->seen_events = fold->events;
		snapshot->fold_why = gmt_arena_copy(&snapshot->arena, fold->why.text, fold->why.length);
		see_stamp(snapshot, fold->stamp);
		if (!snapshot->fold_why)
			return false;
	}
	return gmt_past_add(&snapshot->past, kind, row, 1);
}

static bool load_row(struct loader *loader, const struct gmt_record_info *record, const char *row)
{
	struct gmt_snapshot *snapshot = loader->snapshot;
	const struct kept *kept = kept_of(record->number);
	const struct gmt_sync *sync;
	const struct gmt_end *end;

	if (kept)
		return keep_row(snapshot, kept, record, row);
	if (gmt_past_takes(record->number))
		return load_past(loader, record->number, row);
	switch (record->number) {
	case GMT_RECORD_PROCESS:
		return load_process(snapshot, (const struct gmt_process *)row);
	case GMT_RECORD_EVENT:
		return load_event(loader, (const struct gmt_event *)row);
	case GMT_RECORD_DROP:
		return load_drop(loader, (const struct gmt_drop *)row);
	case GMT_RECORD_NOTE:
		return load_note(snapshot, (const struct gmt_note *)row);
	case GMT_RECORD_CLOCK:
		return load_clock(snapshot, (const struct gmt_clock *)row);
	case GMT_RECORD_MARK:
		return load_mark(snapshot, (const struct gmt_mark *)row);
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

static enum gmt_status load_block(struct loader *loader, struct gmt_decoder *decoder,
	const struct gmt_block *block, struct gmt_error *error)
{
	const struct gmt_record_info *record = gmt_record_info(block->kind);
	const void *rows;

	if (!record) {
		loader->snapshot->unknown_blocks++;
		return GMT_OK;
	}

	enum gmt_status status = gmt_decode_rows(decoder, block, &rows, error);
	if (status)
		return status;
	for (uint32_t i = 0; i < block->rows; i++)
		if (!load_row(loader, record, (const char *)rows + (size_t)i * record->row_bytes))
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return GMT_OK;
}

static enum gmt_status load_blocks(struct loader *loader, struct gmt_source *source,
	const struct gmt_snapshot_load_options *options, struct gmt_error *error)
{
	struct gmt_decoder decoder = { 0 };
	struct gmt_block block;
	enum gmt_status status;

	for (;;) {
		status = gmt_source_next(source, &block, error);
		if (!status)
			status = load_block(loader, &decoder, &block, error);
		if (status)
			break;
		if (options && options->progress) {
			struct gmt_source_progress progress = gmt_source_progress(source);

			options->progress(options->user, progress.read_bytes, progress.file_bytes);
		}
	}
	loader->snapshot->file_bytes = gmt_source_progress(source).file_bytes;
	loader->snapshot->recovered = gmt_source_recovered(source);
	gmt_decoder_fini(&decoder);
	return status;
}

/* Decides what the end of reading means: all, a part, or nothing. */
static enum gmt_status judge(struct gmt_snapshot *snapshot, enum gmt_status status, struct gmt_error *error)
{
	if (status != GMT_END && status != GMT_DAMAGED)
		return status;
	if (!snapshot->has_process) {
		struct gmt_error why = { .text = "it holds no recording" };

		if (status == GMT_DAMAGED && error)
			why = *error;
		return gmt_error_set(error, GMT_FORMAT, "%s: nothing in it can be read: %.512s",
			snapshot->path, why.text);
	}
	snapshot->damage = "";
	if (status == GMT_DAMAGED) {
		snapshot->damaged = true;
		snapshot->damage = error ?
			gmt_arena_copy(&snapshot->arena, error->text, strlen(error->text)) : "?";
	}
	/* Events behind the last count, in a file that says it is whole. */
	if (snapshot->has_end && snapshot->seen_events != snapshot->promised_events)
		snapshot->counts_differ = true;
	gmt_clock_prepare(snapshot);
	gmt_order_marks(snapshot);
	if (!snapshot->damage || !gmt_order_events(snapshot) || !gmt_backward_adopt(snapshot))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return GMT_OK;
}

enum gmt_status gmt_snapshot_load(const char *path, const struct gmt_snapshot_load_options *options,
	struct gmt_snapshot **ret_snapshot, struct gmt_error *error)
{
	struct loader loader = { 0 };
	struct gmt_source *source;
	struct gmt_snapshot *snapshot;
	enum gmt_status status = gmt_source_open_with(path, options ? options->leftover : NULL, &source, error);

	if (status)
		return status;
	snapshot = gmt_pages_grow(NULL, 0, sizeof(*snapshot));
	if (snapshot) {
		loader.snapshot = snapshot;
		snapshot->path = gmt_arena_copy(&snapshot->arena, path, strlen(path));
	}
	if (!snapshot || !snapshot->path) {
		status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	} else {
		status = load_blocks(&loader, source, options, error);
		status = judge(snapshot, status, error);
	}
	gmt_map_fini(&loader.trace_ids);
	gmt_map_fini(&loader.caller_ids);
	gmt_map_fini(&loader.clamp_ids);
	gmt_vec_fini(&loader.clamps);
	gmt_intern_fini(&loader.drop_keys);
	gmt_source_close(source);
	if (status)
		gmt_snapshot_free(snapshot);
	else
		*ret_snapshot = snapshot;
	return status;
}
