/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_OWNER_PEAKS_H
#define GMT_ANALYSIS_HISTORY_OWNER_PEAKS_H

/*
 * Computes the most that each owner held at any time, in one layer on one device. The sites of an
 * owner peak at different moments, so the sum of their peaks would be too large. Data flow: replay
 * -> owner_peaks -> tables.
 */

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
	uint64_t bytes;      /* bytes of the site that are counted in its row */
	uint64_t row_plus_1; /* index in rows, + 1; 0: not assigned yet */
};

struct gmt_owner_peaks {
	struct gmt_replay_observer observer; /* registered with the replay */
	const struct gmt_traces *traces;
	GMT_VEC(struct gmt_owner_peak) rows;
	GMT_VEC(struct gmt_owner_peaks_site) sites; /* by site id */
	struct gmt_map row_ids; /* account and owner to index in rows */
};

/* Prepares `peaks`, which must be zeroed and must not move. End it with gmt_owner_peaks_fini. */
void gmt_owner_peaks_init(struct gmt_owner_peaks *peaks, const struct gmt_traces *traces);

/*
 * Returns the peak in bytes, or 0 if the owner has no memory there. `account` is an index in the
 * accounting.
 */
uint64_t gmt_owner_peaks_find(const struct gmt_owner_peaks *peaks, uint32_t account,
	uint32_t owner);

void gmt_owner_peaks_fini(struct gmt_owner_peaks *peaks);

#endif
