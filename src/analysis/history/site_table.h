/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_SITE_TABLE_H
#define GMT_ANALYSIS_HISTORY_SITE_TABLE_H

/*
 * A table of sites that can be sorted. A row has the bytes and blocks that a site holds, held at
 * most, and allocated in total. A pure function of a replay.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/stacks/traces.h"

struct gmt_site {
	uint32_t id;
	uint32_t layer;
	int32_t device; /* GMT_DEVICE_HOST: host memory */
	uint32_t space;
	uint32_t stack; /* id in traces->stacks */
	uint32_t owner; /* id in traces->owners of the library that asked for the memory */
	uint32_t own_line; /* index of a frame in the stack (gmt_traces_own_line) */
	/* Id of a thread that made its blocks. 0: threads of different names made them. */
	uint32_t thread;
	/* live at the end of the program's work, which reports call "the end" */
	uint64_t live_at_end_bytes, live_at_end_blocks;
	/* live after the last event: when the process exits, frees after its work have ended blocks */
	uint64_t live_at_exit_bytes, live_at_exit_blocks;
	uint64_t peak_bytes, peak_blocks; /* live when its layer on that device peaked */
	uint64_t max_live_bytes; /* its own peak */
	uint64_t total_bytes;    /* of all its allocations */
	uint64_t alloc_count, free_count;
};

struct gmt_sites {
	GMT_VEC(struct gmt_site) rows; /* only sites that had a block */
	bool is_grouped; /* the rows are sorted by layer and device */
};

enum gmt_sites_order { GMT_SITES_BY_PEAK, GMT_SITES_BY_LIVE, GMT_SITES_BY_TOTAL };

/*
 * Makes the table. Fails only for lack of memory. `ret_sites` must be zeroed. The caller owns it
 * and ends it with gmt_sites_fini.
 */
enum gmt_status gmt_sites_compute(struct gmt_sites *ret_sites, const struct gmt_replay *replay,
	const struct gmt_traces *traces, struct gmt_error *error);

/* Sorts the rows, the largest first. The order of equal rows depends only on the recording. */
void gmt_sites_sort(struct gmt_sites *sites, enum gmt_sites_order order);

/*
 * Returns the sites of one layer on one device, sorted by `order`. They are *ret_count adjacent
 * rows of `sites`, which this call reorders. Valid until the next sort.
 */
const struct gmt_site *gmt_sites_of_account(struct gmt_sites *sites, uint32_t layer, int32_t device,
	enum gmt_sites_order order, size_t *ret_count);

/* Returns the number that `order` sorts by. */
uint64_t gmt_sites_value(const struct gmt_site *site, enum gmt_sites_order order);

void gmt_sites_fini(struct gmt_sites *sites);

#endif
