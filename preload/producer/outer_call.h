/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_OUTER_CALL_H
#define GMT_PRODUCER_OUTER_CALL_H

/*
 * Whether the outermost call of a thread is still on its stack.
 *
 * Some calls never return: a signal handler jumps out of one (siglongjmp), a C++ exception passes through it, its thread is
 * cancelled in it. Then all later calls of the thread seem to lie inside that one, or to interrupt the recorder. Other calls are
 * made by signal handlers that interrupt the driver. So where a call begins inside another one, and does not come from where
 * such calls come from, the recorder looks at the stack.
 *
 * A call's place is its canonical frame address (`cfa`): the stack pointer of its caller. `caller` is where it returns to.
 */

#include <stdbool.h>
#include <stdint.h>

#include "producer/thread.h"

enum gmt_outer_call {
	GMT_OUTER_CALL_AROUND,      /* it is on the stack, or nobody knows */
	GMT_OUTER_CALL_INTERRUPTED, /* it is, and a signal handler has interrupted it */
	GMT_OUTER_CALL_GONE,        /* it was left */
};

/*
 * Looks for the outermost call, or the event that the thread is busy with. A cfa of 0: the place is not known. The calling
 * thread's state; on any stack. Slow, but for callers that were found to call inside other calls.
 */
enum gmt_outer_call gmt_outer_call_look(const struct gmt_thread_state *thread, uintptr_t cfa, const void *caller);

/*
 * Makes the thread one that is in no call. Counts the call that was left as lost, and records the events that waited for its end,
 * without stacks.
 */
void gmt_outer_call_forget(struct gmt_thread_state *thread);

/* The calling thread ends the process. Counts the call that it is in as lost: nobody will know what it has done. */
void gmt_outer_call_end_process(void);

#endif
