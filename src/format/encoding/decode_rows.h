/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_DECODE_ROWS_H
#define GMT_FORMAT_ENCODING_DECODE_ROWS_H

/*
 * Decodes blocks to rows. In the flow: source -> decode -> load. Events use decode_columns.h
 * instead. The source has already checked the block's checksum. So a failure here means that the
 * writer used other rules. The decoder reports it and trusts no part of the block. One decoder per
 * file, one thread.
 */

#include <stdint.h>

#include "base/status.h"
#include "containers/vec.h"
#include "format/format.h"
#include "format/encoding/block.h"

struct gmt_decoder {
	GMT_VEC(uint64_t) rows;  /* stored as words, so that rows are aligned */
	GMT_VEC(uint64_t) items; /* items of lists */
};

/*
 * Decodes a block of a kind that gmt_record_info knows. *ret_rows is an array of block->rows
 * structures of that kind, valid until the next call. Its strings point into the block's payload,
 * its lists into the decoder. Columns that the block lacks are zero. Events have absolute totals.
 */
enum gmt_status gmt_decode_rows(struct gmt_decoder *decoder, const struct gmt_block *block,
	const void **ret_rows, struct gmt_error *error);

/* Same for a block of a record that the caller has: one of a summary (summary_format.h). */
enum gmt_status gmt_decode_record(struct gmt_decoder *decoder, const struct gmt_record_info *record,
	const struct gmt_block *block, const void **ret_rows, struct gmt_error *error);

void gmt_decoder_fini(struct gmt_decoder *decoder);

#endif
