/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_ENCODE_H
#define GMT_FORMAT_ENCODING_ENCODE_H

/*
 * Rows to blocks. In the flow: writer -> encode -> sink. One encoder per file, one thread. Memory
 * comes from pages.h and is kept from block to block.
 */

#include <stdint.h>

#include "base/status.h"
#include "containers/vec.h"
#include "format/format.h"

struct gmt_encoder {
	GMT_VEC(uint8_t) block;  /* the finished block, header and payload */
	GMT_VEC(uint8_t) column;
};

/* The file header, GMT_FILE_HEADER_BYTES long. */
void gmt_encode_file_header(uint8_t ret_bytes[GMT_FILE_HEADER_BYTES]);

/*
 * Encodes `count` (at least 1) rows of kind `number`, an array of its structure, into one block in
 * encoder->block, which is good until the next call. Events must hold differences (event_totals.h).
 * Fails with GMT_NO_MEMORY, or GMT_WRITE for more than GMT_BLOCK_MAX_ROWS or GMT_BLOCK_MAX_BYTES.
 */
enum gmt_status gmt_encode_rows(struct gmt_encoder *encoder, uint32_t number, const void *rows,
	uint32_t count, struct gmt_error *error);

void gmt_encoder_fini(struct gmt_encoder *encoder);

#endif
