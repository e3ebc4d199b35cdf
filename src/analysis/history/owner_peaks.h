/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_OWNER_PEAKS_H
#define GMT_ANALYSIS_HISTORY_OWNER_PEAKS_H

/*
 * The most that each owner held at any time, in one layer on one device: its sites peak at different
 * moments, so that their own peaks do not add up. In the flow: replay -> owner_peaks -> tables.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/stacks/traces.h"

struct gmt_owner_peak {
	uint64_t live_bytes; /* now */
	uint64_t max_live_bytes;
};

struct gmt_owner_peaks_site {
	uint64_t bytes;      /* that are counted in its row */
	uint64_t row_plus_1; /* index in rows; 0: not asked yet */
};

struct gmt_owner_peaks {
	struct gmt_replay_observer observer; /* for the replay */
	const struct gmt_traces *traces;
	GMT_VEC(struct gmt_owner_peak) rows;
	GMT_VEC(struct gmt_owner_peaks_site) sites; /* by id */
	struct gmt_map row_ids; /* account and owner to index in rows */
};

/* `peaks` is zeroed, and stays where it is; end it with gmt_owner_peaks_fini. */
void gmt_owner_peaks_init(struct gmt_owner_peaks *peaks, const struct gmt_traces *traces);

/* In bytes; 0 for an owner without memory there. `account` is an index in the books. */
uint64_t gmt_owner_peaks_find(const struct gmt_owner_peaks *peaks, uint32_t account, uint32_t owner);

void gmt_owner_peaks_fini(struct gmt_owner_peaks *peaks);

#endif
