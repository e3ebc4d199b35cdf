/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_COUNTERS_H
#define GMT_READER_STEPS_COUNTERS_H

/*
 * Which of several things counts the steps. Things of one class that are used one after the other, not
 * side by side, are one counter: one ends before the other begins. The counter that counts most often
 * wins, of equal ones the one that began first. Where the caller says what is late, only that counts.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"

struct gmt_counter {
	uint64_t class; /* hash of class name */
	uint64_t first, last; /* stamps */
	uint64_t count;
	uint64_t late; /* of them, while is_late was set */
	uint64_t runs; /* times that it counted after another one did */
	uint32_t chain;
};

struct gmt_counters {
	struct gmt_map ids; /* thing and class to index */
	GMT_VEC(struct gmt_counter) rows;
	size_t last_plus_1; /* row that counted last */
	bool is_late; /* set by the caller: what counts from now on decides, as helpers that fill a cache count less and less */
	uint32_t winner; /* chain */
};

/* The thing of this key and class counted. Stamps do not decrease. False when out of memory. */
bool gmt_counters_add(struct gmt_counters *counters, uint64_t key, const char *class, uint64_t stamp);

/* What may be one counter. */
enum gmt_counters_chaining {
	GMT_COUNTERS_OF_A_CLASS, /* things of one class that follow each other */
	GMT_COUNTERS_OF_ANY,     /* things that follow each other: an optimizer to warm up, one for the rest */
	GMT_COUNTERS_IN_ROWS,    /* those, and things that take turns but count three times or more in a row */
};

/* What counted last did so many times more, at the same stamp. */
void gmt_counters_add_more(struct gmt_counters *counters, uint64_t more);

/* Once all is added. False when out of memory. */
bool gmt_counters_chain(struct gmt_counters *counters, enum gmt_counters_chaining chaining);

/* Whether a thing belongs to the counter that won. */
bool gmt_counters_counts(const struct gmt_counters *counters, uint64_t key, const char *class);

void gmt_counters_fini(struct gmt_counters *counters);

#endif
