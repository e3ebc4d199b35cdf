/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_UNHOOKED_H
#define GMT_INTERPOSE_UNHOOKED_H

/*
 * Functions that were looked up, look as if they got or gave back memory (allocation_like.def), and are
 * neither hooked nor left out on purpose (not_hooked.def): holes in what is recorded, which the file names.
 * Any thread; no lock, no memory, and nothing of the C library's, so that dlsym may ask.
 */

#include <stdbool.h>

enum { GMT_UNHOOKED_MAX = 128, GMT_UNHOOKED_NAME_BYTES = 72 };

enum gmt_road { GMT_ROAD_DLSYM, GMT_ROAD_PROC_ADDRESS };

/* Whether a function of that name, which has no row in hooks.def, would be a hole. */
bool gmt_unhooked_would_be(const char *name);

/* It was looked up, and found. Once for each name and road; beyond GMT_UNHOOKED_MAX none is kept. */
void gmt_unhooked_add(const char *name, enum gmt_road road);

/* Number `index` of them; NULL: there are no more yet. */
const char *gmt_unhooked_get(unsigned index, enum gmt_road *ret_road);

#endif
