/* SPDX-License-Identifier: MIT */
#include "producer/thread_state.h"

#include <string.h>

#include "runtime/stages.h"

__thread struct gmt_thread_state gmt_this_thread __attribute__((tls_model("initial-exec")));

/*
 * Resets the calling thread's state in the child of a fork, unless the fork has interrupted the
 * recorder.
 */
static void after_fork(void)
{
	struct gmt_thread_state *thread = &gmt_this_thread;
	/* Includes the parent's calls, because a child may fork again in the same call. */
	uint64_t depth = thread->depth + thread->parent_depth;

	if (!gmt_thread_is_interrupted(thread)) {
		uint8_t kind = thread->parent_depth ? thread->parent_kind : thread->outer_kind;

		memset(thread, 0, sizeof(*thread));
		thread->parent_depth = depth;
		thread->parent_kind = kind;
		return;
	}
	/*
	 * A call that just begins belongs to this process, because the driver is called later.
	 * Everything else belongs to a call that the parent made.
	 */
	if (thread->in_recorder || thread->closed != GMT_CLOSED_BEGIN)
		thread->in_recorder |= GMT_IN_RECORDER_FORKED;
	else
		gmt_thread_drop_waiting(thread);
	thread->tid = 0;
	thread->events_until_retry = 0;
	thread->is_known_own_process = false;
}

GMT_AT_STAGE(after_fork, THREAD, after_fork);
