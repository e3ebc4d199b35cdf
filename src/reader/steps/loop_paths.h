/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_LOOP_PATHS_H
#define GMT_READER_STEPS_LOOP_PATHS_H

/*
 * Stacks as paths from the outermost frame inward: at each level a function, which is a node, and the line that it is
 * at. Equal functions that were called from equal lines are one node. Part of loops.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "reader/stacks/traces.h"

enum { GMT_LOOP_LEVELS = 64 }; /* of a path, the outermost ones */

struct gmt_loop_level {
	uint32_t node;
	uint32_t line;
};

/* A function, called from one line of another one. */
struct gmt_loop_node {
	uint32_t parent_plus_1; /* 0: an outermost function */
	uint32_t parent_line;
	uint32_t place;  /* one of its frames, in traces->places */
	uint32_t depth;  /* its level in paths */
	uint32_t best_plus_1; /* of those that it calls, the one with most allocations; 0: none */
	uint64_t allocs; /* in it, and in what it called */
};

struct gmt_loop_path {
	size_t first; /* in levels */
	uint32_t count;
	uint64_t allocs;
};

struct gmt_loop_paths {
	const struct gmt_traces *traces;
	bool has_python; /* then frames are Python's, else native ones */
	GMT_VEC(uint32_t) path_of; /* by stack: path + 2; 1: it has none; 0: not looked at */
	struct gmt_map node_ids, path_ids;
	GMT_VEC(struct gmt_loop_node) nodes; /* a parent before its children */
	GMT_VEC(struct gmt_loop_level) levels;
	GMT_VEC(struct gmt_loop_path) paths;
	uint32_t best_plus_1; /* of the outermost functions */
};

/* `paths` is zeroed. False when out of memory; gmt_loop_paths_fini in any case. */
bool gmt_loop_paths_init(struct gmt_loop_paths *paths, const struct gmt_traces *traces);

/*
 * The path of a stack: of the program's frames outside of modules, as modules have loops of their own. *ret_path_plus_1
 * is 0 for stacks that say nothing: of a backward pass, or without frames. False when out of memory.
 */
bool gmt_loop_paths_get(struct gmt_loop_paths *paths, uint32_t stack, uint32_t *ret_path_plus_1);

/* Adds what the paths allocated to the nodes, and finds the best of them. */
void gmt_loop_paths_sum(struct gmt_loop_paths *paths);

void gmt_loop_paths_fini(struct gmt_loop_paths *paths);

#endif
