/* SPDX-License-Identifier: MIT */
/* The tables `stacks` and `frames`. */
#include <stdlib.h>

#include "library/tables/table_texts.h"

GMT_TABLE_FUNCTIONS(stacks)
GMT_TABLE_FUNCTIONS(frames)

static bool add_stack(struct gmt_read_cursor *cursor, struct gmt_stack_text_table *names,
	uint32_t stack)
{
	const struct gmt_traces *traces = &cursor->recording->pipeline.traces;
	const struct gmt_stack_texts *texts = gmt_stack_text_table_get(names, cursor, stack);
	struct gmt_row_stacks *row;
	uint32_t count;

	gmt_traces_stack(traces, stack, &count);
	if (!count)
		return true;
	row = gmt_cursor_add_row(cursor);
	if (!row)
		return false;
	row->stack_id = stack;
	row->frames = count;
	row->has_python = gmt_traces_has_python(traces, stack);
	row->own_frame = gmt_traces_own_line(traces, stack);
	row->line =
		texts->line >= 0 ? texts->line : gmt_cursor_intern_text(cursor, GMT_COLUMN_stacks_line, "");
	row->function = texts->function >= 0
		? texts->function
		: gmt_cursor_intern_text(cursor, GMT_COLUMN_stacks_function, "");
	GMT_SET_KNOWN(row, stacks, operator, texts->operator >= 0, texts->operator);
	GMT_SET_KNOWN(row, stacks, module, texts->module >= 0, texts->module);
	GMT_SET_KNOWN(row, stacks, library, texts->library >= 0, texts->library);
	return true;
}

bool gmt_open_stacks(struct gmt_read_cursor *cursor)
{
	struct gmt_stack_text_table names;
	bool done = gmt_stack_text_table_init(&names, cursor,
		(struct gmt_stack_columns){
			.line = GMT_COLUMN_stacks_line,
			.function = GMT_COLUMN_stacks_function,
			.operator = GMT_COLUMN_stacks_operator,
			.module = GMT_COLUMN_stacks_module,
			.library = GMT_COLUMN_stacks_library,
		});

	for (uint32_t i = 0; done && i < cursor->recording->pipeline.traces.stacks.entries.count; i++)
		done = add_stack(cursor, &names, i);
	gmt_stack_text_table_fini(&names);
	return done && !cursor->failed;
}

GMT_ROWS_ARE_MADE_AT_OPEN(stacks)

struct place_texts {
	int32_t function, file, library; /* below 0: unknown */
};

struct frames_state {
	GMT_VEC(struct place_texts) places; /* by place */
	int32_t kinds[2];                   /* by enum gmt_place_kind */
	uint32_t stack, depth;              /* of the next row */
};

bool gmt_open_frames(struct gmt_read_cursor *cursor)
{
	struct frames_state *state = cursor->state = calloc(1, sizeof(*state));
	const struct gmt_traces *traces = &cursor->recording->pipeline.traces;

	for (uint32_t i = 0; state && i < traces->places.entries.count; i++) {
		const struct gmt_place *place = gmt_traces_place(traces, i);
		struct place_texts *texts = gmt_vec_push(&state->places);

		if (!texts)
			return false;
		*texts = (struct place_texts){
			.function = gmt_cursor_intern_text(cursor, GMT_COLUMN_frames_function,
				gmt_traces_string(traces, place->function)),
			.file = gmt_table_text_intern(cursor, GMT_COLUMN_frames_file,
				gmt_traces_string(traces, place->file)),
			.library = gmt_table_text_intern(cursor, GMT_COLUMN_frames_library,
				gmt_traces_string(traces, place->module)),
		};
		state->kinds[place->kind] = gmt_cursor_intern_text(cursor, GMT_COLUMN_frames_kind,
			place->kind == GMT_PLACE_PYTHON ? "python" : "native");
	}
	return state && !cursor->failed;
}

size_t gmt_read_frames(struct gmt_read_cursor *cursor, void *ret_rows, size_t max)
{
	struct frames_state *state = cursor->state;
	const struct gmt_traces *traces = &cursor->recording->pipeline.traces;
	struct gmt_row_frames *rows = ret_rows;
	size_t count = 0;

	for (; state->stack < traces->stacks.entries.count; state->stack++, state->depth = 0) {
		uint32_t frames;
		const uint32_t *places = gmt_traces_stack(traces, state->stack, &frames);

		for (; state->depth < frames; state->depth++) {
			const struct place_texts *texts = &state->places.items[places[state->depth]];
			const struct gmt_place *place = gmt_traces_place(traces, places[state->depth]);
			struct gmt_row_frames *row = &rows[count];

			if (count == max)
				return count;
			*row = (struct gmt_row_frames){
				.stack_id = state->stack,
				.depth = state->depth,
				.kind = state->kinds[place->kind],
				.function = texts->function,
			};
			GMT_SET_KNOWN(row, frames, file, texts->file >= 0, texts->file);
			GMT_SET_KNOWN(row, frames, line_number, place->line, place->line);
			GMT_SET_KNOWN(row, frames, library, texts->library >= 0, texts->library);
			count++;
		}
	}
	return count;
}

void gmt_close_frames(struct gmt_read_cursor *cursor)
{
	struct frames_state *state = cursor->state;

	if (state)
		gmt_vec_fini(&state->places);
	free(state);
}
