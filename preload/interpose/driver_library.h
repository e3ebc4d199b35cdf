/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_DRIVER_LIBRARY_H
#define GMT_INTERPOSE_DRIVER_LIBRARY_H

/*
 * The libcuda of this process, and the addresses of its functions. The recorder is not linked to
 * libcuda and never loads it. It learns the library from the first function of libcuda that it
 * sees.
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "runtime/hidden.h"

enum gmt_driver_state { GMT_DRIVER_NOT_SEEN, GMT_DRIVER_BEING_OPENED, GMT_DRIVER_KNOWN };

extern GMT_HIDDEN _Atomic int gmt_driver_state; /* enum gmt_driver_state */

/* Returns whether the driver is known. Any thread; each event calls it. */
static inline bool gmt_driver_is_known(void)
{
	/* Pairs with the release in gmt_driver_library_open. */
	return atomic_load_explicit(&gmt_driver_state, memory_order_acquire) == GMT_DRIVER_KNOWN;
}

/* Returns the library's handle for gmt_original_dlsym. Call it at the stage driver_found. */
void *gmt_driver_library(void);

/*
 * Learns the driver from the address of any function in it. Keeps the library loaded for ever, and
 * finds all hooked functions. Runs the stage driver_found (runtime/stages.h). Idempotent, and
 * cheap after the first call. Do not call it inside dlsym.
 */
void gmt_driver_library_open(const void *function);

/* Returns the name of the library's export at exactly this address, or NULL. */
const char *gmt_driver_export_name(const void *function);

/*
 * Returns whether `function` is the exact address of a driver export that has no row in hooks.def.
 */
bool gmt_driver_exports_unhooked(const void *function);

/* Returns the hook that the driver exports at this address, or GMT_HOOK_NONE. */
unsigned gmt_driver_hook_at(const void *function);

#endif
