/* SPDX-License-Identifier: MIT */
#ifndef GMT_CONTAINERS_INTERN_H
#define GMT_CONTAINERS_INTERN_H

/*
 * Stores one copy of equal byte sequences and identifies it by a small number. It serves for
 * strings, frames, and stacks of frame numbers. Equal bytes always get the same id, and different
 * bytes never do (the hash only finds candidates). Zero-initialise before use. One thread at a
 * time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/arena.h"
#include "containers/map.h"
#include "containers/vec.h"

struct gmt_interned {
	const void *bytes; /* aligned for any type, followed by a NUL */
	uint32_t length;
	uint32_t next_plus_1; /* next entry with the same hash, plus 1 */
};

struct gmt_intern {
	struct gmt_arena arena;
	struct gmt_map ids; /* maps a hash to its newest entry */
	GMT_VEC(struct gmt_interned) entries;
};

/*
 * Returns the id of these `length` bytes (below 4 GiB) in *ret_id. Copies the bytes if they are
 * new. Ids count from 0. Returns false when out of memory.
 */
bool gmt_intern(struct gmt_intern *intern, const void *bytes, size_t length, uint32_t *ret_id);

/* Same as gmt_intern for a string, without its NUL. */
bool gmt_intern_text(struct gmt_intern *intern, const char *text, uint32_t *ret_id);

/* Returns the bytes of an id that gmt_intern returned. They are valid until gmt_intern_fini. */
const struct gmt_interned *gmt_intern_get(const struct gmt_intern *intern, uint32_t id);

void gmt_intern_fini(struct gmt_intern *intern);

#endif
