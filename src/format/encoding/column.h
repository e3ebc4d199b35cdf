/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_COLUMN_H
#define GMT_FORMAT_ENCODING_COLUMN_H

/*
 * Reads one numeric column of a block and does not decode the others. A reader that wants few of a
 * file's rows finds out for a tenth of the work that a block has no such rows. In the flow: source
 * -> column. Allocates no memory. One thread.
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
 * Opens the column of field number `field` in a block of this record. Returns false if the block
 * lacks the column, if the payload is damaged there, or if the field is not numeric.
 */
bool gmt_column_open(struct gmt_column *ret_column, const struct gmt_block *block,
	const struct gmt_record_info *record, uint32_t field);

/*
 * Returns the next row's value, a negative value modulo 2^64. Returns false if it cannot be
 * decoded.
 */
static inline bool gmt_column_next(struct gmt_column *column, uint64_t *ret_value)
{
	uint64_t value;

	if (!gmt_varint_get(&column->at, column->end, &value))
		return false;
	if (column->encoding != GMT_ENCODING_UNSIGNED)
		value = gmt_unzigzag(value);
	if (column->encoding == GMT_ENCODING_DELTA)
		value = column->before += value;
	*ret_value = value;
	return true;
}

#endif
