/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_LOOP_PATHS_H
#define GMT_READER_STEPS_LOOP_PATHS_H

/*
 * Represents stacks as paths from the outermost frame inward. Each level has a node (a function)
 * and the current line in it. Equal functions called from equal lines are one node. Part
 * of the search for the loop whose passes are steps (loop_steps.c).
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "reader/stacks/traces.h"

enum { GMT_LOOP_LEVELS = 64 }; /* maximum length of a path; the outermost levels are kept */

struct gmt_loop_level {
	uint32_t node;
	uint32_t line;
};

/* A function that is called from one line of another function. */
struct gmt_loop_node {
	uint32_t parent_plus_1; /* 0: an outermost function */
	uint32_t place;  /* one of its frames: index in traces->places */
	uint32_t depth;  /* its level in paths */
	uint32_t best_plus_1; /* the callee with most allocations; 0: no callee */
	uint64_t allocs; /* in the function and in its callees */
};

struct gmt_loop_path {
	size_t first; /* index in `levels` */
	uint32_t count;
	uint64_t allocs;
};

struct gmt_loop_paths {
	const struct gmt_traces *traces;
	bool has_python; /* true: only Python frames count; false: only native frames */
	GMT_VEC(uint32_t) path_of; /* for each stack: path + 2; 1: no path; 0: not examined */
	struct gmt_map node_ids, path_ids;
	GMT_VEC(struct gmt_loop_node) nodes; /* a parent comes before its children */
	GMT_VEC(struct gmt_loop_level) levels; /* of all paths, path by path */
	GMT_VEC(struct gmt_loop_path) paths;
	uint32_t best_plus_1; /* the outermost function with most allocations; 0: no function */
};

/*
 * Prepares `paths` (zeroed). Returns false when out of memory. The caller must call
 * gmt_loop_paths_fini in both cases.
 */
bool gmt_loop_paths_init(struct gmt_loop_paths *paths, const struct gmt_traces *traces);

/*
 * Gets the path of a stack, from the program's frames outside of modules. Modules have their own
 * loops. Sets *ret_path_plus_1 to 0 for stacks without information: stacks of a backward pass, and
 * stacks without frames. Returns false when out of memory.
 */
bool gmt_loop_paths_get(struct gmt_loop_paths *paths, uint32_t stack, uint32_t *ret_path_plus_1);

/*
 * Adds the allocations of each path to all nodes of the path. Then sets best_plus_1 of `paths` and
 * of each node. Call it once, when the `allocs` of all paths are complete.
 */
void gmt_loop_paths_sum(struct gmt_loop_paths *paths);

void gmt_loop_paths_fini(struct gmt_loop_paths *paths);

#endif
