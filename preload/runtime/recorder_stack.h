/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_RECORDER_STACK_H
#define GMT_RUNTIME_RECORDER_STACK_H

/*
 * The recorder's own stacks, for work that needs more stack than an event may take from the host.
 *
 * A hooked call may run on any stack: a thread's, a signal's (sigaltstack), a coroutine's, or an
 * array in some frame. The recorder cannot know how much of this stack is left, or whether data of
 * the host lies directly below. So the path of an event takes at most GMT_HOST_STACK_BYTES of it,
 * which is less than a call of the driver takes. All other work runs on a recorder stack.
 *
 * Signals are blocked while a thread is on a recorder stack. A handler must not run there, because
 * some handlers examine the stack that they run on. There is a second reason: a thread may have
 * left its signal stack only for this work. For the next signal, the kernel would treat that stack
 * as free and overwrite it. Signals that report a fault of the running instruction are not blocked:
 * if they were, the kernel would end the process.
 */

#include <stdbool.h>

enum {
	/*
	 * Bytes of the host's stack that an event of a hooked call may use. tests/shim/host_stack
	 * checks this.
	 */
	GMT_HOST_STACK_BYTES = 1024,
	/* Number of threads that can be on a recorder stack at one time. */
	GMT_RECORDER_STACKS = 64,
	GMT_RECORDER_STACK_BYTES = 128 << 10,
};

/*
 * Calls work(argument) on a recorder stack and returns true. If the current stack is a recorder
 * stack, or if the thread is the recorder's own, calls it on the current stack. Returns false, and
 * does not call `work`, if no stack is free or there is no memory for one. Any thread. Only `work`
 * may change errno. A cancellation of the thread takes effect after the work.
 */
bool gmt_recorder_stack_run(void (*work)(void *argument), void *argument);

/* Declares that the calling thread is the recorder's own and never needs a recorder stack. */
void gmt_recorder_stack_not_needed(void);

#endif
