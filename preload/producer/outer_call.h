/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_OUTER_CALL_H
#define GMT_PRODUCER_OUTER_CALL_H

/*
 * Finds out whether the outermost hooked call of a thread is still on its stack.
 *
 * Some calls never return: they are abandoned. A signal handler jumps out of the call (siglongjmp),
 * a C++ exception passes through it, or its thread is cancelled in it. Then all later calls of the
 * thread seem to lie inside that call, or seem to interrupt the recorder. Other calls come from
 * signal handlers that interrupt the driver. So the recorder checks the stack when a call begins
 * inside another call, unless its caller is a known nested caller.
 *
 * The canonical frame address (`cfa`) identifies a call: it is the stack pointer of the caller.
 * `caller` is the return address of the call.
 */

#include <stdbool.h>
#include <stdint.h>

#include "producer/thread_state.h"

enum gmt_outer_call {
	GMT_OUTER_CALL_ACTIVE,      /* the call is on the stack, or this is unknown */
	GMT_OUTER_CALL_INTERRUPTED, /* the call is on the stack, and a signal handler interrupted it */
	GMT_OUTER_CALL_ABANDONED, /* the call is no longer on the stack */
};

/*
 * Looks for the outermost call, or for the event that the thread is recording. `thread` is the
 * calling thread's state. `cfa` 0: unknown. Runs on any stack. Slow, except for callers that are
 * known to call inside other calls.
 */
enum gmt_outer_call gmt_outer_call_check(const struct gmt_thread_state *thread, uintptr_t cfa,
	const void *caller);

/*
 * Ends the outermost call, which was abandoned: the thread is in no call afterwards. Counts the
 * call as lost. Records the events that waited for its end, without stacks.
 */
void gmt_outer_call_abandon(struct gmt_thread_state *thread);

/*
 * Counts the calling thread's present call as lost, because the thread ends the process and the
 * effect of the call stays unknown.
 */
void gmt_outer_call_end_process(void);

#endif
