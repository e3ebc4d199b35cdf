/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_SITES_H
#define GMT_ANALYSIS_HISTORY_SITES_H

/*
 * A sortable table of sites: what each site holds, held at most, and allocated. A pure function of
 * a replay.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/stacks/traces.h"

struct gmt_site {
	uint32_t id;
	uint32_t layer;
	int32_t device; /* GMT_DEVICE_HOST: host memory. */
	uint32_t space;
	uint32_t stack; /* Id in traces->stacks. */
	uint32_t owner; /* Library that asked for the memory: id in traces->owners. */
	uint32_t own_line; /* Index of a frame in the stack (gmt_traces_own_line). */
	/* Id of a thread that made its blocks. 0: threads of different names made them. */
	uint32_t thread;
	uint64_t live_bytes, live_blocks; /* At the end of the program's work. */
	uint64_t left_bytes, left_blocks; /* After the last event. */
	uint64_t peak_bytes, peak_blocks; /* When its layer on that device peaked. */
	uint64_t max_live_bytes;
	uint64_t total_bytes;
	uint64_t alloc_count, free_count;
};

struct gmt_sites {
	GMT_VEC(struct gmt_site) rows; /* Only sites that had a block. */
	bool grouped; /* The rows are sorted by layer and device. */
};

enum gmt_sites_key { GMT_SITES_BY_PEAK, GMT_SITES_BY_LIVE, GMT_SITES_BY_TOTAL };

/*
 * Makes the table. Fails only for lack of memory. `ret_sites` must be zeroed. The caller owns it
 * and ends it with gmt_sites_fini.
 */
enum gmt_status gmt_sites_init(struct gmt_sites *ret_sites, const struct gmt_replay *replay,
	const struct gmt_traces *traces, struct gmt_error *error);

/* Sorts the rows, the largest first. The order of equal rows depends only on the snapshot. */
void gmt_sites_sort(struct gmt_sites *sites, enum gmt_sites_key key);

/*
 * Returns the sites of one layer on one device, sorted the same way. They are *ret_count rows of
 * `sites`, which this call reorders. Valid until the next sort.
 */
const struct gmt_site *gmt_sites_of(struct gmt_sites *sites, uint32_t layer, int32_t device,
	enum gmt_sites_key key, size_t *ret_count);

/* Returns the number that `key` sorts by. */
uint64_t gmt_sites_value(const struct gmt_site *site, enum gmt_sites_key key);

void gmt_sites_fini(struct gmt_sites *sites);

#endif
