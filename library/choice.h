/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIBRARY_CHOICE_H
#define GMT_LIBRARY_CHOICE_H

/* What a stream is to have: struct gpumemtrace_read_options, checked against the table. */

#include "gpumemtrace-read.h"
#include "library/cursor.h"

struct gmt_choice {
	const struct gmt_read_table *table;
	int columns[GMT_READ_MAX_COLUMNS]; /* their numbers, in the wanted order */
	size_t column_count;
	struct gmt_read_filter filter;
	uint32_t batch_rows;
};

/* Checks the options (NULL: everything). Fails with GMT_USAGE. */
enum gmt_status gmt_choice_read(struct gmt_choice *ret_choice, const char *table,
	const struct gpumemtrace_read_options *options, struct gmt_error *error);

#endif
