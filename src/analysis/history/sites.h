/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_SITES_H
#define GMT_ANALYSIS_HISTORY_SITES_H

/*
 * What each site holds, held and has had, as a table that can be sorted. A pure function of a replay.
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
	uint32_t owner; /* which library asked for it: id in traces->owners */
	uint32_t own_line; /* index of a frame in it (gmt_traces_own_line) */
	uint32_t thread; /* id of one that made its blocks; 0 when threads of several names did */
	uint64_t live_bytes, live_blocks; /* at the end of the program's work */
	uint64_t left_bytes, left_blocks; /* behind the last event */
	uint64_t peak_bytes, peak_blocks; /* when its layer on that device peaked */
	uint64_t max_live_bytes;
	uint64_t total_bytes;
	uint64_t alloc_count, free_count;
};

struct gmt_sites {
	GMT_VEC(struct gmt_site) rows; /* only sites that had a block */
	bool grouped; /* those of one layer and device stand together */
};

enum gmt_sites_key { GMT_SITES_BY_PEAK, GMT_SITES_BY_LIVE, GMT_SITES_BY_TOTAL };

/* Fails only for lack of memory. `ret_sites` (zeroed) is the caller's; end it with gmt_sites_fini. */
enum gmt_status gmt_sites_init(struct gmt_sites *ret_sites, const struct gmt_replay *replay,
	const struct gmt_traces *traces, struct gmt_error *error);

/* Largest first; the order of equal ones depends on the snapshot alone. */
void gmt_sites_sort(struct gmt_sites *sites, enum gmt_sites_key key);

/*
 * The sites of one layer on one device, sorted likewise: *ret_count rows of `sites`, whose order
 * changes, good until the next sort.
 */
const struct gmt_site *gmt_sites_of(struct gmt_sites *sites, uint32_t layer, int32_t device,
	enum gmt_sites_key key, size_t *ret_count);

/* The number that `key` sorts by. */
uint64_t gmt_sites_value(const struct gmt_site *site, enum gmt_sites_key key);

void gmt_sites_fini(struct gmt_sites *sites);

#endif
