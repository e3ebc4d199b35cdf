/* SPDX-License-Identifier: MIT */
#ifndef GMT_ACCOUNTING_BACKWARD_ATTRIBUTION_H
#define GMT_ACCOUNTING_BACKWARD_ATTRIBUTION_H

/*
 * Finds the backward call that autograd's threads work for. In the flow: events in order ->
 * backward attribution -> the Python stack of the caller. The loader of a recording
 * (reader/load/backward_stacks.h) and compaction (compact.h) use it.
 *
 * The rule: a thread is one of autograd's threads if its name begins with "pt_autograd". The thread
 * that calls a backward pass waits in that call, and makes its first gradient there. So its last
 * Python stack lies in torch.autograd's backward() or grad(). While this is true for exactly one
 * other thread, the work of autograd's threads is attributed to that thread's call. If it is true
 * for no thread (the program passed a gradient to the call) or for several (two threads train),
 * nothing is attributed.
 *
 * No threads, no I/O. Zero-initialise the structure before use.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "format/format.h"

struct gmt_backward_attribution_thread {
	uint32_t id;
	uint32_t call; /* frames id of its backward call; 0: the thread is not in a backward call */
	bool is_autograd;
};

struct gmt_backward_attribution {
	struct gmt_map thread_ids; /* maps a thread id to an index in threads */
	GMT_VEC(struct gmt_backward_attribution_thread) threads;
	uint32_t callers;    /* number of threads that are in a backward call */
	/* sum of the callers' indices; if there is one caller, the sum is its index */
	uint64_t caller_index_sum;
};

/* Returns whether a thread with this name is one of autograd's. */
bool gmt_backward_attribution_is_autograd(struct gmt_slice thread_name);

/* Returns whether this Python function, in this file, starts a backward pass for a program. */
bool gmt_backward_attribution_is_call(struct gmt_slice file, struct gmt_slice function);

/*
 * Registers a thread before its first event is processed. A thread that is not registered counts as
 * ordinary. Returns false when out of memory.
 */
bool gmt_backward_attribution_register_thread(struct gmt_backward_attribution *backward_attribution,
	uint32_t thread, bool is_autograd);

/*
 * Stores the last Python stack of an ordinary thread, and whether that stack lies in a backward
 * call. Returns false when out of memory.
 */
bool gmt_backward_attribution_set_stack(struct gmt_backward_attribution *backward_attribution,
	uint32_t thread, uint32_t frames, bool lies_in_call);

bool gmt_backward_attribution_is_autograd_thread(
	const struct gmt_backward_attribution *backward_attribution, uint32_t thread);

/*
 * Returns the id of the Python stack of the running backward call. Returns 0 if no call runs, or
 * more than one.
 */
uint32_t gmt_backward_attribution_caller(
	const struct gmt_backward_attribution *backward_attribution);

void gmt_backward_attribution_fini(struct gmt_backward_attribution *backward_attribution);

#endif
