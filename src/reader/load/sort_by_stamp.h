/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_SORT_BY_STAMP_H
#define GMT_READER_LOAD_SORT_BY_STAMP_H

/*
 * Sorts the events of several threads by time. In the flow: order -> sort_by_stamp.
 *
 * A patience sort. The keys of each thread are already in order. So the sorter deals the keys to
 * piles, about one for each thread that was active, and merges the piles. The cost grows with the
 * disorder.
 *
 * For one thread. gmt_stamp_sort returns false when out of memory.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"

/* The sort key of an event: its stamp. Keys with equal stamps keep their order. */
struct gmt_stamp_key {
	uint64_t stamp;
	uint32_t rank;  /* set by the sorter: the key's index before the sort */
	uint32_t slot; /* the caller's value; the sorter only copies it */
};

/* A sequence of sorted runs whose keys stay in order. */
struct gmt_stamp_pile {
	uint64_t last_stamp;
	uint32_t count, end; /* `count` keys; `end` is the index after the last one */
};

/* Working memory for sorts. Initialize with zeros. */
struct gmt_stamp_sorter {
	/* first index of each sorted run, later of each pile; then the end of the last one */
	GMT_VEC(uint32_t) starts;
	GMT_VEC(uint32_t) pile_of_run;  /* for each run: the index of its pile */
	GMT_VEC(struct gmt_stamp_pile) piles;
	GMT_VEC(struct gmt_stamp_key) from, to;
};

/* Sorts `keys`. `count` must be at least 1 and less than 2^32. Returns false when out of memory. */
bool gmt_stamp_sort(struct gmt_stamp_sorter *sorter, struct gmt_stamp_key *keys, size_t count);

void gmt_stamp_sorter_fini(struct gmt_stamp_sorter *sorter);

#endif
