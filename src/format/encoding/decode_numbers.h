/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_DECODE_NUMBERS_H
#define GMT_FORMAT_ENCODING_DECODE_NUMBERS_H

/*
 * Splits a payload into columns, and decodes the numbers of a column. Part of
 * format/encoding/decode_rows.c, decode_columns.c and column_reader.c. The compiler makes one loop
 * for each encoding and size, because a file has millions of numbers.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"
#include "format/format.h"
#include "format/encoding/varint.h"

struct gmt_cursor {
	const uint8_t *at;
	const uint8_t *end;
};

/* Cuts the next column off a payload. Returns false if the column is incomplete. */
static inline bool gmt_column_cut(struct gmt_cursor *payload, struct gmt_cursor *ret_column)
{
	uint64_t length;

	if (!gmt_varint_get(&payload->at, payload->end, &length) ||
		length > (uint64_t)(payload->end - payload->at))
		return false;
	*ret_column = (struct gmt_cursor){ payload->at, payload->at + length };
	payload->at += length;
	return true;
}

/* Sets the error for a column that is incomplete or breaks the rules. */
static inline enum gmt_status gmt_column_error(const struct gmt_record_info *record, uint32_t field,
	struct gmt_error *error)
{
	return gmt_error_set(error, GMT_DAMAGED, "column `%s` of a `%s` block cannot be decoded",
		record->fields[field].name, record->name);
}

/* Returns whether a cell of this size can hold `value`. A truncated number would be wrong. */
static inline bool gmt_number_fits(uint32_t size_bytes, bool is_signed, uint64_t value)
{
	unsigned bits = size_bytes * 8;

	if (bits == 64)
		return true;
	/* -2^(bits-1) ... 2^(bits-1)-1 becomes 0 ... 2^bits-1. */
	if (is_signed)
		value += (uint64_t)1 << (bits - 1);
	return value >> bits == 0;
}

/* Reads a number in its stored form. Nearly all numbers of a file have one byte. */
static inline bool gmt_number_get(struct gmt_cursor *cursor, uint64_t *ret_value)
{
	if (cursor->at < cursor->end && *cursor->at < 0x80) {
		*ret_value = *cursor->at++;
		return true;
	}
	return gmt_varint_get_long(&cursor->at, cursor->end, ret_value);
}

/*
 * Reads a number and returns its value, a negative value modulo 2^64. Returns false if there is no
 * number, or if a cell of this size cannot hold it. `*before` is for the encoding 'D' and must be 0
 * at first.
 */
static inline __attribute__((always_inline)) bool gmt_number_next(struct gmt_cursor *column,
	char encoding, uint32_t size_bytes, uint64_t *before, uint64_t *ret_value)
{
	uint64_t value;

	if (!gmt_number_get(column, &value))
		return false;
	if (encoding == GMT_ENCODING_SIGNED)
		value = gmt_unzigzag(value);
	if (encoding == GMT_ENCODING_DELTA)
		value = *before += gmt_unzigzag(value);
	*ret_value = value;
	return gmt_number_fits(size_bytes, encoding == GMT_ENCODING_SIGNED, value);
}

/*
 * Returns whether each of `count` (not 0) numbers has one byte. If the column has that many bytes,
 * every other case is damage.
 */
static inline bool gmt_numbers_are_short(const struct gmt_cursor *column, uint32_t count)
{
	uint8_t bits = 0;

	if ((size_t)(column->end - column->at) != count)
		return false;
	for (uint32_t i = 0; i < count; i++)
		bits |= column->at[i];
	return bits < 0x80;
}

/*
 * Returns whether all `count` (not 0) numbers are the same byte, less than `limit` (at most 0x80).
 */
static inline bool gmt_numbers_are_equal(const struct gmt_cursor *column, uint32_t count,
	uint8_t limit)
{
	return (size_t)(column->end - column->at) == count && *column->at < limit &&
		memcmp(column->at, column->at + 1, count - 1) == 0;
}

#endif
