/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_UNHOOKED_H
#define GMT_INTERPOSE_UNHOOKED_H

/*
 * Functions that a program looked up and that seem to allocate or free memory
 * (allocation_like.def), but have no hook. The recording lists their names, because it misses their
 * effects. Functions that are not hooked on purpose (not_hooked.def) are not listed. Any thread. No
 * lock, no memory and no call of the C library, so dlsym may call these functions.
 */

#include <stdbool.h>

enum { GMT_UNHOOKED_MAX = 128, GMT_UNHOOKED_NAME_BYTES = 72 };

enum gmt_lookup_route { GMT_LOOKUP_ROUTE_DLSYM, GMT_LOOKUP_ROUTE_PROC_ADDRESS };

/*
 * Returns whether the recording must list this name. `name` has no row in hooks.def.
 */
bool gmt_unhooked_is_candidate(const char *name);

/*
 * Adds a function that was looked up and found, once for each name and route. Drops names after the
 * first GMT_UNHOOKED_MAX.
 */
void gmt_unhooked_add(const char *name, enum gmt_lookup_route route);

/* Returns name number `index`, or NULL if there are fewer names. */
const char *gmt_unhooked_get(unsigned index, enum gmt_lookup_route *ret_route);

#endif
