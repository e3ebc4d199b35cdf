/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIFECYCLE_LOAD_H
#define GMT_LIFECYCLE_LOAD_H

/*
 * Makes the recorder ready before it is used. The loader runs the constructors of linked libraries before ours,
 * because ours is preloaded. Such a constructor may call CUDA. So every entry that may be the first one calls gmt_load.
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "runtime/hidden.h"

/* True when everything of the constructor is done. lifecycle.c writes it. */
extern GMT_HIDDEN _Atomic bool gmt_is_loaded;

/* The rare part of gmt_load. */
void gmt_load_now(void);

/*
 * Does the work of our constructor, unless it is done. Any thread. A second thread waits until the first one is done, for a
 * bounded time. Returns at once in the thread that is doing the work.
 */
static inline void gmt_load(void)
{
	/* Pairs with the release in gmt_load_now. */
	if (__builtin_expect(!atomic_load_explicit(&gmt_is_loaded, memory_order_acquire), 0))
		gmt_load_now();
}

#endif
