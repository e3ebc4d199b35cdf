/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_MODULE_RUNS_H
#define GMT_READER_STEPS_MODULE_RUNS_H

/*
 * Finds runs of module calls. A run is what a thread allocates in modules that one place calls,
 * with no allocation outside of modules between. Part of inference_steps.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "reader/steps/loop_paths.h"
#include "reader/steps/timeline.h"

/* A place in the program that calls a module. */
struct gmt_module_context {
	uint64_t hash;      /* of the frames outside of the call */
	uint32_t last_step; /* last step of `main` that contains it, plus 1 */
	uint32_t step_count; /* number of steps of `main` that contain it */
	uint32_t last_backward; /* last step of `main` in which a backward pass followed it, plus 1 */
	uint32_t backward_count; /* number of such steps */
	uint32_t run_count;
	uint32_t
		separated_count; /* runs that ended with an allocation by the calling function itself */
	uint32_t path_plus_1; /* of the calling function; 0: it has no path */
	bool is_evaluation;
};

/*
 * Allocations of one thread in calls from one context, without allocations outside of calls
 * between.
 */
struct gmt_module_run {
	uint32_t context;
	size_t first, count; /* tokens */
};

struct gmt_module_token {
	uint64_t stamp;
	uint64_t size_bytes;
	/*
	 * hash of the run's own blocks that it freed since the previous token, by their age in tokens
	 */
	uint64_t frees;
	uint32_t stack;
};

struct gmt_module_runs {
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	const struct gmt_step_series *main; /* the program's steps; NULL: no steps */
	uint64_t work_end;
	struct gmt_events_reader reader;
	struct gmt_loop_paths paths;
	GMT_VEC(uint32_t) stack_kinds; /* for each stack, see module_runs.c */
	struct gmt_map context_ids;
	GMT_VEC(struct gmt_module_context) contexts;
	/* from thread to the index of its run, plus 1; 0: it is outside of calls */
	struct gmt_map open_runs;
	struct gmt_map live;      /* from address to the index of its token */
	GMT_VEC(struct gmt_module_run) runs;
	/* finally, the tokens of a run lie next to each other, in order */
	GMT_VEC(struct gmt_module_token) tokens;
	GMT_VEC(uint32_t) run_of;     /* for each token, in order of arrival */
	GMT_VEC(uint32_t) number_of;  /* for each token, in order of arrival: its number in its run */
	GMT_VEC(uint64_t) frees_of;   /* for each run: hash of frees since its last token */
};

/*
 * Fills contexts, runs and tokens. The caller sets the first four members; the rest is zero.
 * Returns false when out of memory.
 */
bool gmt_module_runs_collect(struct gmt_module_runs *runs);

void gmt_module_runs_fini(struct gmt_module_runs *runs);

#endif
