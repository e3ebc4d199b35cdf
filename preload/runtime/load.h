/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_LOAD_H
#define GMT_RUNTIME_LOAD_H

/*
 * Prepares the recorder before it is used. The work itself is registered for the stage `load`
 * (runtime/stages.h). The constructor calls gmt_load. But the loader runs the constructors of
 * linked libraries before the recorder's, because the recorder is preloaded. Such a constructor may
 * call CUDA. So every function that may be called first calls gmt_load.
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "runtime/hidden.h"

/* True when the work is done. */
extern GMT_HIDDEN _Atomic bool gmt_is_loaded;

/*
 * Does the work, or waits for the thread that does it. The slow path of
 * gmt_load.
 */
void gmt_load_now(void);

/*
 * Does the work, unless it is done. Any thread. A second thread waits until the
 * first thread is done, for a bounded time. Returns at once in the thread that is doing the work.
 */
static inline void gmt_load(void)
{
	/* Pairs with the release in gmt_load_now. */
	if (__builtin_expect(!atomic_load_explicit(&gmt_is_loaded, memory_order_acquire), 0))
		gmt_load_now();
}

#endif
