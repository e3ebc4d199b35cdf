/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIBRARY_STREAM_OPTIONS_H
#define GMT_LIBRARY_STREAM_OPTIONS_H

/* The options of a stream (struct gpumemtrace_read_options), after a check against the table. */

#include "gpumemtrace-read.h"
#include "library/tables/cursor.h"

struct gmt_stream_options {
	const struct gmt_read_table *table;
	int columns[GMT_READ_MAX_COLUMNS]; /* column numbers, in the order of the stream */
	size_t column_count;
	struct gmt_read_filter filter;
	uint32_t batch_rows;
};

/* Checks the options (NULL: everything). Fails with GMT_USAGE. */
enum gmt_status gmt_stream_options_read(struct gmt_stream_options *ret_checked, const char *table,
	const struct gpumemtrace_read_options *options, struct gmt_error *error);

#endif
