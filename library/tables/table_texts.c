/* SPDX-License-Identifier: MIT */
#include "library/tables/table_texts.h"

#include <stdio.h>

#include "analysis/tables/stack_names.h"
#include "base/text.h"
#include "render/memory_names.h"

enum { NAME_BYTES = 240, LINE_BYTES = 4096 };

bool gmt_stack_has_frames(const struct gmt_read_cursor *cursor, uint32_t stack)
{
	uint32_t count;

	gmt_traces_stack(&cursor->recording->pipeline.traces, stack, &count);
	return count;
}

int32_t gmt_table_text_intern(struct gmt_read_cursor *cursor, int column, const char *text)
{
	return text && *text ? gmt_cursor_intern_text(cursor, column, text) : -1;
}

int32_t gmt_table_text_layer(struct gmt_read_cursor *cursor, int column, uint32_t layer)
{
	const char *name = gmt_layer_name(layer);

	return gmt_cursor_intern_text(cursor, column, name ? name : "unknown");
}

int32_t gmt_table_text_space(struct gmt_read_cursor *cursor, int column, uint32_t space)
{
	return gmt_cursor_intern_text(cursor, column, gmt_space_text(space).text);
}

void gmt_table_text_line(const struct gmt_traces *traces, const struct gmt_place *place,
	char *ret_text, size_t size)
{
	const char *file = gmt_traces_string(traces, place->file);

	if (!*file)
		file = gmt_traces_string(traces, place->module);
	if (place->line)
		snprintf(ret_text, size, "%s:%u", file, place->line);
	else
		snprintf(ret_text, size, "%s", file);
}

bool gmt_stack_text_table_init(struct gmt_stack_text_table *ret_names,
	struct gmt_read_cursor *cursor, struct gmt_stack_columns columns)
{
	size_t count = cursor->recording->pipeline.traces.stacks.entries.count;

	*ret_names = (struct gmt_stack_text_table){ .columns = columns };
	/* The new entries are all zeros. */
	if (!gmt_vec_reserve(&ret_names->stacks, count + 1) ||
		!gmt_vec_reserve(&ret_names->has_texts, count + 1))
		cursor->failed = true;
	return !cursor->failed;
}

static int32_t intern_if(struct gmt_read_cursor *cursor, int column, const char *text)
{
	return column >= 0 && gmt_cursor_wants(cursor, column)
		? gmt_table_text_intern(cursor, column, text)
		: -1;
}

static bool wants(const struct gmt_read_cursor *cursor, int column)
{
	return column >= 0 && gmt_cursor_wants(cursor, column);
}

const struct gmt_stack_texts *gmt_stack_text_table_get(struct gmt_stack_text_table *names,
	struct gmt_read_cursor *cursor, uint32_t stack)
{
	const struct gmt_traces *traces = &cursor->recording->pipeline.traces;
	struct gmt_stack_texts *texts = &names->stacks.items[stack];
	char name[NAME_BYTES], line[LINE_BYTES];
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);

	if (names->has_texts.items[stack])
		return texts;
	names->has_texts.items[stack] = true;
	*texts = (struct gmt_stack_texts){ -1, -1, -1, -1, -1 };
	if (!count)
		return texts;

	const struct gmt_place *own =
		gmt_traces_place(traces, places[gmt_traces_own_line(traces, stack)]);

	gmt_table_text_line(traces, own, line, sizeof(line));
	texts->line = intern_if(cursor, names->columns.line, line);
	texts->function =
		intern_if(cursor, names->columns.function, gmt_traces_string(traces, own->function));
	if (wants(cursor, names->columns.operator)) {
		gmt_stack_operator(traces, stack, name, sizeof(name));
		texts->operator = gmt_table_text_intern(cursor, names->columns.operator, name);
	}
	if (wants(cursor, names->columns.module)) {
		gmt_stack_module(traces, stack, name, sizeof(name));
		texts->module = gmt_table_text_intern(cursor, names->columns.module, name);
	}
	if (wants(cursor, names->columns.library)) {
		gmt_stack_library(traces, stack, name, sizeof(name));
		texts->library = gmt_table_text_intern(cursor, names->columns.library, name);
	}
	return texts;
}

void gmt_stack_text_table_fini(struct gmt_stack_text_table *names)
{
	gmt_vec_fini(&names->stacks);
	gmt_vec_fini(&names->has_texts);
}

bool gmt_table_texts_of_phases(struct gmt_read_cursor *cursor, int column,
	struct gmt_phase_texts *ret_texts)
{
	const struct gmt_timeline *timeline = &cursor->recording->pipeline.timeline;

	for (size_t i = 0; i < timeline->phases.count; i++) {
		int32_t *text = gmt_vec_push(ret_texts);

		if (!text)
			return false;
		*text = gmt_cursor_intern_text(cursor, column, timeline->phases.items[i].name);
	}
	return true;
}
