/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_DECODE_COLUMNS_H
#define GMT_FORMAT_ENCODING_DECODE_COLUMNS_H

/*
 * Decodes a block of numbers column by column, as the file stores them. So a reader of a file's
 * millions of events never builds rows. In the flow: source -> columns -> load. decode_rows.h
 * builds rows instead. A column with the same value in all rows is stored as one number.
 * One thread.
 */

#include <stdint.h>

#include "base/status.h"
#include "containers/vec.h"
#include "format/encoding/block.h"
#include "format/format.h"

/* A column with 64 bits per number; a negative number modulo 2^64. */
struct gmt_cells {
	const uint64_t *values;
	size_t stride; /* distance from one row's value to the next; 0: all rows share one value */
};

/* Zero-initialise before use. The structure must not move afterwards. */
struct gmt_columns {
	/* indexed by the field's number in its record; further entries are undefined */
	struct gmt_cells cells[GMT_RECORD_MAX_FIELDS];
	uint32_t count; /* number of rows */
	uint64_t same[GMT_RECORD_MAX_FIELDS]; /* the values of columns with one shared value */
	GMT_VEC(uint64_t) values;             /* the values of all other columns */
};

/* GMT_COLUMN_event_stamp, ...: the numbers of fields. */
#define GMT_RECORD(number, name, NAME, meaning) \
	enum gmt_##name##_column \
	{
#define GMT_FIELD(record, name, encoding, type, meaning) GMT_COLUMN_##record##_##name,
#define GMT_RECORD_END(name) \
	} \
	;
#include "format/records.def"
#undef GMT_RECORD
#undef GMT_FIELD
#undef GMT_RECORD_END

static inline uint64_t gmt_cell(const struct gmt_cells *cells, size_t row)
{
	return cells->values[row * cells->stride];
}

/*
 * Decodes a block of a kind that gmt_record_info knows and whose fields are all numeric. The result
 * in *columns is valid until the next call. Columns that the block lacks are zero. Events have
 * absolute totals. Fails like gmt_decode_rows.
 */
enum gmt_status gmt_decode_columns(struct gmt_columns *columns, const struct gmt_block *block,
	struct gmt_error *error);

/* Gives every row of a decoded column its own value, which the caller may change. */
static inline uint64_t *gmt_columns_expand(struct gmt_columns *columns, uint32_t field)
{
	struct gmt_cells *cells = &columns->cells[field];
	uint64_t *to = columns->values.items + (size_t)field * columns->count, same = *cells->values;

	if (cells->stride)
		return to;
	for (uint32_t i = 0; i < columns->count; i++)
		to[i] = same;
	*cells = (struct gmt_cells){ .values = to, .stride = 1 };
	return to;
}

void gmt_columns_fini(struct gmt_columns *columns);

#endif
