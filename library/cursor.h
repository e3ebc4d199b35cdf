/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIBRARY_CURSOR_H
#define GMT_LIBRARY_CURSOR_H

/*
 * A pass over the rows of one table: which rows and columns are wanted, and the texts that they
 * refer to. The functions of this header hold the recording's lock.
 */

#include "containers/intern.h"
#include "containers/vec.h"
#include "library/recording.h"

/* The rows that are wanted. */
struct gmt_read_filter {
	unsigned wanted; /* enum gmt_read_filters: the filters that are in force */
	int64_t begin_time_ns, end_time_ns; /* from the first on, before the second */
	int64_t begin_step, end_step;       /* the same */
	int32_t device;
	uint32_t layer;
};

struct gmt_read_cursor {
	struct gpumemtrace_recording *recording;
	const struct gmt_read_table *table;
	struct gmt_read_filter filter;
	uint64_t columns; /* bits by number: the columns that are wanted */
	struct gmt_intern texts[GMT_READ_MAX_COLUMNS]; /* by column: what its numbers stand for */
	/* of a table whose rows `open` makes: the rows, and the next one */
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
 * Stores a text in a TEXT column, unless it is stored, and returns its number. Bytes that are not
 * UTF-8 become U+FFFD. When out of memory, returns 0 and sets cursor->failed.
 */
int32_t gmt_cursor_intern_text(struct gmt_read_cursor *cursor, int column, const char *text);

/* Return whether the filter lets a row pass, by one of its values. */
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

/* Returns a new row, all zeros, of a table whose rows `open` makes. NULL: sets cursor->failed. */
void *gmt_cursor_add_row(struct gmt_read_cursor *cursor);

/* The functions `read` and `close` of a table whose rows `open` makes. */
size_t gmt_cursor_read_rows(struct gmt_read_cursor *cursor, void *ret_rows, size_t max);

#define GMT_ROWS_ARE_MADE_AT_OPEN(name) \
	size_t gmt_read_##name(struct gmt_read_cursor *cursor, void *ret_rows, size_t max) \
	{ \
		return gmt_cursor_read_rows(cursor, ret_rows, max); \
	} \
	void gmt_close_##name(struct gmt_read_cursor *cursor) \
	{ \
		(void)cursor; \
	}

/* The functions of a table, which tables.c lists. */
#define GMT_TABLE_FUNCTIONS(name) \
	bool gmt_open_##name(struct gmt_read_cursor *cursor); \
	size_t gmt_read_##name(struct gmt_read_cursor *cursor, void *ret_rows, size_t max); \
	void gmt_close_##name(struct gmt_read_cursor *cursor);

/* Frees what the cursor holds, without `state`. */
void gmt_cursor_fini(struct gmt_read_cursor *cursor);

#endif
