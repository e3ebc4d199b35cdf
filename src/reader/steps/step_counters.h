/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_STEP_COUNTERS_H
#define GMT_READER_STEPS_STEP_COUNTERS_H

/*
 * Chooses the counter of the steps. A counter counts the uses of an optimizer, a mark, or a context
 * of module calls. Counters of one class form one chain if they are used in sequence: one ends
 * before the other begins. The chain with the highest count wins. Among chains with equal counts,
 * the chain that began first wins. If the caller sets is_second_half, only the counts of the second
 * half decide.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"

struct gmt_step_counter {
	uint64_t class; /* hash of the class name */
	uint64_t first, last; /* stamps */
	uint64_t count;
	uint64_t second_half_count; /* part of `count`: counted while is_second_half was set */
	uint64_t runs; /* number of sequences in which only this counter counts */
	uint32_t chain; /* number of the chain that it belongs to */
};

struct gmt_step_counters {
	struct gmt_map ids; /* from key and class to index in rows */
	GMT_VEC(struct gmt_step_counter) rows;
	size_t last_plus_1; /* index of the row that counted last, plus 1; 0: no row */
	/*
	 * The caller may set this when half of the calls are counted. Then only the later counts
	 * decide, because helpers that fill a cache are called less and less often.
	 */
	bool is_second_half;
	uint32_t winner; /* number of the winning chain */
};

/*
 * Adds one to the counter with this key and class. Stamps must not decrease. Returns false when
 * out of memory.
 */
bool gmt_step_counters_add(struct gmt_step_counters *counters, uint64_t key, const char *class,
	uint64_t stamp);

/* Adds `more` to the counter that counted last, at the same stamp. */
void gmt_step_counters_add_to_last(struct gmt_step_counters *counters, uint64_t more);

/* Which counters form one chain. */
enum gmt_step_counters_chaining {
	GMT_STEP_COUNTERS_OF_A_CLASS, /* counters of one class in sequence */
	/* any counters in sequence, such as one optimizer for the warm-up and another for the rest */
	GMT_STEP_COUNTERS_OF_ANY,
	/* also counters that take turns, if each counts three times or more in a row */
	GMT_STEP_COUNTERS_IN_ROWS,
};

/*
 * Chains the counters and chooses the winner. Call after all counts. Returns false when out of
 * memory.
 */
bool gmt_step_counters_chain(struct gmt_step_counters *counters,
	enum gmt_step_counters_chaining chaining);

/* Returns whether a counter belongs to the winning chain. */
bool gmt_step_counters_counts(const struct gmt_step_counters *counters, uint64_t key,
	const char *class);

void gmt_step_counters_fini(struct gmt_step_counters *counters);

#endif
