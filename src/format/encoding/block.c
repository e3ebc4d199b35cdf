/* SPDX-License-Identifier: MIT */
#include "format/encoding/block.h"

#include <string.h>

#include "format/encoding/inflate.h"
#include "format/encoding/little_endian.h"

static uint32_t checksum_of(const uint8_t *header, const struct gmt_block *block)
{
	return gmt_checksum(gmt_checksum(0, header, 12), block->payload, block->size_bytes);
}

bool gmt_block_read_header(const uint8_t header[GMT_BLOCK_HEADER_BYTES],
	struct gmt_block *ret_block)
{
	*ret_block = (struct gmt_block){
		.kind = gmt_get_u32(header),
		.rows = gmt_get_u32(header + 4),
		.size_bytes = gmt_get_u32(header + 8),
	};
	/* Each row has at least one byte, so a small block cannot request memory for a million rows. */
	return ret_block->size_bytes <= GMT_BLOCK_MAX_BYTES && ret_block->rows <= GMT_BLOCK_MAX_ROWS &&
		ret_block->rows && ret_block->rows <= ret_block->size_bytes;
}

bool gmt_block_is_intact(const uint8_t header[GMT_BLOCK_HEADER_BYTES],
	const struct gmt_block *block)
{
	return gmt_get_u32(header + 12) == checksum_of(header, block);
}

size_t gmt_block_read(const uint8_t *at, size_t bytes, struct gmt_block *ret_block)
{
	if (bytes < GMT_BLOCK_HEADER_BYTES || !gmt_block_read_header(at, ret_block) ||
		ret_block->size_bytes > bytes - GMT_BLOCK_HEADER_BYTES)
		return 0;
	ret_block->payload = at + GMT_BLOCK_HEADER_BYTES;
	return gmt_block_is_intact(at, ret_block) ? GMT_BLOCK_HEADER_BYTES + ret_block->size_bytes : 0;
}

void gmt_block_make_header(const struct gmt_block *block,
	uint8_t ret_header[GMT_BLOCK_HEADER_BYTES])
{
	gmt_put_u32(ret_header, block->kind);
	gmt_put_u32(ret_header + 4, block->rows);
	gmt_put_u32(ret_header + 8, block->size_bytes);
	gmt_put_u32(ret_header + 12, checksum_of(ret_header, block));
}
