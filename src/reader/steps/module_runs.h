/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_MODULE_RUNS_H
#define GMT_READER_STEPS_MODULE_RUNS_H

/*
 * Calls of modules that follow each other: what a thread allocates in modules that one place calls, with nothing outside
 * of modules between. Part of inference_steps.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "reader/steps/loop_paths.h"
#include "reader/steps/timeline.h"

/* A place in the program that calls a module. */
struct gmt_forward_context {
	uint64_t hash;      /* of the frames outside of the call */
	uint32_t last_step; /* of main, + 1 */
	uint32_t step_count; /* steps of main that it shows up in */
	uint32_t last_backward; /* step of main, + 1 ... */
	uint32_t backward_count; /* ... in which a backward pass followed it */
	uint32_t run_count;
	uint32_t parted_count; /* runs that an allocation by the calling function itself ended */
	uint32_t path_plus_1; /* of the calling function; 0: it has none */
	bool is_evaluation;
};

/* Allocations of one thread in calls from one context, nothing outside of calls between them. */
struct gmt_forward_run {
	uint32_t context;
	size_t first, count; /* tokens */
};

struct gmt_forward_token {
	uint64_t stamp;
	uint64_t size_bytes;
	uint64_t frees; /* hash of what the run freed since the token before: how many tokens ago it was made */
	uint32_t stack;
};

struct gmt_forward_runs {
	const struct gmt_snapshot *snapshot;
	const struct gmt_traces *traces;
	const struct gmt_step_series *main; /* the program's steps; NULL when there are none */
	uint64_t work_end;
	struct gmt_events_reader reader;
	struct gmt_loop_paths paths;
	GMT_VEC(uint32_t) stack_kinds; /* by stack, see module_runs.c */
	struct gmt_map context_ids;
	GMT_VEC(struct gmt_forward_context) contexts;
	struct gmt_map open_runs; /* thread to index of its run, + 1; 0 when it is outside */
	struct gmt_map live;      /* address to number of its token */
	GMT_VEC(struct gmt_forward_run) runs;
	GMT_VEC(struct gmt_forward_token) tokens; /* at the end those of a run lie next to each other, in order */
	GMT_VEC(uint32_t) run_of;     /* by token, as they come */
	GMT_VEC(uint32_t) number_of;  /* by token, as they come: in its run */
	GMT_VEC(uint64_t) frees_of;   /* by run: since its last token */
};

/* Fills contexts, runs and tokens. The first four members are set, all else is zero. False when out of memory. */
bool gmt_forward_runs_collect(struct gmt_forward_runs *runs);

void gmt_forward_runs_fini(struct gmt_forward_runs *runs);

#endif
