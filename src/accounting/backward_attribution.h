/* SPDX-License-Identifier: MIT */
#ifndef GMT_ACCOUNTING_BACKWARD_ATTRIBUTION_H
#define GMT_ACCOUNTING_BACKWARD_ATTRIBUTION_H

/*
 * For which backward call autograd's threads work. In the flow: events in order -> adoption -> the Python
 * stack of the caller; used when a recording is loaded (reader/load/backward_stacks.h) and by folding (compact.h).
 *
 * The rule: autograd's threads are those whose name begins with "pt_autograd". The thread that calls a
 * backward pass waits in it, and makes its first gradient there; so while exactly one other thread's
 * last Python stack lies in torch.autograd's backward() or grad(), what autograd's threads do is for
 * that call. Where none or several do (a gradient was given to the call, two threads train), nothing
 * is said. No threads, no I/O. Zero-initialise to make one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "format/format.h"

struct gmt_backward_attribution_thread {
	uint32_t id;
	uint32_t call; /* frames id of its backward call; 0: it is not in one */
	bool is_autograd;
};

struct gmt_backward_attribution {
	struct gmt_map thread_ids; /* thread id to index in threads */
	GMT_VEC(struct gmt_backward_attribution_thread) threads;
	uint32_t callers;    /* threads that are in a backward call */
	uint64_t caller_sum; /* of their indices: of one caller, its own */
};

/* Whether a thread of this name is one of autograd's. */
bool gmt_backward_attribution_is_autograd(struct gmt_slice thread_name);

/* Whether a Python function of this file is one by which a program asks for a backward pass. */
bool gmt_backward_attribution_is_call(struct gmt_slice file, struct gmt_slice function);

/* A thread, before its first event is looked at; what is not told of is ordinary. False when out of memory. */
bool gmt_backward_attribution_know(struct gmt_backward_attribution *backward_attribution, uint32_t thread, bool is_autograd);

/* An ordinary thread's last Python stack, and whether it lies in a backward call. False when out of memory. */
bool gmt_backward_attribution_note(struct gmt_backward_attribution *backward_attribution, uint32_t thread, uint32_t frames, bool lies_in_call);

/* Whether a thread is one of autograd's. */
bool gmt_backward_attribution_has(const struct gmt_backward_attribution *backward_attribution, uint32_t thread);

/* The id of the Python stack of the one call that runs; 0 when there is none or more than one. */
uint32_t gmt_backward_attribution_caller(const struct gmt_backward_attribution *backward_attribution);

void gmt_backward_attribution_fini(struct gmt_backward_attribution *backward_attribution);

#endif
