/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_ORDER_KEYS_H
#define GMT_READER_LOAD_ORDER_KEYS_H

/*
 * Sorts what some threads wrote in turn. In the flow: order -> order_keys. Each thread's part is in order already, so
 * keys are dealt to piles, one for each thread that is there at a time, and the piles are merged: that costs what the
 * disorder costs. One thread; false means out of memory.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"

/* What an event is sorted by: its stamp, and of equal ones what came first. */
struct gmt_order_key {
	uint64_t stamp;
	uint32_t rank;  /* set by sorting: where the key stood before */
	uint32_t place; /* the owner's */
};

/* Keys that are in order one behind the other. */
struct gmt_order_pile {
	uint64_t last_stamp;
	uint32_t count, end; /* its keys; where its last one is */
};

/* Room for sorting; zero-initialise to make one. */
struct gmt_order_sorter {
	GMT_VEC(uint32_t) starts; /* of sorted runs, then of piles; and the end of the last one */
	GMT_VEC(uint32_t) dealt;  /* by run: its pile */
	GMT_VEC(struct gmt_order_pile) piles;
	GMT_VEC(struct gmt_order_key) from, to;
};

/* Of less than 2^32 keys, at least one. */
bool gmt_order_sort(struct gmt_order_sorter *sorter, struct gmt_order_key *keys, size_t count);

void gmt_order_sorter_fini(struct gmt_order_sorter *sorter);

#endif
