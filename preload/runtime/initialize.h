/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_INITIALIZE_H
#define GMT_RUNTIME_INITIALIZE_H

/*
 * Initializes the recorder before its first use. The work itself is registered for the stage
 * `initialize` (runtime/stages.h). The recorder's constructor calls gmt_initialize. But the loader
 * runs the constructors of linked libraries earlier, because the recorder is preloaded, and such a
 * constructor may call CUDA. So every function that a program may call first calls gmt_initialize.
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "runtime/hidden.h"

/* Whether the work is done. */
extern GMT_HIDDEN _Atomic bool gmt_is_initialized;

/*
 * Slow path of gmt_initialize: does the work, or waits for the thread that does it.
 */
void gmt_initialize_now(void);

/*
 * Does the work, unless it is done. Any thread. A second thread waits for the first, for a bounded
 * time. Returns at once in the thread that is doing the work.
 */
static inline void gmt_initialize(void)
{
	/* Pairs with the release in gmt_initialize_now. */
	if (__builtin_expect(!atomic_load_explicit(&gmt_is_initialized, memory_order_acquire), 0))
		gmt_initialize_now();
}

#endif
