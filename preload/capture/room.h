/* SPDX-License-Identifier: MIT */
#ifndef GMT_CAPTURE_ROOM_H
#define GMT_CAPTURE_ROOM_H

/*
 * Whether the stack that this thread is on has room for the recorder. A signal handler may run on a stack of
 * its own (sigaltstack), which is often 8 KiB, in the middle of the host's data, and has no guard page: what
 * runs over it changes the host's memory. The kernel knows its bounds. Stacks of threads are larger, and those of
 * routines (makecontext) are known to nobody: both are taken for large enough.
 */

#include <stdint.h>

#include "thread.h"

/* What of the recorder may run here. */
enum gmt_room {
	GMT_ROOM_NONE,   /* nothing: the event is lost */
	GMT_ROOM_EVENT,  /* the event without stacks, where the recording has begun */
	GMT_ROOM_ENOUGH, /* all */
};

enum { GMT_ROOM_BLOCK_SHIFT = 14 }; /* 16 KiB of stack are asked for once */

/* Of the calling thread's stack around `here`, where that is not known yet: one system call. */
enum gmt_room gmt_room_ask(uintptr_t here);

/* The calling thread's. A look at two words of the thread, and a system call now and then. */
static inline enum gmt_room gmt_room_here(void)
{
	const struct gmt_thread_state *thread = &gmt_this_thread;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), block = here >> GMT_ROOM_BLOCK_SHIFT;

	if (__builtin_expect(thread->roomy_blocks[0] == block || thread->roomy_blocks[1] == block, 1))
		return GMT_ROOM_ENOUGH;
	return gmt_room_ask(here);
}

#endif
