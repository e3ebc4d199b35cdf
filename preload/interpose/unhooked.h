/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_UNHOOKED_H
#define GMT_INTERPOSE_UNHOOKED_H

/*
 * Functions that a program looked up and that seem to allocate or free memory
 * (allocation_like.def), but have no hook. Functions that are left out on purpose (not_hooked.def)
 * do not count. The recording misses their effects, so the file lists their names. Any thread. No
 * lock, no memory and no C library call, so that dlsym may call it.
 */

#include <stdbool.h>

enum { GMT_UNHOOKED_MAX = 128, GMT_UNHOOKED_NAME_BYTES = 72 };

enum gmt_route { GMT_ROUTE_DLSYM, GMT_ROUTE_PROC_ADDRESS };

/*
 * Returns whether a function of that name, which has no row in hooks.def, would be missing in the
 * recording.
 */
bool gmt_unhooked_is_candidate(const char *name);

/*
 * Records that the function was looked up and found. Once for each name and route. After
 * GMT_UNHOOKED_MAX names, further names are dropped.
 */
void gmt_unhooked_add(const char *name, enum gmt_route route);

/* Returns the name with number `index`, or NULL if there are no more yet. */
const char *gmt_unhooked_get(unsigned index, enum gmt_route *ret_route);

#endif
