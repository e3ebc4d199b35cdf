/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_ENCODE_ROWS_H
#define GMT_FORMAT_ENCODING_ENCODE_ROWS_H

/*
 * Encodes rows to blocks. In the flow: writer -> encode -> sink. One encoder per file, one thread.
 * The memory comes from pages.h and is reused for each block.
 */

#include <stdint.h>

#include "base/status.h"
#include "containers/vec.h"
#include "format/format.h"

struct gmt_encoder {
	GMT_VEC(uint8_t) block;  /* the finished block, header and payload */
	GMT_VEC(uint8_t) column;
};

void gmt_encode_file_header(uint8_t ret_bytes[GMT_FILE_HEADER_BYTES]);

/*
 * Encodes `count` (at least 1) rows of kind `number`, an array of its structure, into one block.
 * The result in encoder->block is valid until the next call. Events must hold differences
 * (torch_totals.h). Fails with GMT_NO_MEMORY, or with GMT_WRITE for more than GMT_BLOCK_MAX_ROWS or
 * GMT_BLOCK_MAX_BYTES.
 */
enum gmt_status gmt_encode_rows(struct gmt_encoder *encoder, uint32_t number, const void *rows,
	uint32_t count, struct gmt_error *error);

/* Same for a record that the caller has: one of a summary (summary_format.h). */
enum gmt_status gmt_encode_record(struct gmt_encoder *encoder, const struct gmt_record_info *record,
	const void *rows, uint32_t count, struct gmt_error *error);

void gmt_encoder_fini(struct gmt_encoder *encoder);

#endif
