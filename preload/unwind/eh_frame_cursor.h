/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_EH_FRAME_CURSOR_H
#define GMT_UNWIND_EH_FRAME_CURSOR_H

/* Reads the numbers and addresses of an .eh_frame section. Internal to eh_frame.c. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Encodings of addresses: their format, and what they are relative to. */
enum {
	ENCODING_OMITTED = 0xff,
	FORMAT_MASK = 0x0f,
	RELATION_MASK = 0x70,
	INDIRECT = 0x80,
	FORMAT_ABSOLUTE = 0x00,
	FORMAT_ULEB = 0x01,
	FORMAT_U16 = 0x02,
	FORMAT_U32 = 0x03,
	FORMAT_U64 = 0x04,
	FORMAT_SLEB = 0x09,
	FORMAT_S16 = 0x0a,
	FORMAT_S32 = 0x0b,
	FORMAT_S64 = 0x0c,
	RELATIVE_TO_NOTHING = 0x00,
	RELATIVE_TO_ITSELF = 0x10,
	RELATIVE_TO_HEADER = 0x30,
	SORTED_TABLE = RELATIVE_TO_HEADER | FORMAT_S32,
};

/* The next byte to read, and whether a read has failed so far. */
struct cursor {
	uint64_t at, end;
	bool failed;
};

static inline void skip(struct cursor *cursor, uint64_t bytes)
{
	if (cursor->failed || cursor->end - cursor->at < bytes)
		cursor->failed = true;
	else
		cursor->at += bytes;
}

static inline uint64_t read_bytes(struct cursor *cursor, uint64_t bytes)
{
	uint64_t value = 0, here = cursor->at;

	skip(cursor, bytes);
	/* x86-64 is little-endian. */
	if (!cursor->failed)
		memcpy(&value, (const void *)here, bytes);
	return value;
}

/* Reads a LEB128 number, seven bits in each byte. *ret_bits is the number of bits read. */
static inline uint64_t read_leb(struct cursor *cursor, unsigned *ret_bits)
{
	uint64_t value = 0, byte;

	*ret_bits = 0;
	do {
		byte = read_bytes(cursor, 1);
		if (*ret_bits < 64)
			value |= (byte & 0x7f) << *ret_bits;
		*ret_bits += 7;
	} while (byte & 0x80 && !cursor->failed);
	return value;
}

static inline uint64_t read_uleb(struct cursor *cursor)
{
	unsigned bits;

	return read_leb(cursor, &bits);
}

static inline int64_t read_sleb(struct cursor *cursor)
{
	unsigned bits;
	uint64_t value = read_leb(cursor, &bits);

	if (bits < 64 && value >> (bits - 1) & 1)
		value |= ~(uint64_t)0 << bits;
	return (int64_t)value;
}

static inline uint64_t read_formatted(struct cursor *cursor, unsigned format)
{
	switch (format) {
	case FORMAT_ABSOLUTE:
	case FORMAT_U64:
	case FORMAT_S64:
		return read_bytes(cursor, 8);
	case FORMAT_ULEB:
		return read_uleb(cursor);
	case FORMAT_SLEB:
		return (uint64_t)read_sleb(cursor);
	case FORMAT_U16:
		return read_bytes(cursor, 2);
	case FORMAT_S16:
		return (uint64_t)(int64_t)(int16_t)read_bytes(cursor, 2);
	case FORMAT_U32:
		return read_bytes(cursor, 4);
	case FORMAT_S32:
		return (uint64_t)(int64_t)(int32_t)read_bytes(cursor, 4);
	}
	cursor->failed = true;
	return 0;
}

static inline uint64_t read_address(struct cursor *cursor, unsigned encoding, uint64_t header)
{
	uint64_t here = cursor->at;
	uint64_t value = read_formatted(cursor, encoding & FORMAT_MASK);

	/* An indirect address points outside the tables. */
	if (encoding & INDIRECT)
		cursor->failed = true;
	switch (encoding & RELATION_MASK) {
	case RELATIVE_TO_NOTHING:
		return value;
	case RELATIVE_TO_ITSELF:
		return value + here;
	case RELATIVE_TO_HEADER:
		return value + header;
	}
	cursor->failed = true;
	return 0;
}

#endif
