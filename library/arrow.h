/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIBRARY_ARROW_H
#define GMT_LIBRARY_ARROW_H

/*
 * Arrow schemas and arrays of a table's rows. In the flow: rows -> columns (struct
 * gmt_column_data) -> struct ArrowArray. Each column owns its memory, because a consumer may move
 * the column out of its batch. The batches of a stream share the dictionaries of their columns,
 * with an atomic reference count.
 */

#include <stdatomic.h>

#include "gpumemtrace-read.h"
#include "library/tables/cursor.h"

/* The texts of a column, with a reference count. */
struct gmt_dictionary {
	atomic_size_t users;
	size_t count;
	int32_t *offsets; /* count + 1 offsets in bytes */
	char *bytes;
	const void *buffers[3];
};

/* Returns a dictionary with one reference; NULL: out of memory, or more than 2 GiB of text. */
struct gmt_dictionary *gmt_dictionary_new(const struct gmt_intern *texts);

/* Removes a reference, and frees the dictionary after the last one. It may be NULL. */
void gmt_dictionary_unref(struct gmt_dictionary *dictionary);

/* A column that the stream contains. */
struct gmt_stream_column {
	const struct gmt_read_column *description;
	int number; /* column number in the table */
	struct gmt_dictionary *dictionary; /* of TEXT columns */
};

/* A column of a batch while it is filled. */
struct gmt_column_data {
	void *values;
	uint8_t *validity; /* a bit for each row; 1: the row has a value */
	size_t null_count;
	size_t max_rows;
};

/*
 * Makes room for `max_rows` rows. Returns false when out of memory. The caller ends the column with
 * gmt_column_fini, unless gmt_array_export took it.
 */
bool gmt_column_init(struct gmt_column_data *ret_column, const struct gmt_stream_column *column,
	size_t max_rows);

/* Adds the column's values of `count` rows after the first `done` rows. */
void gmt_column_add(struct gmt_column_data *column, const struct gmt_stream_column *stream_column,
	const void *rows, size_t row_bytes, size_t done, size_t count);

void gmt_column_fini(struct gmt_column_data *column);

/*
 * Makes an array that takes ownership of the columns: `columns` are all zeros afterwards. Returns
 * false when out of memory; the columns not yet taken are unchanged.
 */
bool gmt_array_export(struct gmt_column_data *columns,
	const struct gmt_stream_column *stream_column, size_t column_count, size_t rows,
	struct ArrowArray *ret_array);

/*
 * Makes the schema of these arrays. `metadata` is pairs of keys and values, ended by NULL. Returns
 * false when out of memory.
 */
bool gmt_schema_export(const struct gmt_stream_column *columns, size_t column_count,
	const char *const *metadata, struct ArrowSchema *ret_schema);

#endif
