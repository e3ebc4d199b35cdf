/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_COUNTERS_H
#define GMT_READER_STEPS_COUNTERS_H

/*
 * Chooses which of several things (optimizers, marks) counts the steps. Things of one class form
 * one counter if they are used in sequence: one ends before the other begins. The counter with the
 * highest count wins; among equal counters, the counter that began first. If the caller sets
 * is_late, only the late counts decide.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"

struct gmt_counter {
	uint64_t class; /* hash of the class name */
	uint64_t first, last; /* stamps */
	uint64_t count;
	uint64_t late; /* the part of `count` while is_late was set */
	uint64_t runs; /* how many times it counted after another thing had counted */
	uint32_t chain;
};

struct gmt_counters {
	struct gmt_map ids; /* from thing and class to index */
	GMT_VEC(struct gmt_counter) rows;
	size_t last_plus_1; /* row that counted last */
	/* set by the caller: only later counts decide. Helpers that fill a cache count less and less */
	bool is_late;
	uint32_t winner; /* chain */
};

/*
 * Counts one for the thing with this key and class. Stamps must not decrease. Returns false when
 * out of memory.
 */
bool gmt_counters_add(struct gmt_counters *counters, uint64_t key, const char *class,
	uint64_t stamp);

/* Which things form one counter. */
enum gmt_counters_chaining {
	GMT_COUNTERS_OF_A_CLASS, /* things of one class in sequence */
	/* any things in sequence, such as one optimizer for the warm-up and another for the rest */
	GMT_COUNTERS_OF_ANY,
	/* also things that take turns, if each counts three times or more in a row */
	GMT_COUNTERS_IN_ROWS,
};

/* Counts `more` for the thing that counted last, at the same stamp. */
void gmt_counters_add_more(struct gmt_counters *counters, uint64_t more);

/*
 * Chains the things and chooses the winner. Call after all counts. Returns false when out of
 * memory.
 */
bool gmt_counters_chain(struct gmt_counters *counters, enum gmt_counters_chaining chaining);

/* Returns whether a thing belongs to the winning counter. */
bool gmt_counters_counts(const struct gmt_counters *counters, uint64_t key, const char *class);

void gmt_counters_fini(struct gmt_counters *counters);

#endif
