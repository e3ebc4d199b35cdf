/* SPDX-License-Identifier: MIT */
#ifndef GMT_IMPORT_CSV_CSV_LOG_H
#define GMT_IMPORT_CSV_CSV_LOG_H

/* The columns of a log, and the values of a row. */

#include "import/csv/csv_rows.h"

enum gmt_csv_column {
#define GMT_CSV_COLUMN(NAME, names) GMT_CSV_##NAME,
#include "import/csv/csv_columns.def"
#undef GMT_CSV_COLUMN
	GMT_CSV_COLUMNS,
};

/* For each column: the number of its field, plus 1. 0: the log does not have it. */
struct gmt_csv_header {
	uint32_t field_plus_1[GMT_CSV_COLUMNS];
	uint32_t fields; /* number of fields of each row */
};

enum gmt_csv_operation { GMT_CSV_ALLOC, GMT_CSV_FREE, GMT_CSV_FAILED };

struct gmt_csv_row {
	enum gmt_csv_operation operation;
	uint64_t time_ns, pointer, size_bytes, stream;
	int16_t device; /* -1: host memory */
	/* Empty if the log does not have them. */
	struct gmt_csv_field thread, stack;
};

/* Reads the header from the first row. Errors name the line. */
enum gmt_status gmt_csv_read_header(const struct gmt_csv *csv, struct gmt_csv_header *ret_header,
	struct gmt_error *error);

/* Reads the values of a row. */
enum gmt_status gmt_csv_read_row(const struct gmt_csv *csv, const struct gmt_csv_header *header,
	struct gmt_csv_row *ret_row, struct gmt_error *error);

#endif
