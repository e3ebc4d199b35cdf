/* SPDX-License-Identifier: MIT */
#include "shared_memory/definitions.h"

#include <stddef.h>

static const void *bytes_of(const struct gmt_depot_entry *entry)
{
	return entry + 1;
}

/* Only the writer touches file_id, so relaxed is enough. */
static uint32_t file_id(const struct gmt_depot_entry *entry)
{
	return atomic_load_explicit(&entry->file_id, memory_order_relaxed);
}

static uint32_t assign_id(struct gmt_depot_entry *entry, uint32_t *last)
{
	atomic_store_explicit(&entry->file_id, ++*last, memory_order_relaxed);
	return *last;
}

static struct gmt_depot_entry *find(const struct gmt_definitions *definitions, uint32_t id,
	enum gmt_depot_kind kind, size_t min_bytes)
{
	struct gmt_depot_entry *entry = id ? definitions->find(definitions->depot, id, kind) : NULL;

	/* A recorder's entries are always long enough. Those in a forged file may be too short. */
	return entry && entry->length >= min_bytes ? entry : NULL;
}

uint32_t gmt_definitions_stack_id(struct gmt_definitions *definitions, uint32_t id)
{
	const struct gmt_depot_stack *stack;
	struct gmt_depot_entry *entry = find(definitions, id, GMT_DEPOT_STACK, sizeof(*stack));

	if (!entry || file_id(entry))
		return entry ? file_id(entry) : 0;

	struct gmt_stack *row = gmt_vec_push(&definitions->stack_rows);
	if (!row)
		return 0;

	stack = bytes_of(entry);
	*row = (struct gmt_stack){
		.id = assign_id(entry, &definitions->last_stack),
		.generation = stack->generation,
		.truncated = (uint8_t)stack->truncated,
		.items = { stack->addresses, (entry->length - (uint32_t)sizeof(*stack)) / 8 },
	};
	return row->id;
}

uint32_t gmt_definitions_code_id(struct gmt_definitions *definitions, uint32_t id)
{
	const struct gmt_depot_code *code;
	size_t head_bytes = offsetof(struct gmt_depot_code, text);
	struct gmt_depot_entry *entry = find(definitions, id, GMT_DEPOT_CODE, head_bytes);

	if (!entry || file_id(entry))
		return entry ? file_id(entry) : 0;

	code = bytes_of(entry);
	if ((uint64_t)code->function_length + code->file_length > entry->length - head_bytes)
		return 0;

	struct gmt_code *row = gmt_vec_push(&definitions->code_rows);
	if (!row)
		return 0;
	*row = (struct gmt_code){
		.id = assign_id(entry, &definitions->last_code),
		.function = { code->text, code->function_length },
		.file = { code->text + code->function_length, code->file_length },
		.first_line = code->first_line,
	};
	return row->id;
}

uint32_t gmt_definitions_frame_id(struct gmt_definitions *definitions, uint32_t id)
{
	const struct gmt_depot_frame *frame;
	struct gmt_depot_entry *entry = find(definitions, id, GMT_DEPOT_FRAME, sizeof(*frame));

	if (!entry || file_id(entry))
		return entry ? file_id(entry) : 0;

	frame = bytes_of(entry);
	uint32_t code = gmt_definitions_code_id(definitions, frame->code);
	struct gmt_frame *row = gmt_vec_push(&definitions->frame_rows);

	if (!row)
		return 0;
	*row = (struct gmt_frame){
		.id = assign_id(entry, &definitions->last_frame),
		.code = code,
		.line = frame->line,
	};
	return row->id;
}

uint32_t gmt_definitions_frames_id(struct gmt_definitions *definitions, uint32_t id)
{
	const struct gmt_depot_frames *stack;
	struct gmt_depot_entry *entry = find(definitions, id, GMT_DEPOT_FRAMES, sizeof(*stack));

	if (!entry || file_id(entry))
		return entry ? file_id(entry) : 0;

	stack = bytes_of(entry);
	uint32_t count = (entry->length - (uint32_t)sizeof(*stack)) / 4;
	uint64_t *items = gmt_arena_alloc(&definitions->lists, count * sizeof(*items));
	struct gmt_frames *row = items ? gmt_vec_push(&definitions->frames_rows) : NULL;

	if (!row)
		return 0;
	for (uint32_t i = 0; i < count; i++)
		items[i] = (uint64_t)gmt_definitions_frame_id(definitions, stack->items[i] >> 1) << 1 |
			(stack->items[i] & 1);
	*row = (struct gmt_frames){
		.id = assign_id(entry, &definitions->last_frames),
		.truncated = (uint8_t)stack->truncated,
		.items = { items, count },
	};
	return row->id;
}

uint32_t gmt_definitions_name_id(struct gmt_definitions *definitions, uint32_t id)
{
	struct gmt_depot_entry *entry = find(definitions, id, GMT_DEPOT_NAME, 0);

	if (!entry || file_id(entry))
		return entry ? file_id(entry) : 0;

	struct gmt_name *row = gmt_vec_push(&definitions->name_rows);
	if (!row)
		return 0;
	*row = (struct gmt_name){
		.id = assign_id(entry, &definitions->last_name),
		.text = { bytes_of(entry), entry->length },
	};
	return row->id;
}

/* Small blocks stay far below the size of the recorder's journal, even with very deep stacks. */
enum { ROWS_OF_BLOCK = 64 };

#define FLUSH(kind, rows) \
	do { \
		for (size_t at = 0; at < (rows).count; at += ROWS_OF_BLOCK) \
			write(context, kind, (rows).items + at, \
				(uint32_t)((rows).count - at < ROWS_OF_BLOCK ? (rows).count - at \
															 : ROWS_OF_BLOCK)); \
		(rows).count = 0; \
	} while (0)

void gmt_definitions_flush(struct gmt_definitions *definitions,
	void (*write)(void *context, uint32_t kind, const void *rows, uint32_t count), void *context)
{
	FLUSH(GMT_RECORD_CODE, definitions->code_rows);
	FLUSH(GMT_RECORD_FRAME, definitions->frame_rows);
	FLUSH(GMT_RECORD_FRAMES, definitions->frames_rows);
	FLUSH(GMT_RECORD_STACK, definitions->stack_rows);
	FLUSH(GMT_RECORD_NAME, definitions->name_rows);
	gmt_arena_fini(&definitions->lists);
}

void gmt_definitions_fini(struct gmt_definitions *definitions)
{
	gmt_arena_fini(&definitions->lists);
	gmt_vec_fini(&definitions->code_rows);
	gmt_vec_fini(&definitions->frame_rows);
	gmt_vec_fini(&definitions->frames_rows);
	gmt_vec_fini(&definitions->stack_rows);
	gmt_vec_fini(&definitions->name_rows);
}
