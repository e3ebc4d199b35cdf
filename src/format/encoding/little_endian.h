/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_LITTLE_ENDIAN_H
#define GMT_FORMAT_ENCODING_LITTLE_ENDIAN_H

/* Read and write little-endian numbers at any alignment. */

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t gmt_get_u16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return le16toh(value);
}

static inline uint32_t gmt_get_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static inline uint64_t gmt_get_u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

static inline void gmt_put_u16(uint8_t *to, uint16_t value)
{
	value = htole16(value);
	memcpy(to, &value, sizeof(value));
}

static inline void gmt_put_u32(uint8_t *to, uint32_t value)
{
	value = htole32(value);
	memcpy(to, &value, sizeof(value));
}

static inline void gmt_put_u64(uint8_t *to, uint64_t value)
{
	value = htole64(value);
	memcpy(to, &value, sizeof(value));
}

#endif
