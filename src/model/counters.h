/* SPDX-License-Identifier: MIT */
#ifndef GMT_MODEL_COUNTERS_H
#define GMT_MODEL_COUNTERS_H

/*
 * Which of several things counts the steps. Things of one class that are used one after the other, not
 * side by side (an optimizer for each epoch), are one counter; the counter that counts most often
 * wins, of equal ones the one that began first.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

struct gmt_counter {
	uint64_t class; /* hash of class name */
	uint64_t first, last; /* stamps */
	uint64_t count;
	uint32_t chain;
};

struct gmt_counters {
	struct gmt_map ids; /* thing and class to index */
	GMT_VEC(struct gmt_counter) rows;
	uint32_t winner; /* chain */
};

/* The thing of this key and class counted. Stamps do not decrease. False when out of memory. */
bool gmt_counters_add(struct gmt_counters *counters, uint64_t key, const char *class, uint64_t stamp);

/* Once all is added. False when out of memory. */
bool gmt_counters_chain(struct gmt_counters *counters);

/* Whether a thing belongs to the counter that won. */
bool gmt_counters_counts(const struct gmt_counters *counters, uint64_t key, const char *class);

void gmt_counters_fini(struct gmt_counters *counters);

#endif
