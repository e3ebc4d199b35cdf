/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_FILE_MEMBER_H
#define GMT_FORMAT_FILE_MEMBER_H

/*
 * What a member of the gzip file has: of which times, kinds and devices its rows are. It stands in the header of the
 * member behind it, where gzip has room for such things (RFC 1952, 2.3.1.1), so that whoever wants some rows need not
 * decompress the others; a process that is killed leaves all but the last described. In the flow: stream -> sink writes
 * them, members reads them. docs/snapshot-format.md, section 9. No state.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

struct gmt_member_about {
	uint64_t least_stamp, most_stamp; /* of rows with a `stamp`; the least is greater where there are none */
	uint64_t kinds;   /* gmt_member_bit of their record numbers */
	uint64_t devices; /* gmt_member_device_bit of rows with a `device` */
	struct gmt_clock clock; /* the last one; of stamp 0: there is none */
};

/* Which member it is that is described. */
struct gmt_member_identity {
	uint64_t bytes;    /* of the file, from its header to its trailer */
	uint32_t checksum; /* as in the trailer, of what was compressed ... */
	uint32_t length;   /* ... and how much that is, modulo 2^32 */
};

enum {
	GMT_MEMBER_FIXED_BYTES = 10, /* of a gzip header */
	GMT_MEMBER_EXTRA_BYTES = 76, /* of the field that describes a member */
	GMT_MEMBER_HEADER_BYTES = GMT_MEMBER_FIXED_BYTES + 2 + GMT_MEMBER_EXTRA_BYTES,
	GMT_MEMBER_TRAILER_BYTES = 8,
};

/* The last bit stands for all numbers that have none of their own. */
static inline uint64_t gmt_member_bit(uint32_t number)
{
	return (uint64_t)1 << (number < 63 ? number : 63);
}

/* Host memory, and what is not known, count as devices. */
static inline uint64_t gmt_member_device_bit(int32_t device)
{
	return gmt_member_bit((uint32_t)device - (uint32_t)GMT_DEVICE_UNKNOWN);
}

/* There are no rows. */
void gmt_member_clear(struct gmt_member_about *about);

/* Rows of a record that gmt_record_info knows, an array of its structure. */
void gmt_member_add(struct gmt_member_about *about, const struct gmt_record_info *record, const void *rows, uint32_t count);

/* As the extra field of a gzip header. */
void gmt_member_write(const struct gmt_member_about *about, const struct gmt_member_identity *identity,
	uint8_t ret_extra[GMT_MEMBER_EXTRA_BYTES]);

/* From a member's first bytes; false when they are no header with such a field. */
bool gmt_member_read(const uint8_t header[GMT_MEMBER_HEADER_BYTES], struct gmt_member_about *ret_about,
	struct gmt_member_identity *ret_identity);

#endif
