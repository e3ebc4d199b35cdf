/* SPDX-License-Identifier: MIT */
/* The table `blocks`. */
#include <stdlib.h>

#include "analysis/history/categories.h"
#include "library/tables/table_texts.h"

/* The texts of all blocks of a site. Below 0: no text. */
struct site_texts {
	struct gmt_stack_texts stack;
	int32_t layer, space, owner, category, heap;
	uint32_t stack_id;
	bool has_frames;
};

struct blocks_state {
	struct gmt_events_reader reader;
	size_t next;
	struct gmt_stack_text_table names;
	GMT_VEC(struct site_texts) sites; /* by site id */
	struct gmt_phase_texts phases;          /* by index in the timeline */
	uint32_t made_step, freed_step;   /* results of the last look-ups */
};

GMT_TABLE_FUNCTIONS(blocks)

static bool intern_site(struct gmt_read_cursor *cursor, struct blocks_state *state, uint32_t site)
{
	const struct gmt_pipeline *pipeline = &cursor->recording->pipeline;
	const struct gmt_accounting *accounting = &pipeline->replay.accounting;
	const struct gmt_account_site *account_site = &accounting->sites.items[site];
	const struct gmt_account *account = &accounting->accounts.items[account_site->account];
	const struct gmt_owners *owners = &pipeline->traces.owners;
	struct site_texts *texts = gmt_vec_push(&state->sites);
	uint32_t stack = pipeline->replay.site_stacks.items[site];
	const char *heap = account_site->heap_plus_1
		? pipeline->replay.heaps.items[account_site->heap_plus_1 - 1].name
		: NULL;

	if (!texts)
		return false;
	*texts = (struct site_texts){
		.stack = *gmt_stack_text_table_get(&state->names, cursor, stack),
		.layer = gmt_table_text_layer(cursor, GMT_COLUMN_blocks_layer, account->layer),
		.space = gmt_table_text_space(cursor, GMT_COLUMN_blocks_space,
			accounting->spaces.items[account_site->space].space),
		.owner = gmt_cursor_intern_text(cursor, GMT_COLUMN_blocks_owner,
			gmt_owners_name(owners,
				gmt_owners_find(owners, stack, account->layer, account->device))),
		.category = gmt_cursor_intern_text(cursor, GMT_COLUMN_blocks_category,
			gmt_category_name(gmt_category_of(&pipeline->replay, &pipeline->traces,
				&pipeline->history, site))),
		.heap = gmt_table_text_intern(cursor, GMT_COLUMN_blocks_heap, heap),
		.stack_id = stack,
		.has_frames = gmt_stack_has_frames(cursor, stack),
	};
	return true;
}

bool gmt_open_blocks(struct gmt_read_cursor *cursor)
{
	struct blocks_state *state = cursor->state = calloc(1, sizeof(*state));
	size_t sites = cursor->recording->pipeline.replay.accounting.sites.count;
	bool done = state &&
		gmt_table_texts_of_phases(cursor, GMT_COLUMN_blocks_phase, &state->phases) &&
		gmt_stack_text_table_init(&state->names, cursor,
			(struct gmt_stack_columns){
				.line = GMT_COLUMN_blocks_line,
				.function = GMT_COLUMN_blocks_function,
				.operator = GMT_COLUMN_blocks_operator,
				.module = GMT_COLUMN_blocks_module,
				.library = GMT_READ_NO_COLUMN,
			});

	for (uint32_t i = 0; done && i < sites; i++)
		done = intern_site(cursor, state, i);
	return done &&
		gmt_events_reader_init(&state->reader, &cursor->recording->blocks.blocks, GMT_EVENTS_ALL) &&
		!cursor->failed;
}

static void set_freed(const struct gmt_read_cursor *cursor, struct blocks_state *state,
	const struct gmt_listed_block *block, struct gmt_row_blocks *row)
{
	const struct gmt_pipeline *pipeline = &cursor->recording->pipeline;
	bool is_freed = block->end_stamp != UINT64_MAX;
	bool has_step = is_freed &&
		gmt_series_find_next(&pipeline->timeline.series[0], block->end_stamp, &state->freed_step);
	uint32_t stack = block->free_trace_plus_1
		? pipeline->traces.stack_of_trace[block->free_trace_plus_1 - 1]
		: 0;

	GMT_SET_KNOWN(row, blocks, freed_time_ns, is_freed,
		gmt_read_recording_time_ns(cursor->recording, block->end_stamp));
	GMT_SET_KNOWN(row, blocks, freed_step, has_step, state->freed_step);
	GMT_SET_KNOWN(row, blocks, freed_stack_id,
		block->free_trace_plus_1 && gmt_stack_has_frames(cursor, stack), stack);
}

static void set_site(const struct blocks_state *state, const struct gmt_listed_block *block,
	struct gmt_row_blocks *row)
{
	const struct site_texts *texts = &state->sites.items[block->site];

	row->layer = texts->layer;
	row->space = texts->space;
	row->device = block->device;
	row->site_id = block->site;
	row->owner = texts->owner;
	row->category = texts->category;
	GMT_SET_KNOWN(row, blocks, stack_id, texts->has_frames, texts->stack_id);
	GMT_SET_KNOWN(row, blocks, line, texts->stack.line >= 0, texts->stack.line);
	GMT_SET_KNOWN(row, blocks, function, texts->stack.function >= 0, texts->stack.function);
	GMT_SET_KNOWN(row, blocks, operator, texts->stack.operator >= 0, texts->stack.operator);
	GMT_SET_KNOWN(row, blocks, module, texts->stack.module >= 0, texts->stack.module);
	GMT_SET_KNOWN(row, blocks, heap, texts->heap >= 0, texts->heap);
}

/* Returns false if the filter does not let the block pass. */
static bool set_row(const struct gmt_read_cursor *cursor, struct blocks_state *state,
	const struct gmt_listed_block *block, struct gmt_row_blocks *row)
{
	const struct gmt_timeline *timeline = &cursor->recording->pipeline.timeline;
	uint64_t made = block->begin_stamp;
	int64_t made_ns = gmt_read_recording_time_ns(cursor->recording, made);
	const struct gmt_phase *phase;
	bool has_step;

	if (!gmt_filter_device(cursor, block->device) || !gmt_filter_layer(cursor, block->layer) ||
		!gmt_filter_time(cursor, made_ns))
		return false;
	has_step = gmt_series_find_next(&timeline->series[0], made, &state->made_step);
	if (!gmt_filter_step(cursor, has_step, state->made_step))
		return false;
	*row = (struct gmt_row_blocks){
		.address = block->address, .size_bytes = block->size_bytes, .made_time_ns = made_ns
	};
	GMT_SET_KNOWN(row, blocks, made_step, has_step, state->made_step);
	set_freed(cursor, state, block, row);
	set_site(state, block, row);
	phase = gmt_timeline_phase(timeline, made, false);
	GMT_SET_KNOWN(row, blocks, phase, phase, state->phases.items[phase - timeline->phases.items]);
	return true;
}

size_t gmt_read_blocks(struct gmt_read_cursor *cursor, void *ret_rows, size_t max)
{
	struct blocks_state *state = cursor->state;
	const struct gmt_events *blocks = &cursor->recording->blocks.blocks;
	struct gmt_row_blocks *rows = ret_rows;
	size_t count = 0;

	for (; state->next < blocks->count && count < max; state->next++) {
		struct gmt_listed_block block = gmt_listed_block(&state->reader, state->next);

		count += set_row(cursor, state, &block, &rows[count]);
	}
	cursor->failed |= gmt_events_failed(blocks);
	return count;
}

void gmt_close_blocks(struct gmt_read_cursor *cursor)
{
	struct blocks_state *state = cursor->state;

	if (!state)
		return;
	gmt_events_reader_fini(&state->reader);
	gmt_stack_text_table_fini(&state->names);
	gmt_vec_fini(&state->sites);
	gmt_vec_fini(&state->phases);
	free(state);
}
