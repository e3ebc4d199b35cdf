/* SPDX-License-Identifier: MIT */
#ifndef GMT_SOURCE_READ_AHEAD_H
#define GMT_SOURCE_READ_AHEAD_H

/*
 * Decodes the blocks of a source. In the flow: source -> read_ahead, with columns and decode ->
 * load. For a large file, a separate thread inflates the blocks and decodes events to columns, a
 * few blocks ahead. The caller's thread decodes all other blocks, and event blocks that are too
 * large to keep. If no thread can be started, the caller's thread does everything. Memory use
 * depends on the largest blocks.
 */

#include "base/status.h"
#include "format/encoding/decode_columns.h"
#include "format/format.h"
#include "source/source.h"

struct gmt_read_ahead;

/*
 * From now on, this process reads without a second thread. For a process that is one of as many as
 * there are processors: the threads would only make them wait for each other.
 */
void gmt_read_ahead_use_no_thread(void);

/*
 * A block. `record` is NULL if this version does not know the kind. Events are in `columns`, as
 * made by gmt_decode_columns. All other rows are in `rows`, as made by gmt_decode_rows.
 */
struct gmt_read_ahead_block {
	const struct gmt_record_info *record;
	struct gmt_columns *columns; /* the caller may call gmt_columns_expand on them */
	const void *rows;
	uint32_t count;
	uint64_t payload_bytes; /* inflated size */
	struct gmt_source_progress progress; /* including this block */
};

/*
 * Starts to read `source` and returns the reader. The reader owns `source` until
 * gmt_read_ahead_close; then the caller owns it again. Returns NULL when out of memory.
 */
struct gmt_read_ahead *gmt_read_ahead_open(struct gmt_source *source);

/*
 * Gets the next block, valid until the next call. Otherwise returns the error of gmt_source_next or
 * gmt_decode_rows.
 */
enum gmt_status gmt_read_ahead_next(struct gmt_read_ahead *read_ahead,
	struct gmt_read_ahead_block *ret_block, struct gmt_error *error);

/* Stops reading and frees `read_ahead`, which may be NULL. */
void gmt_read_ahead_close(struct gmt_read_ahead *read_ahead);

#endif
