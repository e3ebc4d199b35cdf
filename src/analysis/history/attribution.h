/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_ATTRIBUTION_H
#define GMT_ANALYSIS_HISTORY_ATTRIBUTION_H

/*
 * Attributes blocks to the step and the phase that made them. For each step and phase it sums what
 * lived at the account's peak, what lives at the end of the program's work, and all allocations.
 * Data flow: replay -> attribution -> tables.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/history/block_origin.h"
#include "analysis/history/peaks.h"
#include "containers/map.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/steps/timeline.h"

enum { GMT_ATTRIBUTION_ROW_CACHES = 16 };

struct gmt_attribution_row {
	uint32_t account; /* index in the accounting */
	/* For steps: index in the timeline's series, or GMT_BLOCK_ORIGIN_NO_SERIES. For phases: 0. */
	uint32_t series;
	/*
	 * For steps: number in the series, 0 outside of steps. For phases: id in origin.phase_names,
	 * + 1. 0: no phase.
	 */
	uint32_t number;
	uint64_t peak_bytes, peak_blocks; /* alive when the account peaked */
	uint64_t live_bytes, live_blocks; /* alive at the end of the program's work */
	uint64_t total_bytes, allocs, largest_bytes;
};

struct gmt_attribution_rows {
	GMT_VEC(struct gmt_attribution_row) items;
	struct gmt_map ids; /* account, series and number to index */
	uint64_t last_key_plus_1; /* cache of the last lookup: key + 1, and its index */
	uint64_t last_index;
};

/*
 * Cache of the rows for new blocks of an account. Most blocks are made in the same step and phase
 * as the block before.
 */
struct gmt_attribution_row_cache {
	uint64_t begin, end; /* valid for stamps after `begin`, up to and including `end` */
	size_t step_row, phase_row; /* indices in steps and phases */
	uint32_t account_plus_1; /* 0: empty */
	uint32_t phase;
};

struct gmt_attribution {
	struct gmt_replay_observer observer; /* registered with the replay */
	struct gmt_block_origin origin;
	struct gmt_attribution_rows steps, phases;
	/* By account modulo GMT_ATTRIBUTION_ROW_CACHES, so accounts may share an entry. */
	struct gmt_attribution_row_cache row_caches[GMT_ATTRIBUTION_ROW_CACHES];
	/* For blocks made in a phase: address to phase number. */
	struct gmt_map block_phases[GMT_ACCOUNTING_LAYERS];
	/* Phase of the block that ended last, as the `phase` of gmt_peaks_block. */
	uint32_t ended_phase;
};

/* Prepares the attribution, which must be zeroed. False when out of memory. */
bool gmt_attribution_init(struct gmt_attribution *attribution, const struct gmt_timeline *timeline);

/*
 * Adds blocks that lived at the peak of `account`: live blocks and blocks that have ended. False
 * when out of memory.
 */
bool gmt_attribution_add_peak(struct gmt_attribution *attribution, const struct gmt_replay *replay,
	uint32_t account, const struct gmt_peaks_blocks *blocks);

/*
 * Adds all blocks in the accounting as alive. Called at the end of the program's work. False when
 * out of memory.
 */
bool gmt_attribution_add_end(struct gmt_attribution *attribution, const struct gmt_replay *replay);

void gmt_attribution_fini(struct gmt_attribution *attribution);

#endif
