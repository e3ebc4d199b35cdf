/* SPDX-License-Identifier: MIT */
#ifndef GMT_IMPORT_CSV_CSV_ROWS_H
#define GMT_IMPORT_CSV_CSV_ROWS_H

/*
 * Splits comma-separated values into rows and fields (RFC 4180). Blanks around fields, empty lines
 * and lines that begin with '#' are skipped. A field in quotes may contain commas, quotes (doubled)
 * and line breaks.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "containers/vec.h"

/* Borrows from the bytes, or from `unquoted`. Does not end with NUL. */
struct gmt_csv_field {
	const char *text;
	uint32_t length;
};

struct gmt_csv {
	const char *at, *end;
	uint64_t line; /* number of the line in which the current row begins, from 1 */
	uint64_t next_line;
	GMT_VEC(struct gmt_csv_field) fields;
	GMT_VEC(char) unquoted; /* texts of fields with doubled quotes */
};

/* Starts at the beginning of the bytes, which must stay valid. `ret_csv` is zeroed. */
void gmt_csv_begin(struct gmt_csv *ret_csv, const void *bytes, size_t length);

/*
 * Reads the next row into csv->fields. Returns GMT_END after the last row, GMT_FORMAT if quotes do
 * not close or a row has too many fields, or GMT_NO_MEMORY.
 */
enum gmt_status gmt_csv_next(struct gmt_csv *csv, struct gmt_error *error);

void gmt_csv_fini(struct gmt_csv *csv);

#endif
