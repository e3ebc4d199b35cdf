/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_BLOCK_ORIGIN_H
#define GMT_ANALYSIS_HISTORY_BLOCK_ORIGIN_H

/*
 * Finds the step and the phase in which a block is made, while the events are replayed.
 *
 * The phase of a block is the innermost phase of its thread. A thread that opened no phase (a
 * backward pass, for example) uses the phase of another thread, if exactly one thread is in a
 * phase.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/intern.h"
#include "containers/map.h"
#include "containers/vec.h"
#include "reader/steps/timeline.h"

/* Value of `series` for blocks made outside of all steps. */
enum { GMT_BLOCK_ORIGIN_NO_SERIES = GMT_TIMELINE_SERIES };

struct gmt_block_origin_step {
	uint32_t series; /* index in the timeline's series, or GMT_BLOCK_ORIGIN_NO_SERIES */
	uint32_t number; /* in the series; 0 outside of steps */
};

/* The open phases of a thread, innermost last. */
struct gmt_block_origin_thread {
	uint32_t thread;
	GMT_VEC(uint32_t) phases;
};

struct gmt_block_origin {
	const struct gmt_timeline *timeline;
	struct gmt_intern phase_names;
	GMT_VEC(uint32_t) phase_ids; /* by phase of the timeline: id in phase_names */
	GMT_VEC(struct gmt_block_origin_thread) threads;
	struct gmt_map thread_ids;
	size_t next_phase; /* first phase that has not begun */
	/* gmt_block_origin_advance is needed for events after this stamp */
	uint64_t next_needed_stamp;
	/* The last step of the first series that was looked up. 0, 0: no step yet. */
	uint64_t step_begin, step_end;
	uint32_t step_number;
};

/*
 * Prepares a zeroed `origin`, which borrows `timeline`. False when out of memory. The caller ends
 * it with gmt_block_origin_fini, also after a failure.
 */
bool gmt_block_origin_init(struct gmt_block_origin *origin, const struct gmt_timeline *timeline);

/* Opens the phases that begin before the event with this stamp. False when out of memory. */
bool gmt_block_origin_advance(struct gmt_block_origin *origin, uint64_t stamp);

/* Returns the step in which a block is made, or was made earlier. */
struct gmt_block_origin_step gmt_block_origin_step(struct gmt_block_origin *origin, uint64_t stamp);

/*
 * Returns the stamps between which gmt_block_origin_step(stamp), the last call, has the same
 * result: above *ret_begin, up to *ret_end. Both are 0 if there is no such range.
 */
void gmt_block_origin_step_range(const struct gmt_block_origin *origin, uint64_t stamp,
	uint64_t *ret_begin, uint64_t *ret_end);

/*
 * Returns the phase of a block that the thread makes now: id in phase_names, + 1. 0: no phase.
 * Stamps must not decrease from call to call.
 */
uint32_t gmt_block_origin_phase(struct gmt_block_origin *origin, uint32_t thread, uint64_t stamp);

void gmt_block_origin_fini(struct gmt_block_origin *origin);

#endif
