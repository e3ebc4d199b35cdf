/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_DECODE_H
#define GMT_FORMAT_ENCODING_DECODE_H

/*
 * Blocks to rows. In the flow: source -> decode -> load, but for its events (columns.h). The block's checksum was already
 * checked by the source, so a failure here means a writer with other rules; it is reported, never trusted.
 * One decoder per file, one thread.
 */

#include <stdint.h>

#include "base/status.h"
#include "containers/vec.h"
#include "format/format.h"
#include "format/encoding/block.h"

struct gmt_decoder {
	GMT_VEC(uint64_t) rows;  /* as words, so that rows are aligned */
	GMT_VEC(uint64_t) items; /* of lists */
};

/*
 * Decodes a block of a kind that gmt_record_info knows. *ret_rows is an array of block->rows
 * structures of that kind, good until the next call; its strings lie in the block's payload, its
 * lists in the decoder. Columns that the block lacks are zero. Events come with absolute totals.
 */
enum gmt_status gmt_decode_rows(struct gmt_decoder *decoder, const struct gmt_block *block,
	const void **ret_rows, struct gmt_error *error);

void gmt_decoder_fini(struct gmt_decoder *decoder);

#endif
