/* SPDX-License-Identifier: MIT */
#ifndef GMT_WIRE_VARINT_H
#define GMT_WIRE_VARINT_H

/* Numbers in as few bytes as they need: seven bits a byte, low first, the high bit says "more". */

#include <stdbool.h>
#include <stdint.h>

enum { GMT_VARINT_MAX_BYTES = 10 };

/* Writes `value` at `to` (GMT_VARINT_MAX_BYTES of room); the address behind it. */
static inline uint8_t *gmt_varint_put(uint8_t *to, uint64_t value)
{
	while (value >= 0x80) {
		*to++ = (uint8_t)value | 0x80;
		value >>= 7;
	}
	*to++ = (uint8_t)value;
	return to;
}

/* Reads one number and moves `*at` behind it; false when it is cut by `end` or too long. */
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

/* Small negative numbers become small unsigned ones: 0 -1 1 -2 2 ... */
static inline uint64_t gmt_zigzag(uint64_t value)
{
	return (value << 1) ^ (uint64_t)((int64_t)value >> 63);
}

static inline uint64_t gmt_unzigzag(uint64_t value)
{
	return (value >> 1) ^ (0 - (value & 1));
}

#endif
