/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_ALLOCATOR_ALLOCATOR_STATE_H
#define GMT_ANALYSIS_ALLOCATOR_ALLOCATOR_STATE_H

/*
 * Where the memory went: PyTorch's segments at the peak and at the end of the program's work, its allocator's
 * statistics, what each peak is made of by step and phase of birth, short-lived giants. Observes the replay.
 *
 *	gmt_allocator_state_init(&where, snapshot, traces, timeline, error);
 *	options.observers = ...; options.observer_count += gmt_allocator_state_observers(&where, observers);
 *	gmt_replay_init(&replay, snapshot, traces, &options, error);
 *	gmt_allocator_state_finish(&where, &replay, until_ns, error);
 */

#include "analysis/allocator/allocator.h"
#include "analysis/history/attribution.h"
#include "analysis/allocator/short_lived.h"
#include "analysis/history/module_tensors.h"
#include "analysis/history/owner_peaks.h"
#include "analysis/history/peaks.h"
#include "analysis/allocator/segments.h"

enum {
	GMT_ALLOCATOR_STATE_ACCOUNTS = GMT_PEAKS_ACCOUNTS,
	GMT_ALLOCATOR_STATE_OBSERVERS = 5,
};

struct gmt_allocator_state {
	struct gmt_allocator allocator;
	struct gmt_attribution attribution;
	struct gmt_short_lived short_lived;
	struct gmt_owner_peaks owner_peaks;
	struct gmt_module_tensors module_tensors;
	GMT_VEC(struct gmt_segments) segments; /* of layer torch's devices; by device, peak before end */
	GMT_VEC(uint64_t) largest_bytes;       /* by site: its largest block */
	bool has_torch; /* else `allocator` and `segments` are empty */
	/* While the replay runs. */
	const struct gmt_snapshot *snapshot;
	const struct gmt_traces *traces;
	const struct gmt_timeline *timeline;
	struct gmt_spans captures; /* into CUDA graphs */
	struct gmt_peaks peaks;
	uint64_t quiet_until; /* the end of the work */
	bool has_ended; /* it is over */
	bool is_past;   /* a survivor of a fold is played */
};

/*
 * Fails only for lack of memory. `ret_where` (zeroed) is the caller's, stays where it is, and borrows from all of
 * these; end it with gmt_allocator_state_fini.
 */
enum gmt_status gmt_allocator_state_init(struct gmt_allocator_state *ret_where, const struct gmt_snapshot *snapshot,
	const struct gmt_traces *traces, const struct gmt_timeline *timeline, struct gmt_error *error);

/* Puts what is to look on at the replay to `observers`, in that order; returns how many, at most GMT_ALLOCATOR_STATE_OBSERVERS. */
size_t gmt_allocator_state_observers(struct gmt_allocator_state *where, struct gmt_replay_observer *observers);

/* `replay` is the finished one, until `until_ns`. Fails only for lack of memory. */
enum gmt_status gmt_allocator_state_finish(struct gmt_allocator_state *where, const struct gmt_replay *replay, uint64_t until_ns,
	struct gmt_error *error);

void gmt_allocator_state_fini(struct gmt_allocator_state *where);

#endif
