/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_RECORDER_STACK_H
#define GMT_RUNTIME_RECORDER_STACK_H

/*
 * Stacks of the recorder's own, for work that needs more stack than an event may take from the host.
 *
 * A hooked call comes from any stack: a thread's, a signal's (sigaltstack), a coroutine's, an array in some frame. Nothing
 * tells how much of it is left, or whether the host's data lies right below. So the path of an event takes at most
 * GMT_HOST_STACK_BYTES of it, which is less than a call of the driver takes. All other work runs here.
 *
 * Signals are held back while a thread is on a recorder stack. A handler must not run there: some handlers look at the stack
 * they run on. The kernel would also take a signal stack for free that the thread has only left for this work. Signals that
 * report a fault of the running instruction stay open, because the kernel ends the process if they are blocked.
 */

#include <stdbool.h>

enum {
	GMT_HOST_STACK_BYTES = 1024,    /* of the host's stack, for an event of a hooked call; tests/shim/host_stack holds this */
	GMT_RECORDER_STACKS = 64,       /* threads that are on one at a time */
	GMT_RECORDER_STACK_BYTES = 128 << 10,
};

/*
 * Calls work(argument) on a recorder stack and returns true. Runs it on the current stack if this is a recorder stack, or a
 * stack of the recorder's own threads. Returns false if no stack is free or no memory: the work was not done.
 * Any thread. Keeps errno, except what `work` sets. Cancellation of the thread waits until the work is done.
 */
bool gmt_recorder_stack_run(void (*work)(void *argument), void *argument);

/* Frees all stacks in the child of a fork: their threads do not exist there. */
void gmt_recorder_stack_after_fork(void);

#endif
