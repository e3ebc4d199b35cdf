/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRELOAD_OUTER_CALL_H
#define GMT_PRELOAD_OUTER_CALL_H

/*
 * Calls that never return: a signal handler jumps out of one (siglongjmp), a C++ exception passes through it, its thread is
 * cancelled in it. Nobody tells the recorder, for which all later calls of the thread would lie inside that one, or interrupt
 * the recorder. So it looks, where a call begins that seems to, whether the outermost call is still on the stack.
 *
 * A call's place is its canonical frame address (`cfa`): the stack pointer of its caller. `caller` is where it returns to.
 */

#include <stdbool.h>
#include <stdint.h>

#include "thread.h"

/*
 * Whether the thread's outermost call, or the event that it is busy with, was left. A cfa of 0: not known. At most one look in
 * a fraction of a millisecond: in between the answer is false, and the calls are counted for gmt_outer_call_forget.
 * The calling thread's state; on any stack.
 */
bool gmt_outer_call_is_gone(struct gmt_thread_state *thread, uintptr_t cfa, const void *caller);

/*
 * Makes the thread one that is in no call. Counts the call that was left, and those that seemed to lie inside it, as lost.
 * Records the events that waited for its end, without stacks.
 */
void gmt_outer_call_forget(struct gmt_thread_state *thread);

#endif
