/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIBRARY_TABLES_TABLE_TEXTS_H
#define GMT_LIBRARY_TABLES_TABLE_TEXTS_H

/*
 * Makes the names of stacks, sites and threads for the rows of tables. The texts of a table are
 * interned once, when the table is opened. So all batches have the same dictionary.
 */

#include "library/tables/cursor.h"

/* Indices of a table's columns. GMT_READ_NO_COLUMN: the table does not have the column. */
struct gmt_stack_columns {
	int line, function, operator, module, library;
};

/* The texts of a stack, as numbers in their columns. Below 0: no text. */
struct gmt_stack_texts {
	int32_t line, function, operator, module, library;
};

/* The texts of all stacks of a recording. */
struct gmt_stack_text_table {
	struct gmt_stack_columns columns;
	GMT_VEC(struct gmt_stack_texts) stacks; /* indexed by stack */
	GMT_VEC(bool) has_texts; /* indexed by stack; false: the texts are not interned yet */
};

/*
 * Makes room for all stacks, without texts. When out of memory, sets cursor->failed and returns
 * false. The caller must call gmt_stack_text_table_fini in both cases.
 */
bool gmt_stack_text_table_init(struct gmt_stack_text_table *ret_names,
	struct gmt_read_cursor *cursor, struct gmt_stack_columns columns);

/* Returns the texts of a stack. The first call for a stack interns them. */
const struct gmt_stack_texts *gmt_stack_text_table_get(struct gmt_stack_text_table *names,
	struct gmt_read_cursor *cursor, uint32_t stack);

void gmt_stack_text_table_fini(struct gmt_stack_text_table *names);

/* Returns whether a stack has a frame. Tables have null for stacks without frames. */
bool gmt_stack_has_frames(const struct gmt_read_cursor *cursor, uint32_t stack);

/* The names of a recording's phases, as numbers in their column. */
struct gmt_phase_texts { /* layout of a GMT_VEC */
	int32_t *items;
	size_t count, capacity;
};

/*
 * Interns the names of all phases in a column. Returns false when out of memory. The caller ends
 * `ret_texts` (zeroed) with gmt_vec_fini.
 */
bool gmt_table_texts_of_phases(struct gmt_read_cursor *cursor, int column,
	struct gmt_phase_texts *ret_texts);

/*
 * Writes `file:line` of a frame to `ret_text`, cut to `size` bytes. Without a source file, writes
 * the name of the library. Writes "" if both are unknown.
 */
void gmt_table_text_line(const struct gmt_traces *traces, const struct gmt_place *place,
	char *ret_text, size_t size);

/*
 * Intern the name of a layer (layers.def) or of a space (spaces.def) in a column. The number may
 * come from a newer recorder: an unknown layer is "unknown", an unknown space "space-9".
 */
int32_t gmt_table_text_layer(struct gmt_read_cursor *cursor, int column, uint32_t layer);
int32_t gmt_table_text_space(struct gmt_read_cursor *cursor, int column, uint32_t space);

/* Interns a text in a column. Returns -1 if the text is "" or NULL. */
int32_t gmt_table_text_intern(struct gmt_read_cursor *cursor, int column, const char *text);

#endif
