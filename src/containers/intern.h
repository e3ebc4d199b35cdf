/* SPDX-License-Identifier: MIT */
#ifndef GMT_CONTAINERS_INTERN_H
#define GMT_CONTAINERS_INTERN_H

/*
 * One copy of equal bytes, called by a small number: strings, frames, stacks of frame numbers. Equal
 * bytes always get the same id, different ones never do (the hash only finds candidates).
 * Zero-initialise to make one. One thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/arena.h"
#include "containers/map.h"
#include "containers/vec.h"

struct gmt_interned {
	const void *bytes; /* aligned for anything, with a NUL behind them */
	uint32_t length;
	uint32_t next_plus_1; /* another entry with the same hash */
};

struct gmt_intern {
	struct gmt_arena arena;
	struct gmt_map ids; /* hash to the newest entry with it */
	GMT_VEC(struct gmt_interned) entries;
};

/*
 * The id of these `length` bytes (below 4 GiB), copied when they are new. Ids count from 0.
 * False when out of memory.
 */
bool gmt_intern(struct gmt_intern *intern, const void *bytes, size_t length, uint32_t *ret_id);

/* The same for a string, without its NUL. */
bool gmt_intern_text(struct gmt_intern *intern, const char *text, uint32_t *ret_id);

/* The bytes of an id that gmt_intern returned; good until gmt_intern_fini. */
const struct gmt_interned *gmt_intern_get(const struct gmt_intern *intern, uint32_t id);

void gmt_intern_fini(struct gmt_intern *intern);

#endif
