/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_TIMELINE_H
#define GMT_READER_STEPS_TIMELINE_H

/*
 * Steps and phases of a recording. In the flow: snapshot + traces -> timeline -> replay observers,
 * analyses. docs/internals/leak-rules.md has the rules in words.
 *
 * Steps come from the first of these that has any: the program's own marks, NVTX ranges that are
 * called a step, PyTorch's optimizers, passes of the program's outermost loop, outermost calls of a module, what its
 * allocations repeat, so many allocations each. Evaluation beside an optimizer gets a counter of its own: calls of a module.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"
#include "reader/load/snapshot.h"
#include "reader/stacks/traces.h"

enum gmt_step_source {
	GMT_STEPS_PROGRAM,
	GMT_STEPS_NVTX,
	GMT_STEPS_OPTIMIZER,
	GMT_STEPS_FORWARD,
	GMT_STEPS_LOOP,
	GMT_STEPS_PATTERN,
	GMT_STEPS_ALLOCATIONS,
	GMT_STEPS_SOURCES,
};

/* Whether steps of this source are told from allocations, not from what the program says or does at their ends. */
static inline bool gmt_steps_are_told(enum gmt_step_source source)
{
	return source >= GMT_STEPS_FORWARD;
}

/* A step's events have stamps above `begin` and up to `end`. Steps do not overlap and are in order. */
struct gmt_step {
	uint64_t begin, end; /* stamps */
	bool is_inner; /* one of several that a fold put together, and not the last of them: its end is a guess */
};

/* A counter whose steps were folded. */
struct gmt_step_compacted {
	uint32_t counter; /* row of the snapshot's past.counters */
	uint32_t first_step;
	uint32_t steps;   /* that are there */
};

/* A counter of steps. */
struct gmt_step_series {
	enum gmt_step_source source;
	const char *name; /* what counts: the optimizer's class, the range's name; "" for the program's own */
	bool frees_itself; /* no interpreter takes the program apart at its end: what ends there, it frees itself */
	GMT_VEC(struct gmt_step) steps;
	GMT_VEC(struct gmt_step_compacted) compacted; /* of a folded recording, in order: whose steps the series has up to the fold */
	bool lacks_past; /* some of these steps are missing, or the fold kept nothing of what sites held at their ends */
};

struct gmt_phase {
	const char *name;
	uint64_t begin, end; /* stamps; `end` is the recording's where it was never closed */
	uint32_t thread;     /* id of the thread that opened it */
	uint32_t depth;      /* how many phases of its source and thread it lies in */
	uint8_t source;      /* enum gmt_mark_source */
	bool open;           /* never closed */
};

/* From this stamp on, until the next segment, this is the innermost phase. */
struct gmt_phase_segment {
	uint64_t begin;
	uint32_t phase_plus_1; /* index in phases; 0: none */
};

enum { GMT_TIMELINE_SERIES = 2 }; /* the program's steps, and forward calls outside of them */

struct gmt_timeline {
	struct gmt_step_series series[GMT_TIMELINE_SERIES];
	size_t series_count; /* 0: no steps were found */
	const char *why_none; /* then: why, for the reader */
	bool may_be_folded;   /* calls of modules may lie in events that are in totals only, and are not told */
	char name_text[320]; /* why_none, and the name of steps by loop, pattern or allocations */
	GMT_VEC(struct gmt_phase) phases; /* by begin */
	GMT_VEC(struct gmt_phase_segment) segments;     /* of all phases */
	GMT_VEC(struct gmt_phase_segment) own_segments; /* of those that the program marked and ended */
	uint64_t work_end;   /* stamp: what follows is teardown; UINT64_MAX when nothing says so */
};

/* Fails only for lack of memory. `ret_timeline` (zeroed) is the caller's; end it with gmt_timeline_fini. */
enum gmt_status gmt_timeline_init(struct gmt_timeline *ret_timeline, const struct gmt_snapshot *snapshot,
	const struct gmt_traces *traces, struct gmt_error *error);

void gmt_timeline_fini(struct gmt_timeline *timeline);

/* "program", "nvtx", "optimizer", "forward", "loop", "pattern", "allocations". */
const char *gmt_step_source_name(enum gmt_step_source source);

/* The step of a series that a stamp lies in; false when it lies in none. */
bool gmt_series_find(const struct gmt_step_series *series, uint64_t stamp, uint32_t *ret_step);

/*
 * Likewise, of stamps that mostly come in order: *step is 0 at first, and then what was found for the stamp before. Of
 * series whose steps end one after the other, as those of marks and ranges do.
 */
bool gmt_series_find_next(const struct gmt_step_series *series, uint64_t stamp, uint32_t *step);

/*
 * The innermost phase around a stamp, whatever thread opened it (a backward pass works in threads of its
 * own); with `own` only of those that the program marked itself and ended. NULL when there is none.
 */
const struct gmt_phase *gmt_timeline_phase(const struct gmt_timeline *timeline, uint64_t stamp, bool own);

#endif
