/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_EVENT_TOTALS_H
#define GMT_FORMAT_ENCODING_EVENT_TOTALS_H

/*
 * PyTorch reports its totals with every block. They are almost always the totals of the row before,
 * plus or minus this block, so the file holds only the difference to that prediction: nearly always
 * zero, which costs nothing after compression. Both directions work on one event block.
 *
 * Prediction: allocated = allocated of the last torch row before in this block (0 in the first)
 * + size_bytes for an alloc, - size_bytes for a free; reserved = reserved of that row.
 */

#include <stdint.h>

#include "format/encoding/columns.h"
#include "format/format.h"

/* Absolute totals in `rows` become differences, before encoding. */
void gmt_event_totals_to_differences(struct gmt_event *rows, uint32_t count);

/* Differences become absolute totals, after decoding. */
void gmt_event_totals_from_differences(struct gmt_event *rows, uint32_t count);

/* Likewise, of an event block that was decoded to columns. */
void gmt_event_totals_in_columns(struct gmt_columns *columns);

#endif
