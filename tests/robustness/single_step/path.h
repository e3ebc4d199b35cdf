/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_PATH_H
#define GMT_TESTS_PATH_H

/*
 * Finds the recorder's instructions that a call executes, and stops in front of each of them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "tracee.h"

/*
 * A position in front of one instruction: `steps` steps in the recorder after the call's first
 * arrival at `anchor`.
 */
struct position {
	uint64_t offset; /* of the instruction, in the recorder's file */
	uint64_t anchor; /* of an instruction, in the recorder's file */
	uint64_t steps;
	uint32_t pass;      /* how often the call has come to the instruction, this time included */
	uint32_t paths;     /* number of recorded paths through it */
	uint32_t last_path; /* the last of these paths */
};

struct path {
	GMT_VEC(uint64_t)
	addresses; /* in the recorder, in the order in which the call went through them */
};

struct positions {
	GMT_VEC(struct position) items;
	struct gmt_map known; /* index by instruction and pass */
	uint32_t paths;
};

/*
 * Steps from a gate to the next one, instruction by instruction, and appends them to `path`.
 * Returns TRACEE_FAILED when out of memory.
 */
struct tracee_stop path_record(struct tracee *tracee, struct path *path);
void path_fini(struct path *path);

/*
 * Adds the positions of `path`: one for each different instruction, or with `each_step` one for
 * each step. Returns false when out of memory.
 */
bool positions_add(struct positions *positions, const struct path *path, uint64_t shim_base,
	bool each_step);
void positions_fini(struct positions *positions);

/*
 * Removes positions that fewer than `min_paths` or more than `max_paths` paths go through. Returns
 * the number of removed positions.
 */
size_t positions_keep(struct positions *positions, uint32_t min_paths, uint32_t max_paths);

/* Returns the number of different instructions. */
size_t positions_count_instructions(const struct positions *positions);

/*
 * Runs from a gate to the position. Returns TRACEE_BREAK at the position, or TRACEE_GATE if the
 * call did not come there this time.
 */
struct tracee_stop path_go_to(struct tracee *tracee, const struct position *position);

#endif
