/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_RECORDING_FUNCTION_COVERAGE_H
#define GMT_ANALYSIS_RECORDING_FUNCTION_COVERAGE_H

/*
 * Coverage: the CUDA functions that the program called, those that it did not call, and those that
 * the recorder does not hook. The data comes from the recorder.
 */

#include "containers/vec.h"
#include "reader/load/recording.h"

struct gmt_function_coverage_api {
	const struct gmt_api *api;
	uint64_t calls; /* includes calls inside other hooked functions, and calls without an event */
};

/* A library through which the process used the device. */
struct gmt_function_coverage_library {
	const char *role; /* driver, runtime, allocator, management */
	const char *path;
};

struct gmt_function_coverage {
	bool has_counts; /* the recorder counted calls: version 2 of the format */
	/* the recorder also listed functions that were never called: it ended in order */
	bool is_whole;
	GMT_VEC(struct gmt_function_coverage_api) called; /* most calls first */
	GMT_VEC(struct gmt_function_coverage_api) never_called; /* by library and name */
	GMT_VEC(struct gmt_function_coverage_library) libraries; /* in the order of loading */
	/* each pair of name and route (the function that looked it up) once, by name */
	GMT_VEC(const struct gmt_unhooked *) unhooked;
};

/*
 * Fills the coverage, which points into `recording`. Fails only if memory is exhausted.
 * `ret_coverage` (zeroed) belongs to the caller; end it with gmt_function_coverage_fini.
 */
enum gmt_status gmt_function_coverage_compute(struct gmt_function_coverage *ret_coverage,
	const struct gmt_recording *recording, struct gmt_error *error);

void gmt_function_coverage_fini(struct gmt_function_coverage *coverage);

#endif
