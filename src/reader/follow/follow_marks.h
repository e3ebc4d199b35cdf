/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_FOLLOW_FOLLOW_MARKS_H
#define GMT_READER_FOLLOW_FOLLOW_MARKS_H

/*
 * Steps and phases of a recording that is followed, from its marks. Unlike timeline.h, it infers
 * no steps: only the program's own marks, NVTX ranges named like a step, and PyTorch's optimizers
 * count. For one thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"
#include "reader/load/recording.h"

/*
 * A counter of steps: all marks of kind `step` with the same source and object, or all NVTX ranges
 * of a thread. Their names must be equal without their digits.
 */
struct gmt_follow_counter {
	const char *name;
	uint64_t name_hash; /* of the name without its digits */
	uint64_t object;
	uint64_t steps;
	uint64_t last_stamp, previous_stamp; /* of the last two marks; 0: there is none */
	uint8_t source;                      /* enum gmt_mark_source */
};

/* A phase that has begun and not ended. */
struct gmt_follow_phase {
	const char *name;
	uint64_t object; /* its number, or its domain if it is of a thread */
	uint32_t thread;
	uint8_t source;
	bool is_by_number;
};

struct gmt_follow_heap_name {
	const char *name;
	uint8_t source;
};

/* Initialize with zeros. */
struct gmt_follow_marks {
	GMT_VEC(struct gmt_follow_counter) counters;
	GMT_VEC(struct gmt_follow_phase) phases; /* in the order in which they began */
	uint64_t left_out; /* counters and phases beyond a limit */
	bool is_paused;    /* blocks are recorded without stacks */
	uint64_t work_end; /* stamp of the first mark `teardown`; 0: the program's work goes on */
};

/* Adds a mark. Marks must come in order. Returns false when out of memory. */
bool gmt_follow_marks_add(struct gmt_follow_marks *marks, const struct gmt_recording_mark *mark);

/* Adds the steps that a compacted recording no longer has. Returns false when out of memory. */
bool gmt_follow_marks_add_compacted(struct gmt_follow_marks *marks,
	const struct gmt_recording *recording);

/*
 * Returns the counter of the steps of training: of the program's own marks, or else of NVTX, or
 * else of the optimizer, with the most steps. NULL: no step was marked.
 */
const struct gmt_follow_counter *gmt_follow_marks_steps(const struct gmt_follow_marks *marks);

/* Returns the name of the innermost phase, the one that began last; NULL: there is none. */
const char *gmt_follow_marks_phase(const struct gmt_follow_marks *marks);

void gmt_follow_marks_fini(struct gmt_follow_marks *marks);

#endif
