/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_ALLOCATOR_ALLOCATOR_STATE_H
#define GMT_ANALYSIS_ALLOCATOR_ALLOCATOR_STATE_H

/*
 * Allocator state: PyTorch's segments at the peak and at the end of the program's work, and the
 * statistics of its allocator. Also the blocks of each peak by the step and phase that allocated
 * them, and short-lived allocations. It observes the replay.
 *
 *   gmt_allocator_state_init(&state, recording, traces, timeline, error);
 *   options.observers = ...;
 *   options.observer_count += gmt_allocator_state_observers(&state, observers);
 *   gmt_replay_run(&replay, recording, traces, &options, error);
 *   gmt_allocator_state_finish(&state, &replay, until_ns, error);
 */

#include "analysis/allocator/allocator.h"
#include "analysis/history/attribution.h"
#include "analysis/allocator/short_lived.h"
#include "analysis/history/module_tensors.h"
#include "analysis/history/owner_peaks.h"
#include "analysis/history/peaks.h"
#include "analysis/allocator/segments.h"

enum {
	GMT_ALLOCATOR_STATE_MAX_ACCOUNTS = GMT_PEAKS_ACCOUNTS,
	GMT_ALLOCATOR_STATE_MAX_OBSERVERS = 5,
};

struct gmt_allocator_state {
	struct gmt_allocator allocator;
	struct gmt_attribution attribution;
	struct gmt_short_lived short_lived;
	struct gmt_owner_peaks owner_peaks;
	struct gmt_module_tensors module_tensors;
	/* segments of the devices of layer torch, ordered by device, peak before end */
	GMT_VEC(struct gmt_segments) segments;
	GMT_VEC(uint64_t) largest_bytes;       /* size of the largest block of each site */
	bool has_torch; /* false: `allocator` and `segments` are empty */
	/* The fields below are used only while the replay runs. */
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	const struct gmt_timeline *timeline;
	struct gmt_mark_spans captures; /* captures of CUDA graphs */
	struct gmt_peaks peaks;
	uint64_t next_needed_stamp; /* the next moment at which this observer needs an event */
	bool has_end_snapshot;  /* the state at the end of the work has been taken */
	bool is_in_compacted;   /* the replay is still in the compacted prefix */
};

/*
 * Prepares the state. Fails only if memory is exhausted. `ret_state` (zeroed) belongs to the
 * caller, must not move, and borrows all these arguments. End it with gmt_allocator_state_fini.
 */
enum gmt_status gmt_allocator_state_init(struct gmt_allocator_state *ret_state,
	const struct gmt_recording *recording, const struct gmt_traces *traces,
	const struct gmt_timeline *timeline, struct gmt_error *error);

/*
 * Writes the observers for the replay to `observers`, in the order in which they must run. Returns
 * their number, at most GMT_ALLOCATOR_STATE_MAX_OBSERVERS.
 */
size_t gmt_allocator_state_observers(struct gmt_allocator_state *state,
	struct gmt_replay_observer *observers);

/*
 * Completes the state. `replay` is the finished replay, which ran until `until_ns`. Fails only if
 * memory is exhausted.
 */
enum gmt_status gmt_allocator_state_finish(struct gmt_allocator_state *state,
	const struct gmt_replay *replay, uint64_t until_ns, struct gmt_error *error);

void gmt_allocator_state_fini(struct gmt_allocator_state *state);

#endif
