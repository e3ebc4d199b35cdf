/* SPDX-License-Identifier: MIT */
#ifndef GMT_WIRE_DECODE_NUMBERS_H
#define GMT_WIRE_DECODE_NUMBERS_H

/*
 * The numbers of a column, for whatever they are decoded into. Part of wire/decode.c and columns.c, whose loops are compiled
 * once for each encoding and size: a file is millions of these.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "wire/varint.h"

struct gmt_cursor {
	const uint8_t *at;
	const uint8_t *end;
};

/* Whether a cell of this size can hold `value`: a number that is cut would be a wrong one. */
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

/* Nearly all numbers of a file have one byte. */
static inline bool gmt_number_get(struct gmt_cursor *cursor, uint64_t *ret_value)
{
	if (cursor->at < cursor->end && *cursor->at < 0x80) {
		*ret_value = *cursor->at++;
		return true;
	}
	return gmt_varint_get_long(&cursor->at, cursor->end, ret_value);
}

/* Whether `count` (not 0) numbers have one byte each: in as many bytes they have no other choice but to be damaged. */
static inline bool gmt_numbers_are_short(const struct gmt_cursor *column, uint32_t count)
{
	uint8_t bits = 0;

	if ((size_t)(column->end - column->at) != count)
		return false;
	for (uint32_t i = 0; i < count; i++)
		bits |= column->at[i];
	return bits < 0x80;
}

/* Whether they are all the same. */
static inline bool gmt_numbers_are_equal(const struct gmt_cursor *column, uint32_t count)
{
	return memcmp(column->at, column->at + 1, count - 1) == 0;
}

#endif
