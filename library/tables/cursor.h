/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIBRARY_TABLES_CURSOR_H
#define GMT_LIBRARY_TABLES_CURSOR_H

/*
 * A cursor reads the rows of one table once, from first to last. It contains the filter, the
 * columns, and the texts that the rows refer to. The caller of each function here holds the
 * recording's lock.
 */

#include "containers/intern.h"
#include "containers/vec.h"
#include "library/tables/recording.h"

/* Selects rows. */
struct gmt_read_filter {
	unsigned wanted; /* enum gmt_read_filters: the filters that apply */
	int64_t begin_time_ns, end_time_ns; /* begin <= time < end */
	int64_t begin_step, end_step;       /* begin <= step < end */
	int32_t device;
	uint32_t layer;
};

struct gmt_read_cursor {
	struct gpumemtrace_recording *recording;
	const struct gmt_read_table *table;
	struct gmt_read_filter filter;
	uint64_t columns; /* columns to read: bit n is column n */
	struct gmt_intern texts[GMT_READ_MAX_COLUMNS]; /* of each TEXT column */
	/* for tables that make all rows in `open`: these rows, and the next row to read */
	GMT_VEC(uint8_t) rows;
	size_t next_row;
	void *state;  /* of the table's functions */
	bool failed;  /* out of memory, or the events cannot be read back */
};

static inline bool gmt_cursor_wants(const struct gmt_read_cursor *cursor, int column)
{
	return cursor->columns >> column & 1;
}

/*
 * Returns the number of a text in a TEXT column. Stores the text if it is new. Bytes that are not
 * UTF-8 become U+FFFD. When out of memory, returns 0 and sets cursor->failed.
 */
int32_t gmt_cursor_intern_text(struct gmt_read_cursor *cursor, int column, const char *text);

/* Return whether the filter accepts a row with this time, step, device or layer. */
static inline bool gmt_filter_time(const struct gmt_read_cursor *cursor, int64_t time_ns)
{
	return !(cursor->filter.wanted & GMT_FILTER_TIME) ||
		(time_ns >= cursor->filter.begin_time_ns && time_ns < cursor->filter.end_time_ns);
}

static inline bool gmt_filter_step(const struct gmt_read_cursor *cursor, bool is_known,
	uint32_t step)
{
	return !(cursor->filter.wanted & GMT_FILTER_STEP) ||
		(is_known && step >= cursor->filter.begin_step && step < cursor->filter.end_step);
}

static inline bool gmt_filter_device(const struct gmt_read_cursor *cursor, int32_t device)
{
	return !(cursor->filter.wanted & GMT_FILTER_DEVICE) || device == cursor->filter.device;
}

static inline bool gmt_filter_layer(const struct gmt_read_cursor *cursor, uint32_t layer)
{
	return !(cursor->filter.wanted & GMT_FILTER_LAYER) || layer == cursor->filter.layer;
}

/*
 * Adds a row of zeros, in the `open` function of a table. Returns the row. When out of memory,
 * returns NULL and sets cursor->failed.
 */
void *gmt_cursor_add_row(struct gmt_read_cursor *cursor);

/* Copies up to `max` of the added rows, and returns their number. */
size_t gmt_cursor_read_rows(struct gmt_read_cursor *cursor, void *ret_rows, size_t max);

/* Defines `read` and `close` for a table that makes all rows in `open`. */
#define GMT_ROWS_ARE_MADE_AT_OPEN(name) \
	size_t gmt_read_##name(struct gmt_read_cursor *cursor, void *ret_rows, size_t max) \
	{ \
		return gmt_cursor_read_rows(cursor, ret_rows, max); \
	} \
	void gmt_close_##name(struct gmt_read_cursor *cursor) \
	{ \
		(void)cursor; \
	}

/* Declares the functions of a table. tables.c has the list of all tables. */
#define GMT_TABLE_FUNCTIONS(name) \
	bool gmt_open_##name(struct gmt_read_cursor *cursor); \
	size_t gmt_read_##name(struct gmt_read_cursor *cursor, void *ret_rows, size_t max); \
	void gmt_close_##name(struct gmt_read_cursor *cursor);

/* Frees the memory of the cursor. Does not free `state`. */
void gmt_cursor_fini(struct gmt_read_cursor *cursor);

#endif
