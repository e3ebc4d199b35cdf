/* SPDX-License-Identifier: MIT */
#ifndef GMT_SHARED_MEMORY_RING_ROWS_H
#define GMT_SHARED_MEMORY_RING_ROWS_H

/*
 * What waits in a ring becomes rows of the file, each kind apart. In the flow: ring -> ring rows -> encode.
 * Used by the recorder's writer, and by who recovers a killed process's memory. No state of its own.
 */

#include <stdint.h>

#include "base/sanitizer.h"
#include "shared_memory/definitions.h"
#include "format/format.h"
#include "shared_memory/ring_event.h"

/*
 * Events of a block: long enough to compress, short enough to stay in the cache. With AddressSanitizer few: it
 * clears all that it gives out, and room for 4,096 would be most of the time that a small recovery takes.
 */
enum { GMT_RING_ROWS_MAX = GMT_WITH_ASAN ? 64 : 4096 };

/* Large: static or from pages.h, not on a stack. */
struct gmt_ring_rows {
	uint32_t event_count, mark_count, oom_count, sample_count;
	struct gmt_event events[GMT_RING_ROWS_MAX]; /* with differences of totals, as the file has them */
	struct gmt_mark marks[GMT_RING_ROWS_MAX];
	struct gmt_oom ooms[GMT_RING_ROWS_MAX];
	struct gmt_sample samples[GMT_RING_ROWS_MAX];
};

/*
 * Fills in the rows of `count` (at most GMT_RING_ROWS_MAX) events of the thread with that id, in their order.
 * What they name for the first time is noted in `definitions`, to be written before them.
 */
void gmt_ring_rows_fill(struct gmt_ring_rows *ret_rows, struct gmt_definitions *definitions,
	const struct gmt_ring_event *events, uint32_t count, uint32_t thread);

#define GMT_RING_ROWS_BLOCKS 4

/* Hands the rows to `write`, a kind at a time. At most GMT_RING_ROWS_BLOCKS calls. */
void gmt_ring_rows_write(const struct gmt_ring_rows *rows,
	void (*write)(void *context, uint32_t kind, const void *rows, uint32_t count), void *context);

#endif
