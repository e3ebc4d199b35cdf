/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIBRARY_ARROW_H
#define GMT_LIBRARY_ARROW_H

/*
 * Arrow schemas and arrays of a table's rows. In the flow: rows -> columns (struct gmt_batch) ->
 * struct ArrowArray. Each column owns its memory, because a consumer may move it out of its batch.
 * The batches of a stream share the dictionaries of their columns: users are counted atomically.
 */

#include <stdatomic.h>

#include "gpumemtrace-read.h"
#include "library/tables/cursor.h"

/* The texts of a column. Freed with its last user. */
struct gmt_dictionary {
	atomic_size_t users;
	size_t count;
	int32_t *offsets; /* count + 1 offsets in bytes */
	char *bytes;
	const void *buffers[3];
};

/* Returns a dictionary with one user; NULL: out of memory, or more than 2 GiB of text. */
struct gmt_dictionary *gmt_dictionary_new(const struct gmt_intern *texts);

/* Removes a user; `dictionary` may be NULL. */
void gmt_dictionary_drop(struct gmt_dictionary *dictionary);

/* A wanted column of a stream. */
struct gmt_stream_column {
	const struct gmt_read_column *about;
	int number; /* in the table */
	struct gmt_dictionary *dictionary; /* of TEXT columns */
};

/* A column of a batch while it is filled. */
struct gmt_column_data {
	void *values;
	uint8_t *validity; /* a bit for each row: 1: it has a value */
	size_t null_count;
	size_t max; /* rows for which there is room */
};

/*
 * Makes room for `max` rows. False: out of memory. End it with gmt_column_fini, unless
 * gmt_column_export took it.
 */
bool gmt_column_init(struct gmt_column_data *ret_column, const struct gmt_stream_column *column,
	size_t max);

/* Adds the column's values of `count` rows after the first `done` rows. */
void gmt_column_add(struct gmt_column_data *column, const struct gmt_stream_column *stream_column,
	const void *rows, size_t row_bytes, size_t done, size_t count);

void gmt_column_fini(struct gmt_column_data *column);

/*
 * Makes an array of the columns, which it owns from then on: `columns` are all zeros. False: out of
 * memory; then the columns are unchanged.
 */
bool gmt_array_export(struct gmt_column_data *columns,
	const struct gmt_stream_column *stream_column, size_t column_count, size_t rows,
	struct ArrowArray *ret_array);

/*
 * Makes the schema of such arrays. `metadata` is pairs of keys and values, and ends with NULL.
 * False: out of memory.
 */
bool gmt_schema_export(const struct gmt_stream_column *columns, size_t column_count,
	const char *const *metadata, struct ArrowSchema *ret_schema);

#endif
