/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_TORCH_TOTALS_H
#define GMT_FORMAT_ENCODING_TORCH_TOTALS_H

/*
 * Stores PyTorch's totals as differences. PyTorch reports its totals with every block. They are
 * almost always the totals of the previous row plus or minus this block. So the file holds only the
 * difference to that prediction. It is nearly always zero, which costs nothing after compression.
 * Both directions work on one event block.
 *
 * The prediction: allocated = allocated of the previous torch row in this block (0 for the first) +
 * size_bytes for an alloc, - size_bytes for a free. reserved = reserved of that row.
 */

#include <stdint.h>

#include "format/encoding/decode_columns.h"
#include "format/format.h"

/* Replaces absolute totals in `rows` by differences, before encoding. */
void gmt_torch_totals_to_differences(struct gmt_event *rows, uint32_t count);

/* Replaces differences by absolute totals, after decoding. */
void gmt_torch_totals_from_differences(struct gmt_event *rows, uint32_t count);

/* Replaces differences by absolute totals in an event block that was decoded to columns. */
void gmt_torch_totals_in_columns(struct gmt_columns *columns);

#endif
