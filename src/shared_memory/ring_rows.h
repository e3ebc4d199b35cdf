/* SPDX-License-Identifier: MIT */
#ifndef GMT_SHARED_MEMORY_RING_ROWS_H
#define GMT_SHARED_MEMORY_RING_ROWS_H

/*
 * Converts the entries of a ring to rows of the file, separately for each kind. In the flow: ring
 * -> ring rows -> encode. Used by the recorder's writer, and by the recovery of a killed process's
 * memory. Has no state.
 */

#include <stdint.h>

#include "base/sanitizer.h"
#include "shared_memory/definitions.h"
#include "format/format.h"
#include "shared_memory/ring_event.h"

/*
 * Events per block: enough to compress well, few enough to stay in the cache. AddressSanitizer
 * clears all memory that it hands out, so it gets a small number. Room for 4,096 events would take
 * most of the time of a small recovery.
 */
enum { GMT_RING_ROWS_MAX = GMT_WITH_ASAN ? 64 : 4096 };

/* Large: make it static or allocate it with pages.h, never on a stack. */
struct gmt_ring_rows {
	uint32_t event_count, mark_count, oom_count, sample_count;
	struct gmt_event events[GMT_RING_ROWS_MAX]; /* with differences of totals, as in the file */
	struct gmt_mark marks[GMT_RING_ROWS_MAX];
	struct gmt_oom ooms[GMT_RING_ROWS_MAX];
	struct gmt_sample samples[GMT_RING_ROWS_MAX];
};

/*
 * Fills in the rows of `count` (at most GMT_RING_ROWS_MAX) events of the thread with that id, in
 * their order. Notes new definitions in `definitions`; write them before the rows.
 */
void gmt_ring_rows_fill(struct gmt_ring_rows *ret_rows, struct gmt_definitions *definitions,
	const struct gmt_ring_event *events, uint32_t count, uint32_t thread);

#define GMT_RING_ROWS_BLOCKS 4

/* Passes the rows to `write`, one kind at a time. At most GMT_RING_ROWS_BLOCKS calls. */
void gmt_ring_rows_write(const struct gmt_ring_rows *rows,
	void (*write)(void *context, uint32_t kind, const void *rows, uint32_t count), void *context);

#endif
