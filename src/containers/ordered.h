/* SPDX-License-Identifier: MIT */
#ifndef GMT_CONTAINERS_ORDERED_H
#define GMT_CONTAINERS_ORDERED_H

/*
 * A map from 64-bit keys to 64-bit values that knows their order: which range does an address lie in?
 * Sorted pages of entries, so that a million entries cost a search in two short arrays and one move
 * within a page. Zero-initialise to make one. One thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/vec.h"

struct gmt_ordered_entry {
	uint64_t key, value;
};

struct gmt_ordered_page {
	uint64_t first; /* key of its first entry */
	struct gmt_ordered_entry *entries;
	size_t count;
};

struct gmt_ordered {
	GMT_VEC(struct gmt_ordered_page) pages; /* none is empty */
	size_t count;
};

/* Sets `key` to `value`, replacing what was there; false when out of memory, nothing changed. */
bool gmt_ordered_put(struct gmt_ordered *ordered, uint64_t key, uint64_t value);

/* Takes `key` out; false when it was not there. */
bool gmt_ordered_remove(struct gmt_ordered *ordered, uint64_t key);

/* The entry with the largest key that is not above `key`; NULL when there is none. Good until a change. */
const struct gmt_ordered_entry *gmt_ordered_find_below(const struct gmt_ordered *ordered, uint64_t key);

void gmt_ordered_fini(struct gmt_ordered *ordered);

#endif
