/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_TIMELINE_H
#define GMT_READER_STEPS_TIMELINE_H

/*
 * Steps and phases of a recording. In the flow: recording + traces -> timeline -> replay observers,
 * analyses. docs/internals/rules/steps.md describes the rules.
 *
 * Steps come from the first of these sources that has any: the program's own marks; NVTX ranges
 * named like a step; PyTorch's optimizers; passes of the program's outermost loop; outermost calls
 * of a module; repeating allocations; a fixed number of allocations. If the steps come from an
 * optimizer, evaluation gets a second series: calls of a module.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"
#include "reader/load/recording.h"
#include "reader/stacks/traces.h"

enum gmt_step_source {
	GMT_STEPS_PROGRAM,
	GMT_STEPS_NVTX,
	GMT_STEPS_OPTIMIZER,
	GMT_STEPS_MODULE_CALLS,
	GMT_STEPS_LOOP,
	GMT_STEPS_PATTERN,
	GMT_STEPS_ALLOCATIONS,
	GMT_STEPS_SOURCES,
};

/*
 * Returns whether steps of this source are inferred from allocations. The other sources record the
 * ends of steps directly.
 */
static inline bool gmt_steps_are_inferred(enum gmt_step_source source)
{
	return source >= GMT_STEPS_MODULE_CALLS;
}

/*
 * A step contains the events with stamps above `begin` and up to `end`. Steps are in order and do
 * not overlap.
 */
struct gmt_step {
	uint64_t begin, end; /* stamps */
	/* one of several steps that a compaction merged, except the last; its end is an estimate */
	bool is_inner;
};

/* A counter whose steps were compacted. */
struct gmt_step_compacted {
	uint32_t counter; /* index in the recording's compacted.counters */
	uint32_t first_step;
	uint32_t steps;   /* number of its steps in the series */
};

/* A series of steps from one source. */
struct gmt_step_series {
	enum gmt_step_source source;
	const char *name; /* the optimizer's class or the range's name; "" for steps of the program */
	/* no interpreter shuts the program down: it frees memory at its end itself */
	bool frees_itself;
	GMT_VEC(struct gmt_step) steps;
	/* of a compacted recording: the counters of the steps before the compaction, in order */
	GMT_VEC(struct gmt_step_compacted) compacted;
	/* steps are missing, or the compaction lacks what sites held at the ends of steps */
	bool lacks_compacted_samples;
};

struct gmt_phase {
	const char *name;
	/* stamps; `end` is the end of the recording if the phase was never closed */
	uint64_t begin, end;
	uint32_t thread; /* id of the thread that opened it */
	uint32_t depth; /* how many phases of the same source and thread contain it */
	uint8_t source; /* enum gmt_mark_source */
	bool open; /* never closed */
};

/* From this stamp until the next segment, the phase is the innermost phase. */
struct gmt_phase_segment {
	uint64_t begin;
	uint32_t phase_plus_1; /* index in `phases`; 0: no phase */
};

enum { GMT_TIMELINE_SERIES = 2 }; /* the program's steps, and module calls outside of them */

struct gmt_timeline {
	struct gmt_step_series series[GMT_TIMELINE_SERIES];
	size_t series_count; /* 0: no steps were found */
	const char *why_no_steps; /* the reason, for the user, if no steps were found */
	bool
		may_be_compacted; /* module calls may be hidden in events that were compacted into totals */
	/* text of why_no_steps, or the name of steps by loop, pattern or allocations */
	char name_text[320];
	GMT_VEC(struct gmt_phase) phases; /* in order of `begin` */
	GMT_VEC(struct gmt_phase_segment) segments; /* of all phases */
	/* of phases that the program itself marked and closed, except cells of notebooks */
	GMT_VEC(struct gmt_phase_segment) own_segments;
	uint64_t work_end; /* stamp: later events are teardown; UINT64_MAX: unknown */
};

/*
 * Finds the steps and phases. Fails only when out of memory. The caller owns `ret_timeline`
 * (zeroed) and frees it with gmt_timeline_fini.
 */
enum gmt_status gmt_timeline_compute(struct gmt_timeline *ret_timeline,
	const struct gmt_recording *recording, const struct gmt_traces *traces,
	struct gmt_error *error);

/*
 * Removes the phases that begin after a moment, in nanoseconds since the recording began. Later
 * lookups must be about stamps up to that moment.
 */
void gmt_timeline_end_phases(struct gmt_timeline *timeline, const struct gmt_recording *recording,
	uint64_t until_ns);

void gmt_timeline_fini(struct gmt_timeline *timeline);

/* Returns "program", "nvtx", "optimizer", "forward", "loop", "pattern" or "allocations". */
const char *gmt_step_source_name(enum gmt_step_source source);

/* Finds the step that contains a stamp. Returns false if no step contains it. */
bool gmt_series_find(const struct gmt_step_series *series, uint64_t stamp, uint32_t *ret_step);

/*
 * Does the same as gmt_series_find, faster for stamps that mostly come in order. *step is 0 at
 * first, then the previous result. The steps must end in order, as steps of marks and ranges do.
 */
bool gmt_series_find_next(const struct gmt_step_series *series, uint64_t stamp, uint32_t *step);

/*
 * Returns the innermost phase around a stamp, regardless of the thread that opened it, because a
 * backward pass runs in its own threads. With `own`, considers only phases that the program itself
 * marked and closed. Returns NULL if there is no phase.
 */
const struct gmt_phase *gmt_timeline_phase(const struct gmt_timeline *timeline, uint64_t stamp,
	bool own);

#endif
