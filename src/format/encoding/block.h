/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_BLOCK_H
#define GMT_FORMAT_ENCODING_BLOCK_H

/* The frame of a block: its header, and whether the block is complete. No state. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

struct gmt_block {
	uint32_t kind;       /* record number; this version may not know it */
	uint32_t rows;
	uint32_t size_bytes; /* size of the payload */
	const uint8_t *payload;
};

/* Reads a block's header and sets payload to NULL. Returns false if its sizes are impossible. */
bool gmt_block_read_header(const uint8_t header[GMT_BLOCK_HEADER_BYTES],
	struct gmt_block *ret_block);

/* Returns whether the payload matches the header's checksum. */
bool gmt_block_is_intact(const uint8_t header[GMT_BLOCK_HEADER_BYTES],
	const struct gmt_block *block);

/*
 * Reads the header and checks the payload of a block in memory, of which `bytes` bytes are
 * available. Returns the length of the block, or 0 if it is incomplete or damaged.
 */
size_t gmt_block_read(const uint8_t *at, size_t bytes, struct gmt_block *ret_block);

/* Makes the header that precedes a block in the file. */
void gmt_block_make_header(const struct gmt_block *block,
	uint8_t ret_header[GMT_BLOCK_HEADER_BYTES]);

#endif
