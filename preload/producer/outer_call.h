/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_OUTER_CALL_H
#define GMT_PRODUCER_OUTER_CALL_H

/*
 * Finds out whether the outermost call of a thread is still on its stack.
 *
 * Some calls never return. A signal handler jumps out of the call (siglongjmp), a C++ exception
 * passes through it, or its thread is cancelled in it. Then all later calls of the thread seem to
 * lie inside that call, or seem to interrupt the recorder. Other calls come from signal handlers
 * that interrupt the driver. So the recorder checks the stack when a call begins inside another
 * call and its caller is not a known nested caller.
 *
 * A call is known by its canonical frame address (`cfa`): the stack pointer of its caller. `caller`
 * is its return address.
 */

#include <stdbool.h>
#include <stdint.h>

#include "producer/thread.h"

enum gmt_outer_call {
	GMT_OUTER_CALL_AROUND,      /* the call is on the stack, or this is unknown */
	GMT_OUTER_CALL_INTERRUPTED, /* the call is on the stack, and a signal handler interrupted it */
	GMT_OUTER_CALL_GONE, /* the call was left */
};

/*
 * Looks for the outermost call, or for the event that the thread is recording. `thread` is the
 * calling thread's state. A cfa of 0 means that it is unknown. Runs on any stack. Slow,
 * except for callers that are known to call inside other calls.
 */
enum gmt_outer_call gmt_outer_call_look(const struct gmt_thread_state *thread, uintptr_t cfa,
	const void *caller);

/*
 * Sets the thread to "in no call". Counts the call that was left as lost. Records the events that
 * waited for its end, without stacks.
 */
void gmt_outer_call_forget(struct gmt_thread_state *thread);

/*
 * Counts the calling thread's present call as lost, because the thread ends the process. The effect
 * of this call will stay unknown.
 */
void gmt_outer_call_end_process(void);

#endif
