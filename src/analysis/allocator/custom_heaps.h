/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_ALLOCATOR_CUSTOM_HEAPS_H
#define GMT_ANALYSIS_ALLOCATOR_CUSTOM_HEAPS_H

/*
 * Custom heaps: pools that the program itself manages and declares (layer custom). For each heap:
 * its size, its live and its peak memory, and the lines that hold most of it. A pure function of a
 * replay. Heaps of the same name on the same device share a row.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/stacks/traces.h"

/* Memory that one stack got from a heap. */
struct gmt_custom_heap_site {
	uint32_t id;       /* id of the site in the accounting */
	uint32_t stack;    /* id in traces->stacks */
	uint32_t own_line; /* index of a frame in the stack */
	/* when the heap peaked; the sum over all sites of a heap is its peak */
	uint64_t peak_bytes, peak_blocks;
	uint64_t live_bytes, live_blocks;
	uint64_t total_bytes, alloc_count, free_count;
};

struct gmt_custom_heap_row {
	const struct gmt_interpret_heap_group *heap; /* owned by the replay */
	struct gmt_account_heap accounting;
	uint64_t peak_time_ns;
	bool has_size;       /* all live heaps of this row have a declared size */
	uint64_t free_bytes; /* free part of heap->size_bytes, if has_size */
	GMT_VEC(struct gmt_custom_heap_site) sites; /* largest peak first */
};

struct gmt_custom_heaps {
	GMT_VEC(struct gmt_custom_heap_row) rows; /* largest peak first */
};

/*
 * Lists the custom heaps. Fails only if memory is exhausted. `ret_heaps` (zeroed) belongs to the
 * caller; end it with gmt_custom_heaps_fini.
 */
enum gmt_status gmt_custom_heaps_compute(struct gmt_custom_heaps *ret_heaps,
	const struct gmt_recording *recording, const struct gmt_replay *replay,
	const struct gmt_traces *traces, struct gmt_error *error);

void gmt_custom_heaps_fini(struct gmt_custom_heaps *heaps);

#endif
