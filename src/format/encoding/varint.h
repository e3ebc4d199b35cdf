/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_VARINT_H
#define GMT_FORMAT_ENCODING_VARINT_H

/*
 * Numbers of variable length: seven bits per byte, lowest bits first. The high bit means that
 * another byte follows.
 */

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { GMT_VARINT_MAX_BYTES = 10 };

/*
 * Writes `value` at `to`, which must have room for GMT_VARINT_MAX_BYTES. Returns the address after
 * it.
 */
static inline uint8_t *gmt_varint_put(uint8_t *to, uint64_t value)
{
	while (value >= 0x80) {
		*to++ = (uint8_t)value | 0x80;
		value >>= 7;
	}
	*to++ = (uint8_t)value;
	return to;
}

/*
 * Reads one number and moves `*at` after it. Returns false if `end` truncates it or if it is too
 * long.
 */
static inline bool gmt_varint_get(const uint8_t **at, const uint8_t *end, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
		uint8_t byte = *(*at)++;

		/* The tenth byte has room for one bit. */
		if (shift == 63 && byte > 1)
			return false;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}

/*
 * Same as gmt_varint_get, for columns where most numbers have several bytes. It reads eight bytes
 * at once, without a branch per byte. Longer numbers, and numbers near the end, use gmt_varint_get.
 */
static inline bool gmt_varint_get_long(const uint8_t **at, const uint8_t *end, uint64_t *ret_value)
{
	uint64_t word, stop;

	if (end - *at < 8)
		return gmt_varint_get(at, end, ret_value);
	memcpy(&word, *at, sizeof(word));
	word = le64toh(word);
	/* The lowest high bit that is clear ends the number. */
	stop = ~word & 0x8080808080808080;
	if (!stop)
		return gmt_varint_get(at, end, ret_value);
	*at += (__builtin_ctzll(stop) + 1) / 8;
	word &= stop ^ (stop - 1);
	/* Joins groups of 7 bits: to 14, 28, then 56 bits. */
	word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
	word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
	*ret_value = (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
	return true;
}

/* Maps small negative numbers to small unsigned numbers, in the order 0 -1 1 -2 2 ... */
static inline uint64_t gmt_zigzag(uint64_t value)
{
	return (value << 1) ^ (uint64_t)((int64_t)value >> 63);
}

static inline uint64_t gmt_unzigzag(uint64_t value)
{
	return (value >> 1) ^ (0 - (value & 1));
}

#endif
