/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_PATH_H
#define GMT_TESTS_PATH_H

/*
 * Which instructions of the recorder a call goes through, and how to stop in front of each of them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "tracee.h"

/*
 * In front of one instruction: so many steps in the recorder behind the first time that the call
 * comes to `anchor`.
 */
struct position {
	uint64_t offset; /* of the instruction, in the recorder's file */
	uint64_t anchor; /* likewise */
	uint64_t steps;
	uint32_t pass;      /* how often the call has been there by then, with this time */
	uint32_t paths;     /* that were recorded and go through it */
	uint32_t last_path; /* the last one of them */
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
 * From a gate to the next one, instruction by instruction; appends to `path`. No memory left:
 * TRACEE_FAILED.
 */
struct tracee_stop path_record(struct tracee *tracee, struct path *path);
void path_fini(struct path *path);

/*
 * Counts the positions of `path`: one for each different instruction, or for each of its steps.
 * False when there is no memory left.
 */
bool positions_add(struct positions *positions, const struct path *path, uint64_t shim_base,
	bool each_step);
void positions_fini(struct positions *positions);

/*
 * Takes out what fewer than `least` or more than `most` paths go through. Returns how many
 * positions that are.
 */
size_t positions_keep(struct positions *positions, uint32_t least, uint32_t most);

/* How many different instructions there are. */
size_t positions_count_instructions(const struct positions *positions);

/*
 * From a gate to that position. TRACEE_BREAK: there it is. TRACEE_GATE: this time the call did not
 * come there.
 */
struct tracee_stop path_go_to(struct tracee *tracee, const struct position *position);

#endif
