/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIBRARY_NAMES_H
#define GMT_LIBRARY_NAMES_H

/*
 * What stacks, sites and threads are called in the rows of tables: the texts of a table are
 * interned once, when it is opened, so that all batches have one dictionary.
 */

#include "library/cursor.h"

/* The numbers of a table's columns; GMT_READ_NO_COLUMN: the table has no such column. */
struct gmt_name_columns {
	int line, function, operator, module, library;
};

/* The texts of a stack; below 0: none. */
struct gmt_stack_texts {
	int32_t line, function, operator, module, library;
};

/* The texts of all stacks of a recording, by stack. */
struct gmt_stack_names {
	struct gmt_name_columns columns;
	GMT_VEC(struct gmt_stack_texts) stacks;
	GMT_VEC(bool) has_texts; /* by stack */
};

/* Makes room for all stacks, without texts. False: out of memory; then cursor->failed is set. */
bool gmt_stack_names_init(struct gmt_stack_names *ret_names, struct gmt_read_cursor *cursor,
	struct gmt_name_columns columns);

/* Interns the texts of a stack, unless that was done, and returns them. */
const struct gmt_stack_texts *gmt_stack_names_get(struct gmt_stack_names *names,
	struct gmt_read_cursor *cursor, uint32_t stack);

void gmt_stack_names_fini(struct gmt_stack_names *names);

/* Returns whether a stack has a frame: stacks without one are null in tables. */
bool gmt_has_frames(const struct gmt_read_cursor *cursor, uint32_t stack);

/* Returns the text `file:line` of a frame in `ret_text`, cut to `size` bytes. "": unknown. */
void gmt_name_line(const struct gmt_traces *traces, const struct gmt_place *place, char *ret_text,
	size_t size);

/*
 * Return the number of a name in a column, for a number of format/: of a layer, a space or a kind.
 * A number that this version does not know has the name "space-9".
 */
int32_t gmt_name_layer(struct gmt_read_cursor *cursor, int column, uint32_t layer);
int32_t gmt_name_space(struct gmt_read_cursor *cursor, int column, uint32_t space);

/* Returns the number of a text in a column; -1: the text is "" or NULL. */
int32_t gmt_name_known(struct gmt_read_cursor *cursor, int column, const char *text);

#endif
