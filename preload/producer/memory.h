/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_MEMORY_H
#define GMT_PRODUCER_MEMORY_H

/*
 * What a thread remembers of its last stacks. Given to each thread that takes some, for as long as it lives; it is
 * found out who does not need it any more.
 */

#include <stddef.h>

#include "python/python_trace.h"
#include "unwind/walk.h"
#include "producer/thread.h"

enum { GMT_CAPTURE_MEMORIES = 1024 }; /* threads at one time */

struct gmt_capture_memory {
	uint32_t slot; /* in memory.c */
	struct gmt_walk walk;
	struct gmt_python_trace trace;
};

/*
 * It begins with a page, and each array of a walk takes whole ones: so all of them meet in the middle of a page, or at the edge of
 * two.
 */
#define GMT_CAPTURE_IN_PAGE(member) (offsetof(struct gmt_capture_memory, member) % 4096)
_Static_assert(GMT_CAPTURE_IN_PAGE(walk.fp_values) > 1024 && GMT_CAPTURE_IN_PAGE(walk.fp_values) < 3072 &&
	GMT_CAPTURE_IN_PAGE(walk.fp_places) > 1024 && GMT_CAPTURE_IN_PAGE(walk.fp_places) < 3072 &&
	GMT_CAPTURE_IN_PAGE(walk.own_stack) > 1024 && GMT_CAPTURE_IN_PAGE(walk.own_stack) < 3072,
	"what is looked at on both sides of each of these is on one page");

/*
 * Memory for the calling thread, empty; NULL when there is none left. It is the thread's until it says that it ends or
 * the kernel knows it no more. A few system calls, no lock.
 */
struct gmt_capture_memory *gmt_capture_memory_claim(void);

/* The calling thread ends: another one may have its memory. A capture after this claims some anew. */
void gmt_capture_memory_leave(void);

/* In the child of a fork: all of it is free, but what the forking thread still has. */
void gmt_capture_memory_after_fork(void);

/* The calling thread's; NULL when there is none left. */
static inline struct gmt_capture_memory *gmt_capture_memory_get(void)
{
	struct gmt_capture_memory *memory = gmt_this_thread.memory;

	return memory ? memory : gmt_capture_memory_claim();
}

#endif
