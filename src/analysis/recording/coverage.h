/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_RECORDING_COVERAGE_H
#define GMT_ANALYSIS_RECORDING_COVERAGE_H

/* What of the CUDA surface a recording has seen, and what it could not see: the recorder's own audit. */

#include "containers/vec.h"
#include "reader/load/snapshot.h"

struct gmt_coverage_api {
	const struct gmt_api *api;
	uint64_t calls; /* also inside other hooked functions, and those that nothing came of */
};

/* A library by which the process reached the device. */
struct gmt_coverage_library {
	const char *role; /* driver, runtime, allocator, management */
	const char *path;
};

struct gmt_coverage {
	bool has_counts; /* the recorder counted calls: version 2 of the format */
	bool is_whole;   /* and says which functions were never called, as it does at an orderly end */
	GMT_VEC(struct gmt_coverage_api) called; /* most calls first */
	GMT_VEC(struct gmt_coverage_api) never;  /* by library and name */
	GMT_VEC(struct gmt_coverage_library) libraries; /* in the order of loading */
	GMT_VEC(const struct gmt_unhooked *) unhooked;  /* each name and road once, by name */
};

/* Points into `snapshot`. Fails only for lack of memory. The caller's (zeroed); end it with gmt_coverage_fini. */
enum gmt_status gmt_coverage_init(struct gmt_coverage *ret_coverage, const struct gmt_snapshot *snapshot,
	struct gmt_error *error);

void gmt_coverage_fini(struct gmt_coverage *coverage);

#endif
