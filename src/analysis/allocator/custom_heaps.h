/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_ALLOCATOR_CUSTOM_HEAPS_H
#define GMT_ANALYSIS_ALLOCATOR_CUSTOM_HEAPS_H

/*
 * The program's own pools, as it told of them (layer custom): what each has, holds and held, and which
 * lines hold most of it. A pure function of a replay. Heaps of one name on one device are one row.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/stacks/traces.h"

/* What one stack got from a heap. */
struct gmt_heap_site {
	uint32_t id;       /* in the books */
	uint32_t stack;    /* id in traces->stacks */
	uint32_t own_line; /* index of a frame in it */
	uint64_t peak_bytes, peak_blocks; /* when the heap peaked: over all sites of a heap they sum to its peak */
	uint64_t live_bytes, live_blocks;
	uint64_t total_bytes, alloc_count, free_count;
};

struct gmt_heap_row {
	const struct gmt_interpret_heap *heap; /* the replay's */
	struct gmt_account_heap accounting;
	uint64_t peak_time_ns;
	bool has_size;       /* all heaps of this row that are there say how large they are */
	uint64_t free_bytes; /* of heap->size_bytes, when has_size */
	GMT_VEC(struct gmt_heap_site) sites; /* largest peak first */
};

struct gmt_heaps {
	GMT_VEC(struct gmt_heap_row) rows; /* largest peak first */
};

/* Fails only for lack of memory. `ret_heaps` (zeroed) is the caller's; end it with gmt_heaps_fini. */
enum gmt_status gmt_heaps_init(struct gmt_heaps *ret_heaps, const struct gmt_snapshot *snapshot,
	const struct gmt_replay *replay, const struct gmt_traces *traces, struct gmt_error *error);

void gmt_heaps_fini(struct gmt_heaps *heaps);

#endif
