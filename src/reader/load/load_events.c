/* SPDX-License-Identifier: MIT */
#include "reader/load/load_events.h"

#include "base/pages.h"
#include "accounting/accounting.h"
#include "reader/load/backward_stacks.h"

bool gmt_load_trace(struct gmt_load_events *loader, uint32_t stack, uint32_t frames,
	uint32_t caller, uint32_t *ret_trace)
{
	struct gmt_recording *recording = loader->recording;
	struct gmt_map *ids = &loader->trace_ids;
	uint64_t index, key = (uint64_t)stack << 32 | frames;

	if (caller) {
		uint32_t pair;

		if (!gmt_load_trace(loader, stack, frames, 0, &pair))
			return false;
		ids = &loader->caller_ids;
		key = (uint64_t)pair << 32 | caller;
	}
	if (!gmt_map_find(ids, key, &index)) {
		struct gmt_recording_stack_ids *trace = gmt_vec_push(&recording->traces);

		index = recording->traces.count - 1;
		if (!trace || !gmt_map_put(ids, key, index))
			return false;
		*trace =
			(struct gmt_recording_stack_ids){ .stack = stack, .frames = frames, .caller = caller };
	}
	*ret_trace = (uint32_t)index;
	return true;
}

/*
 * Corrects a stamp that is less than the thread's previous stamp. The clocks of two processors may
 * differ, but a thread's time must not go back. Within a thread, the file position gives the order.
 */
static inline bool clamp_stamp(struct gmt_load_events *loader, uint32_t thread, uint64_t *stamp)
{
	if (!loader->clamp_index_plus_1 || loader->clamp_thread != thread) {
		uint64_t index;

		if (!gmt_map_find(&loader->last_stamp_ids, thread, &index)) {
			index = loader->last_stamps.count;
			if (!gmt_vec_reserve(&loader->last_stamps, 1) ||
				!gmt_map_put(&loader->last_stamp_ids, thread, index))
				return false;
			loader->last_stamps.items[loader->last_stamps.count++] = 0;
		}
		loader->clamp_thread = thread;
		loader->clamp_index_plus_1 = index + 1;
	}

	uint64_t *last = &loader->last_stamps.items[loader->clamp_index_plus_1 - 1];
	if (*stamp < *last)
		*stamp = *last;
	*last = *stamp;
	return true;
}

/* Returns whether this kind uses the record's `stream` field for an offset. */
static bool has_offset(uint64_t kind)
{
	return kind == GMT_KIND_BIND || kind == GMT_KIND_BIND_ADDRESS || kind == GMT_KIND_UNBIND;
}

/* One bit for each kind and layer that this version knows. */
enum {
	KNOWN_KINDS = 0
#define GMT_KIND(number, ...) | 1 << number
#include "format/event_kinds.def"
#undef GMT_KIND
	,
	KNOWN_LAYERS = 0
#define GMT_LAYER(number, ...) | 1 << number
#include "format/layers.def"
#undef GMT_LAYER
};

static bool is_known(uint64_t kind, uint64_t layer)
{
	return kind < GMT_KIND_COUNT && KNOWN_KINDS >> kind & 1 && layer < GMT_ACCOUNTING_LAYERS &&
		KNOWN_LAYERS >> layer & 1;
}

/*
 * Does the same as gmt_load_trace, through a cache: a few hundred traces cover nearly all events of
 * a stretch.
 */
static inline bool find_trace(struct gmt_load_events *loader, uint64_t stack, uint64_t frames,
	uint64_t caller, uint32_t *ret_trace)
{
	uint64_t stacks = stack << 32 | frames;
	struct gmt_load_recent_trace *recent;

	/* A compacted prefix uses UINT32_MAX for "no caller". */
	caller = caller == UINT32_MAX ? 0 : caller;
	recent = &loader->recent[gmt_hash_u64(stacks + caller) % GMT_LOAD_RECENT_TRACES];
	if (!recent->trace_plus_1 || recent->stacks != stacks || recent->caller != caller) {
		if (!gmt_load_trace(loader, (uint32_t)stack, (uint32_t)frames, (uint32_t)caller, ret_trace))
			return false;
		*recent = (struct gmt_load_recent_trace){ stacks, (uint32_t)caller, *ret_trace + 1 };
	}
	*ret_trace = recent->trace_plus_1 - 1;
	return true;
}

/* Adds the bits of a column to shape words, at the bit position `shift`. */
static void add_to_words(uint64_t *words, uint32_t count, const uint64_t *values, uint64_t mask,
	unsigned shift)
{
	for (uint32_t i = 0; i < count; i++)
		words[i] |= (values[i] & mask) << shift;
}

/*
 * Computes shape word number `word` (0 or 1) for all rows. The words of rows of unknown kinds or
 * layers are garbage. Returns false when out of memory.
 */
static bool list_words(struct gmt_load_events *loader, const struct gmt_columns *columns,
	unsigned word)
{
	static const struct {
		uint64_t mask;
		uint8_t field, word, shift;
	} parts[] = {
		{ UINT32_MAX, GMT_COLUMN_event_thread, 0, GMT_SHAPE_THREAD_SHIFT },
		{ UINT32_MAX, GMT_COLUMN_event_result, 0, 0 },
		{ UINT16_MAX, GMT_COLUMN_event_api, 1, GMT_SHAPE_API_SHIFT },
		{ UINT16_MAX, GMT_COLUMN_event_context, 1, GMT_SHAPE_CONTEXT_SHIFT },
		{ UINT16_MAX, GMT_COLUMN_event_device, 1, GMT_SHAPE_DEVICE_SHIFT },
		{ UINT8_MAX, GMT_COLUMN_event_kind, 1, GMT_SHAPE_KIND_SHIFT },
		{ UINT8_MAX, GMT_COLUMN_event_layer, 1, GMT_SHAPE_LAYER_SHIFT },
		{ UINT8_MAX, GMT_COLUMN_event_space, 1, 0 },
	};
	enum { PARTS = sizeof(parts) / sizeof(*parts) };
	uint64_t *words, same = 0;

	if (!gmt_vec_reserve(&loader->words[word], columns->count))
		return false;
	words = loader->words[word].items;
	for (size_t p = 0; p < PARTS; p++)
		if (parts[p].word == word && !columns->cells[parts[p].field].stride)
			add_to_words(&same, 1, columns->cells[parts[p].field].values, parts[p].mask,
				parts[p].shift);
	for (uint32_t i = 0; i < columns->count; i++)
		words[i] = same;
	for (size_t p = 0; p < PARTS; p++)
		if (parts[p].word == word && columns->cells[parts[p].field].stride)
			add_to_words(words, columns->count, columns->cells[parts[p].field].values,
				parts[p].mask, parts[p].shift);
	return true;
}

/*
 * Returns the values of a column, one for each row. If all values are equal, they are mostly 0.
 * Such columns share an array of zeros, which stays in the processor's caches.
 */
static const uint64_t *values_of(struct gmt_load_events *loader, struct gmt_columns *columns,
	uint32_t field)
{
	const struct gmt_cells *cells = &columns->cells[field];

	return !cells->stride && !*cells->values ? loader->zeros.items
											 : gmt_columns_expand(columns, field);
}

/* The columns from which the rows of a block are loaded. */
struct block {
	const uint64_t *stamp, *thread, *kind, *layer, *address, *size_bytes, *stack, *frames, *stream,
		*allocated_bytes, *reserved_bytes, *object, *context, *caller;
	const uint64_t *words[2]; /* of the rows' shapes */
};

/* Loads row number `i`. This version must know its kind and layer. */
static inline __attribute__((always_inline)) bool load_event(struct gmt_load_events *loader,
	const struct block *block, uint32_t i)
{
	bool is_torch = block->layer[i] == GMT_LAYER_TORCH;
	struct gmt_event_shape shape = { { block->words[0][i], block->words[1][i] } };
	uint64_t stamp = block->stamp[i], kind = block->kind[i];
	uint32_t trace, number;
	struct gmt_events_row *row;

	if (is_torch)
		shape.words[1] &= ~((uint64_t)UINT16_MAX << GMT_SHAPE_CONTEXT_SHIFT);
	if (!find_trace(loader, block->stack[i], block->frames[i], block->caller[i], &trace) ||
		!clamp_stamp(loader, (uint32_t)block->thread[i], &stamp) ||
		!gmt_event_shapes_find(loader->sorter.shapes, &shape, &number))
		return false;
	row = gmt_event_sorter_push(&loader->sorter, stamp);
	if (!row)
		return false;
	row->stamp = stamp;
	row->address = block->address[i];
	row->size_bytes = block->size_bytes[i];
	row->trace = trace;
	row->shape = number;
	if (is_torch) {
		row->more[0] = block->allocated_bytes[i];
		row->more[1] = block->reserved_bytes[i];
	} else {
		row->more[0] = block->object[i];
		row->more[1] =
			block->object[i] || block->context[i] || has_offset(kind) ? block->stream[i] : 0;
	}
	gmt_load_note_stamp(loader->recording, stamp);
	if (kind == GMT_KIND_ALLOC || kind == GMT_KIND_MAP)
		loader->recording->traces.items[trace].requests_memory = true;
	return true;
}

bool gmt_load_event_columns(struct gmt_load_events *loader, struct gmt_columns *columns)
{
#define VALUES(field) .field = values_of(loader, columns, GMT_COLUMN_event_##field)
	loader->recording->seen_events += columns->count;
	if (loader->count + columns->count >= UINT32_MAX ||
		!gmt_vec_reserve(&loader->zeros, columns->count) || !list_words(loader, columns, 0) ||
		!list_words(loader, columns, 1))
		return false;

	const struct block block = {
		VALUES(stamp),
		VALUES(thread),
		VALUES(kind),
		VALUES(layer),
		VALUES(address),
		VALUES(size_bytes),
		VALUES(stack),
		VALUES(frames),
		VALUES(stream),
		VALUES(allocated_bytes),
		VALUES(reserved_bytes),
		VALUES(object),
		VALUES(context),
		VALUES(caller),
		.words = { loader->words[0].items, loader->words[1].items },
	};

	for (uint32_t i = 0; i < columns->count; i++) {
		if (!is_known(block.kind[i], block.layer[i]))
			loader->recording->unknown_events++;
		else if (!load_event(loader, &block, i))
			return false;
		else
			loader->count++;
	}
	return true;
#undef VALUES
}

static void note_shapes(struct gmt_recording *recording)
{
	for (size_t i = 0; i < gmt_event_shapes_count(&recording->shapes); i++) {
		struct gmt_recording_event event;

		gmt_event_shape_set(&event, gmt_event_shapes_get(&recording->shapes, i));
		recording->has_torch |= event.layer == GMT_LAYER_TORCH;
		recording->has_pool |= event.space == GMT_SPACE_POOL;
		recording->has_refusals |= event.kind == GMT_KIND_ALLOC_FAILED;
	}
}

bool gmt_load_finish_events(struct gmt_load_events *loader)
{
	struct gmt_recording *recording = loader->recording;

	note_shapes(recording);
	recording->reader = gmt_pages_grow(NULL, 0, sizeof(*recording->reader));
	return recording->reader && gmt_event_sorter_finish(&loader->sorter, &recording->events) &&
		gmt_events_reader_init(recording->reader, &recording->events, GMT_EVENTS_ALL) &&
		gmt_backward_stacks_attribute(recording);
}

bool gmt_load_end_compacted(struct gmt_load_events *loader)
{
	loader->recording->compacted_events = loader->count;
	return gmt_event_sorter_end_part(&loader->sorter);
}

void gmt_load_events_fini(struct gmt_load_events *loader)
{
	gmt_map_fini(&loader->trace_ids);
	gmt_map_fini(&loader->caller_ids);
	gmt_map_fini(&loader->last_stamp_ids);
	gmt_vec_fini(&loader->last_stamps);
	gmt_vec_fini(&loader->words[0]);
	gmt_vec_fini(&loader->words[1]);
	gmt_vec_fini(&loader->zeros);
	gmt_event_sorter_fini(&loader->sorter);
}
