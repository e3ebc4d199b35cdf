/* SPDX-License-Identifier: MIT */
#ifndef GMT_CONTAINERS_PRIORITY_QUEUE_H
#define GMT_CONTAINERS_PRIORITY_QUEUE_H

/*
 * A priority queue, ordered by stamp, then by `order`. Compaction uses it. It is a binary heap: a
 * push and a pop take logarithmic time. Zero-initialise before use. Not thread-safe.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"

struct gmt_priority_queue_entry {
	uint64_t stamp;
	uint64_t order; /* order among equal stamps */
	uint32_t item;  /* the owner's value */
};

struct gmt_priority_queue {
	GMT_VEC(struct gmt_priority_queue_entry) entries;
};

/* Adds an entry. Returns false when out of memory. */
bool gmt_priority_queue_push(struct gmt_priority_queue *queue,
	struct gmt_priority_queue_entry entry);

/* Removes the first entry. Returns false if the queue is empty. */
bool gmt_priority_queue_pop(struct gmt_priority_queue *queue,
	struct gmt_priority_queue_entry *ret_entry);

void gmt_priority_queue_fini(struct gmt_priority_queue *queue);

#endif
