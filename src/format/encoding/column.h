/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_COLUMN_H
#define GMT_FORMAT_ENCODING_COLUMN_H

/*
 * One column of numbers of a block, without decoding the rest: who wants few of a file's rows sees that a block has
 * none of them for a tenth of the work. In the flow: source -> column. No memory; one thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "format/encoding/block.h"
#include "format/encoding/varint.h"

struct gmt_column {
	const uint8_t *at, *end;
	char encoding;
	uint64_t before;
};

/*
 * The column of field number `field` of a block of this record. False when the block lacks it, is not whole there, or
 * the field is no number.
 */
bool gmt_column_open(struct gmt_column *ret_column, const struct gmt_block *block, const struct gmt_record_info *record,
	uint32_t field);

/* The next row's value, a negative one modulo 2^64; false when it cannot be decoded. */
static inline bool gmt_column_next(struct gmt_column *column, uint64_t *ret_value)
{
	uint64_t value;

	if (!gmt_varint_get(&column->at, column->end, &value))
		return false;
	if (column->encoding != 'U')
		value = gmt_unzigzag(value);
	if (column->encoding == 'D')
		value = column->before += value;
	*ret_value = value;
	return true;
}

#endif
