/* SPDX-License-Identifier: MIT */
#include "capture/room.h"

#include <signal.h>
#include <stdint.h>

#include "thread.h"

enum {
	STACKS_BYTES = 14336, /* libunwind's needs, 9 KiB where they were measured, and half as much again */
	EVENT_BYTES = 3072,
	BLOCK_SHIFT = 14,     /* 16 KiB of stack are asked for once */
};

enum gmt_room gmt_room_here(void)
{
	struct gmt_thread_state *thread = &gmt_this_thread;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), block = here >> BLOCK_SHIFT;
	stack_t stack;

	if (thread->roomy_blocks[0] == block || thread->roomy_blocks[1] == block)
		return GMT_ROOM_ENOUGH;
	if (sigaltstack(NULL, &stack) || !(stack.ss_flags & SS_ONSTACK)) {
		thread->roomy_blocks[1] = thread->roomy_blocks[0];
		thread->roomy_blocks[0] = block;
		return GMT_ROOM_ENOUGH;
	}

	uintptr_t bytes = here - (uintptr_t)stack.ss_sp;

	return bytes >= STACKS_BYTES ? GMT_ROOM_ENOUGH : bytes >= EVENT_BYTES ? GMT_ROOM_EVENT : GMT_ROOM_NONE;
}
