/* SPDX-License-Identifier: MIT */
#ifndef GMT_ACCOUNTING_QUEUE_H
#define GMT_ACCOUNTING_QUEUE_H

/*
 * A queue by stamp, then order: what comes first leaves first. In the flow: fold. A binary heap, so that
 * each push and each pop is short. Zero-initialise to make one. One thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"

struct gmt_queue_entry {
	uint64_t stamp;
	uint64_t order; /* among equal stamps */
	uint32_t item;  /* the owner's */
};

struct gmt_queue {
	GMT_VEC(struct gmt_queue_entry) entries;
};

/* False when out of memory. */
bool gmt_queue_push(struct gmt_queue *queue, struct gmt_queue_entry entry);

/* Takes the first one out; false when there is none. */
bool gmt_queue_pop(struct gmt_queue *queue, struct gmt_queue_entry *ret_entry);

void gmt_queue_fini(struct gmt_queue *queue);

#endif
