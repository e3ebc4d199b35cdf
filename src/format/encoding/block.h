/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_BLOCK_H
#define GMT_FORMAT_ENCODING_BLOCK_H

/* A block's frame: what stands in front of its rows, and whether they are whole. No state. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

struct gmt_block {
	uint32_t kind;       /* record number; may be one that this version does not know */
	uint32_t rows;
	uint32_t size_bytes; /* of the payload */
	const uint8_t *payload;
};

/* Reads a block's header; payload is left NULL. False when its sizes are impossible. */
bool gmt_block_read_header(const uint8_t header[GMT_BLOCK_HEADER_BYTES], struct gmt_block *ret_block);

/* CRC-32 of what has `crc` (0: nothing) and of these bytes behind it (inflate.h has some). */
typedef uint32_t gmt_checksum_function(uint32_t crc, const void *bytes, size_t size);

/* Whether the payload is what the header's checksum says. */
bool gmt_block_is_whole(const uint8_t header[GMT_BLOCK_HEADER_BYTES], const struct gmt_block *block,
	gmt_checksum_function *checksum);

/*
 * Both, for a block that lies in memory, of which `bytes` are there. Returns how long it is, or 0 when it is
 * not whole.
 */
size_t gmt_block_read(const uint8_t *at, size_t bytes, struct gmt_block *ret_block);

/* The header that stands in front of a block in the file. */
void gmt_block_make_header(const struct gmt_block *block, uint8_t ret_header[GMT_BLOCK_HEADER_BYTES]);

#endif
