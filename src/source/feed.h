/* SPDX-License-Identifier: MIT */
#ifndef GMT_SOURCE_FEED_H
#define GMT_SOURCE_FEED_H

/*
 * A source's blocks, decoded. In the flow: source -> feed, with columns and decode -> load. Of a large file a thread of its
 * own inflates, and decodes events to columns, a few blocks ahead; all other blocks, and those of events that are too large
 * to lie ready, the caller's decodes. Where there can be no thread, it does it all. Memory follows the largest blocks.
 */

#include "base/status.h"
#include "format/encoding/columns.h"
#include "format/format.h"
#include "source/source.h"

struct gmt_feed;

/*
 * A block. `record` is NULL where this version does not know its kind. Events are in `columns`, as gmt_columns_decode makes
 * them; all others in `rows`, as gmt_decode_rows does.
 */
struct gmt_feed_block {
	const struct gmt_record_info *record;
	struct gmt_columns *columns; /* the caller may spread them */
	const void *rows;
	uint32_t count;
	uint64_t payload_bytes; /* inflated */
	struct gmt_source_progress progress; /* with this block */
};

/* `source` is the feed's until it is closed, and the caller's again then. NULL when out of memory. */
struct gmt_feed *gmt_feed_open(struct gmt_source *source);

/* The next block, good until the next call; else as gmt_source_next and gmt_decode_rows say. */
enum gmt_status gmt_feed_next(struct gmt_feed *feed, struct gmt_feed_block *ret_block, struct gmt_error *error);

/* `feed` may be NULL. */
void gmt_feed_close(struct gmt_feed *feed);

#endif
