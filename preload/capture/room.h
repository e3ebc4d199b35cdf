/* SPDX-License-Identifier: MIT */
#ifndef GMT_CAPTURE_ROOM_H
#define GMT_CAPTURE_ROOM_H

/*
 * Whether the stack that this thread is on has room for the recorder. A signal handler may run on a stack of
 * its own (sigaltstack), which is often 8 KiB, in the middle of the host's data, and has no guard page: what
 * runs over it changes the host's memory. The kernel knows its bounds. Stacks of threads are larger, and those of
 * routines (makecontext) are known to nobody: both are taken for large enough.
 */

#include <stdbool.h>
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

/* Where the stack is in use now. The frame's address would take a register from each function that this is inlined in. */
static inline uintptr_t gmt_room_stack_pointer(void)
{
	uintptr_t here;

#if defined(__x86_64__)
	__asm__ volatile("movq %%rsp, %0" : "=r"(here));
#elif defined(__aarch64__)
	__asm__ volatile("mov %0, sp" : "=r"(here));
#else
	here = (uintptr_t)__builtin_frame_address(0);
#endif
	return here;
}

/* Whether there is room for all, as was found out before; `thread` is the calling thread's state. */
static inline bool gmt_room_is_known(const struct gmt_thread_state *thread)
{
	uintptr_t block = gmt_room_stack_pointer() >> GMT_ROOM_BLOCK_SHIFT;

	return __builtin_expect(thread->roomy_block == block, 1) || thread->roomy_block_before == block;
}

/* The calling thread's. A look at two words of the thread, and a system call now and then. */
static inline enum gmt_room gmt_room_here(void)
{
	return gmt_room_is_known(&gmt_this_thread) ? GMT_ROOM_ENOUGH : gmt_room_ask(gmt_room_stack_pointer());
}

#endif
