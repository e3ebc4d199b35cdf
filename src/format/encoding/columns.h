/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_COLUMNS_H
#define GMT_FORMAT_ENCODING_COLUMNS_H

/*
 * A block of numbers, column by column as the file has it: who reads a file's millions of events never makes rows of
 * them. In the flow: source -> columns -> load, beside decode, which makes rows. A column that is the same in all
 * rows is one number. One thread.
 */

#include <stdint.h>

#include "base/status.h"
#include "containers/vec.h"
#include "format/encoding/block.h"
#include "format/format.h"

/* A column, each number in 64 bits; a negative one modulo 2^64. */
struct gmt_cells {
	const uint64_t *values;
	size_t step; /* from one row's to the next; 0: all rows have the same */
};

/* Zero-initialise to make one; it stays where it is. */
struct gmt_columns {
	struct gmt_cells cells[GMT_RECORD_MAX_FIELDS]; /* by the field's number in its record; of those behind them, nothing */
	uint32_t count; /* rows */
	uint64_t same[GMT_RECORD_MAX_FIELDS]; /* what columns have that have one number */
	GMT_VEC(uint64_t) values;             /* what all others have */
};

/* GMT_COLUMN_event_stamp, ...: numbers of fields. */
#define GMT_RECORD(number, name, NAME, meaning) enum gmt_##name##_column {
#define GMT_FIELD(record, name, encoding, type, meaning) GMT_COLUMN_##record##_##name,
#define GMT_RECORD_END(name) };
#include "format/records.def"
#undef GMT_RECORD
#undef GMT_FIELD
#undef GMT_RECORD_END

static inline uint64_t gmt_cell(const struct gmt_cells *cells, size_t row)
{
	return cells->values[row * cells->step];
}

/*
 * Decodes a block of a kind that gmt_record_info knows and whose fields are all numbers. What is in *columns then is good
 * until it is used for the next; columns that the block lacks are zero. Events come with absolute totals. Fails as
 * gmt_decode_rows does.
 */
enum gmt_status gmt_columns_decode(struct gmt_columns *columns, const struct gmt_block *block, struct gmt_error *error);

/* Lets every row of a decoded column have a number of its own, which may be changed. */
uint64_t *gmt_columns_spread(struct gmt_columns *columns, uint32_t field);

void gmt_columns_fini(struct gmt_columns *columns);

#endif
