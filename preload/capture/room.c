/* SPDX-License-Identifier: MIT */
#include "capture/room.h"

#include <signal.h>

enum {
	STACKS_BYTES = 14336, /* libunwind's needs, 9 KiB where they were measured, and half as much again */
	EVENT_BYTES = 3072,
};

enum gmt_room gmt_room_ask(uintptr_t here)
{
	struct gmt_thread_state *thread = &gmt_this_thread;
	stack_t stack;

	if (sigaltstack(NULL, &stack) || !(stack.ss_flags & SS_ONSTACK)) {
		thread->roomy_block_before = thread->roomy_block;
		thread->roomy_block = here >> GMT_ROOM_BLOCK_SHIFT;
		return GMT_ROOM_ENOUGH;
	}

	uintptr_t bytes = here - (uintptr_t)stack.ss_sp;

	return bytes >= STACKS_BYTES ? GMT_ROOM_ENOUGH : bytes >= EVENT_BYTES ? GMT_ROOM_EVENT : GMT_ROOM_NONE;
}
