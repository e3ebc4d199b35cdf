/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_ATTRIBUTION_H
#define GMT_ANALYSIS_HISTORY_ATTRIBUTION_H

/*
 * Blocks by the step and by the phase that they were made in: how much of each account's peak, of what
 * lives at the end and of all allocations. In the flow: replay -> births -> tables.
 *
 * The phase of a block is the innermost one that its thread was in. A thread that opened none (of a
 * backward pass, say) is in that of the only thread that is in one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/intern.h"
#include "containers/map.h"
#include "analysis/history/peaks.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/steps/timeline.h"

/* In place of a series: blocks that were made outside of all steps. */
enum { GMT_ATTRIBUTION_NO_SERIES = GMT_TIMELINE_SERIES };

enum { GMT_ATTRIBUTION_PLACES = 16 };

struct gmt_attribution_row {
	uint32_t account; /* in the books */
	uint32_t series;  /* steps: index in the timeline's, or GMT_ATTRIBUTION_NO_SERIES; phases: 0 */
	uint32_t number;  /* steps: in the series; 0 outside, phases: id in phase_names, + 1; 0: in none */
	uint64_t peak_bytes, peak_blocks; /* alive when the account peaked */
	uint64_t live_bytes, live_blocks; /* at the end of the program's work */
	uint64_t total_bytes, allocs, largest_bytes;
};

struct gmt_attribution_rows {
	GMT_VEC(struct gmt_attribution_row) items;
	struct gmt_map ids; /* account, series and number to index */
	uint64_t last_key_plus_1; /* what was looked for last, and where it is */
	uint64_t last_index;
};

/* Where the blocks of an account go: most are made in the step and the phase of the one before. */
struct gmt_attribution_place {
	uint64_t begin, end; /* of what is made behind the one and not behind the other */
	size_t step_row, phase_row; /* indices in steps and phases */
	uint32_t account_plus_1; /* 0: of none yet */
	uint32_t phase;
};

/* The open phases of a thread, innermost last. */
struct gmt_attribution_thread {
	uint32_t thread;
	GMT_VEC(uint32_t) phases;
};

struct gmt_attribution {
	struct gmt_replay_observer observer; /* for the replay */
	const struct gmt_timeline *timeline;
	struct gmt_attribution_rows steps, phases;
	struct gmt_attribution_place last_places[GMT_ATTRIBUTION_PLACES]; /* by account, of which several may share one */
	struct gmt_intern phase_names;
	GMT_VEC(uint32_t) phase_ids; /* by phase of the timeline: id in phase_names */
	GMT_VEC(struct gmt_attribution_thread) threads;
	struct gmt_map thread_ids;
	size_t next_phase;           /* the first that has not begun, ... */
	uint64_t next_begin;         /* ... and when it does */
	uint64_t step_begin, step_end; /* of the last step of the first series that was asked for; 0, 0: none yet */
	uint32_t step_number;
	struct gmt_map block_phases[GMT_ACCOUNTING_LAYERS]; /* address to number, of blocks made in one */
	uint32_t ended_phase;        /* of the block that ended last, as gmt_attribution_add_peak wants it */
};

/* `births` is zeroed. False when out of memory. */
bool gmt_attribution_init(struct gmt_attribution *attribution, const struct gmt_timeline *timeline);

/* These blocks of the account, live ones and such as have ended, lived at its peak. False when out of memory. */
bool gmt_attribution_add_peak(struct gmt_attribution *attribution, const struct gmt_replay *replay, uint32_t account,
	const struct gmt_peaks_blocks *blocks);

/* This is the end of the program's work: what is in the books lives. False when out of memory. */
bool gmt_attribution_take_end(struct gmt_attribution *attribution, const struct gmt_replay *replay);

void gmt_attribution_fini(struct gmt_attribution *attribution);

#endif
