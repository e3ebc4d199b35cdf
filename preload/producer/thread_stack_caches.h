/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_THREAD_STACK_CACHES_H
#define GMT_PRODUCER_THREAD_STACK_CACHES_H

/*
 * The stack caches of each thread, which remember its last stacks. A thread claims caches with its
 * first stack and keeps them while it lives. New threads claim the caches of ended threads.
 */

#include <stddef.h>

#include "python/python_trace.h"
#include "unwind/walk.h"
#include "producer/thread_state.h"

enum { GMT_THREAD_STACK_CACHES_MAX = 1024 }; /* threads at the same time */

struct gmt_thread_stack_caches {
	uint32_t slot; /* index in thread_stack_caches.c */
	struct gmt_walk walk;
	struct gmt_python_trace trace;
};

/*
 * The structure begins at a page boundary, and each array of a walk takes whole pages. So all these
 * members have the same offset in a page: the middle of a page, or a page boundary.
 */
#define GMT_STACK_CACHES_IN_PAGE(member) (offsetof(struct gmt_thread_stack_caches, member) % 4096)
_Static_assert(GMT_STACK_CACHES_IN_PAGE(walk.fp_values) > 1024 &&
		GMT_STACK_CACHES_IN_PAGE(walk.fp_values) < 3072 &&
		GMT_STACK_CACHES_IN_PAGE(walk.fp_slots) > 1024 &&
		GMT_STACK_CACHES_IN_PAGE(walk.fp_slots) < 3072 &&
		GMT_STACK_CACHES_IN_PAGE(walk.stack_bounds) > 1024 &&
		GMT_STACK_CACHES_IN_PAGE(walk.stack_bounds) < 3072,
	"the data before and behind the begin of each member is on one page");

/*
 * Claims empty caches for the calling thread. Returns NULL if no memory is left. The thread owns
 * them until the thread leaves them or the kernel no longer knows the thread. Makes a few system
 * calls, takes no lock.
 */
struct gmt_thread_stack_caches *gmt_thread_stack_caches_claim(void);

/*
 * Releases the calling thread's caches, because the thread ends. A later capture claims caches
 * again.
 */
void gmt_thread_stack_caches_leave(void);

/* Returns the calling thread's caches. Returns NULL if no memory is left. */
static inline struct gmt_thread_stack_caches *gmt_thread_stack_caches_get(void)
{
	struct gmt_thread_stack_caches *caches = gmt_this_thread.stack_caches;

	return caches ? caches : gmt_thread_stack_caches_claim();
}

#endif
