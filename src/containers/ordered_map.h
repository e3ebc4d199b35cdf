/* SPDX-License-Identifier: MIT */
#ifndef GMT_CONTAINERS_ORDERED_MAP_H
#define GMT_CONTAINERS_ORDERED_MAP_H

/*
 * An ordered map from 64-bit keys to 64-bit values. It answers: which range does an address lie in?
 * The entries are in sorted pages. With a million entries, a call costs a search in two short
 * arrays and one move within a page. Zero-initialise before use. One thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/vec.h"

struct gmt_ordered_map_entry {
	uint64_t key, value;
};

struct gmt_ordered_map_page {
	uint64_t first; /* key of its first entry */
	struct gmt_ordered_map_entry *entries;
	size_t count;
};

struct gmt_ordered_map {
	GMT_VEC(struct gmt_ordered_map_page) pages; /* no page is empty */
	size_t count;
};

/*
 * Sets `key` to `value` and replaces an older value. Returns false when out of memory; then nothing
 * has changed.
 */
bool gmt_ordered_map_put(struct gmt_ordered_map *ordered, uint64_t key, uint64_t value);

/* Removes `key`. Returns false if the map does not contain it. */
bool gmt_ordered_map_remove(struct gmt_ordered_map *ordered, uint64_t key);

/*
 * Returns the entry with the largest key that is at most `key`, or NULL. Valid until the map
 * changes.
 */
const struct gmt_ordered_map_entry *gmt_ordered_map_find_below(
	const struct gmt_ordered_map *ordered, uint64_t key);

void gmt_ordered_map_fini(struct gmt_ordered_map *ordered);

#endif
