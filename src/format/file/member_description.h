/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_FILE_MEMBER_DESCRIPTION_H
#define GMT_FORMAT_FILE_MEMBER_DESCRIPTION_H

/*
 * The description of a member of the gzip file: the times, kinds and devices of its rows. The
 * description is in the header of the next member, in gzip's extra field (RFC 1952, 2.3.1.1). So a
 * reader that wants only some rows need not decompress the other members. If a process is killed,
 * all members except the last are described.
 *
 * In the flow: stream -> sink writes descriptions, members reads them.
 * docs/internals/recording-format.md, section 9. No state.
 */

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

struct gmt_member_description {
	/* over rows with a `stamp`; least > most: there are no such rows */
	uint64_t min_stamp, max_stamp;
	uint64_t kinds;   /* gmt_member_bit of their record numbers */
	uint64_t devices; /* gmt_member_device_bit of rows with a `device` */
	struct gmt_clock clock; /* the last clock row; stamp 0: there is no clock row */
};

/* Identifies the described member. */
struct gmt_member_identity {
	uint64_t bytes;    /* size in the file, from its header to its trailer */
	uint32_t checksum; /* CRC of the uncompressed data, as in the trailer ... */
	uint32_t length;   /* ... and the length of that data, modulo 2^32 */
};

enum {
	GMT_MEMBER_FIXED_BYTES = 10, /* size of a gzip header */
	GMT_MEMBER_EXTRA_BYTES = 76, /* size of the field that describes a member */
	GMT_MEMBER_HEADER_BYTES = GMT_MEMBER_FIXED_BYTES + 2 + GMT_MEMBER_EXTRA_BYTES,
	GMT_MEMBER_TRAILER_BYTES = 8,
};

/* Returns the bit of a number. The last bit stands for all numbers without their own bit. */
static inline uint64_t gmt_member_bit(uint32_t number)
{
	return (uint64_t)1 << (number < 63 ? number : 63);
}

/* Returns the bit of a device. Host memory and unknown devices count as devices. */
static inline uint64_t gmt_member_device_bit(int32_t device)
{
	return gmt_member_bit((uint32_t)device - (uint32_t)GMT_DEVICE_UNKNOWN);
}

/* Sets the description of a member without rows. */
void gmt_member_description_clear(struct gmt_member_description *description);

/*
 * Adds rows of a record that gmt_record_info knows. `rows` is an array of the record's structure.
 */
void gmt_member_description_add(struct gmt_member_description *description,
	const struct gmt_record_info *record, const void *rows, uint32_t count);

/* Writes the description as the extra field of a gzip header. */
void gmt_member_description_write(const struct gmt_member_description *description,
	const struct gmt_member_identity *identity, uint8_t ret_extra[GMT_MEMBER_EXTRA_BYTES]);

/*
 * Reads the description from the first bytes of a member. Returns false if they are not a header
 * with such a field.
 */
bool gmt_member_description_read(const uint8_t header[GMT_MEMBER_HEADER_BYTES],
	struct gmt_member_description *ret_description, struct gmt_member_identity *ret_identity);

#endif
