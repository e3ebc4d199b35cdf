/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIBRARY_TABLES_TABLES_H
#define GMT_LIBRARY_TABLES_TABLES_H

/*
 * The tables of tables.def in C: a structure for the rows of each table, a number for each column,
 * and a description of both for the code that turns rows into Arrow arrays.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GMT_READ_TABLES_VERSION = 1, /* increases if a column changes its meaning, type or name */
	GMT_READ_MAX_COLUMNS = 32,   /* at least the columns of any table */
	GMT_READ_NO_COLUMN = -1,
};

/* The analyses that a table needs before it makes rows. Each value includes the previous ones. */
enum gmt_read_work { GMT_WORK_FILE, GMT_WORK_NAMES, GMT_WORK_REPLAY };

enum gmt_read_filters {
	GMT_FILTER_NONE = 0,
	GMT_FILTER_TIME = 1 << 0,
	GMT_FILTER_STEP = 1 << 1,
	GMT_FILTER_DEVICE = 1 << 2,
	GMT_FILTER_LAYER = 1 << 3,
};

enum gmt_read_type {
	GMT_TYPE_I64,
	GMT_TYPE_U64,
	GMT_TYPE_I32,
	GMT_TYPE_U32,
	GMT_TYPE_F64,
	GMT_TYPE_BOOL,
	GMT_TYPE_TEXT, /* in a row: the number of the text (gmt_cursor_intern_text) */
};

/* The type of a column in a row. */
typedef int64_t gmt_cell_I64;
typedef uint64_t gmt_cell_U64;
typedef int32_t gmt_cell_I32;
typedef uint32_t gmt_cell_U32;
typedef double gmt_cell_F64;
typedef bool gmt_cell_BOOL;
typedef int32_t gmt_cell_TEXT;

/* struct gmt_row_events ...: bit number C of `nulls` says that column number C is null. */
#define GMT_READ_TABLE(name, work, filters, meaning) \
	struct gmt_row_##name { \
		uint64_t nulls;
#define GMT_READ_COLUMN(table, type, name, work, nulls, meaning) gmt_cell_##type name;
#define GMT_READ_END(name) \
	} \
	;
#include "library/tables/tables.def"
#undef GMT_READ_TABLE
#undef GMT_READ_COLUMN
#undef GMT_READ_END

/* GMT_COLUMN_events_time_ns ...: the number of a column in its table. */
#define GMT_READ_TABLE(name, work, filters, meaning) enum {
#define GMT_READ_COLUMN(table, type, name, work, nulls, meaning) GMT_COLUMN_##table##_##name,
#define GMT_READ_END(name) \
	GMT_COLUMNS_##name \
	} \
	;
#include "library/tables/tables.def"
#undef GMT_READ_TABLE
#undef GMT_READ_COLUMN
#undef GMT_READ_END

/* Sets a cell of a row (struct gmt_row_TABLE *) to null. */
#define GMT_SET_NULL(row, table, column) \
	((row)->nulls |= UINT64_C(1) << GMT_COLUMN_##table##_##column)

/* Sets a cell of a row to a value, or to null if the value is unknown. */
#define GMT_SET_KNOWN(row, table, column, is_known, value) \
	do { \
		if (is_known) \
			(row)->column = (value); \
		else \
			GMT_SET_NULL(row, table, column); \
	} while (0)

struct gmt_read_column {
	const char *name;
	enum gmt_read_type type;
	enum gmt_read_work work;
	bool has_nulls;
	size_t offset; /* in the row */
};

struct gmt_read_cursor; /* library/tables/cursor.h */

/* The functions of a table: how its rows are made. They hold the recording's lock. */
struct gmt_read_table {
	const char *name;
	enum gmt_read_work work;
	unsigned filters; /* enum gmt_read_filters */
	const struct gmt_read_column *columns;
	size_t column_count;
	size_t row_bytes;
	/*
	 * Prepares the cursor. All texts of the table are interned here. False: out of memory; `close`
	 * is called in both cases.
	 */
	bool (*open)(struct gmt_read_cursor *cursor);
	/* Writes the next rows, at most `max`. Returns their number; 0: there are no more. */
	size_t (*read)(struct gmt_read_cursor *cursor, void *ret_rows, size_t max);
	void (*close)(struct gmt_read_cursor *cursor);
};

/* Returns table `index`, or NULL after the last one. */
const struct gmt_read_table *gmt_read_table_at(size_t index);

/* Returns the table with this name, or NULL. */
const struct gmt_read_table *gmt_read_table_find(const char *name);

/* Returns the number of the table's column with this name, or GMT_READ_NO_COLUMN. */
int gmt_read_column_find(const struct gmt_read_table *table, const char *name);

#endif
