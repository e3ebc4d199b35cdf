/* SPDX-License-Identifier: MIT */
#include "record/commit.h"

#include <errno.h>
#include <pthread.h>

#include "capture/native.h"
#include "capture/python.h"
#include "config.h"
#include "record/modules.h"
#include "record/session.h"
#include "thread.h"
#include "wire/format.h"

bool gmt_commit_begin(void)
{
	struct gmt_thread_state *thread = &gmt_this_thread;

	if (thread->is_ours)
		return false;
	if (thread->busy) {
		gmt_session_count_loss(GMT_LOSS_REENTERED);
		return false;
	}
	thread->busy = true;
	thread->kept_errno = errno;
	/*
	 * open, close and write are cancellation points, also those that libunwind makes: a thread that
	 * ended in the middle would leave files half made and locks held.
	 */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &thread->kept_cancelling);
	return true;
}

static void capture(struct gmt_depot *depot, struct gmt_ring_event *event)
{
	bool lost = false;

	if (gmt_config.native_stacks)
		event->stack = gmt_native_capture(depot, gmt_config.depth, gmt_modules_generation(), &lost);
	if (gmt_config.python_stacks)
		event->frames = gmt_python_capture(depot, gmt_config.depth, &lost);
	if (lost)
		gmt_session_count_loss(GMT_LOSS_STACK);
}

void gmt_commit_end(struct gmt_ring_event *event, bool wants_stack)
{
	struct gmt_thread_state *thread = &gmt_this_thread;
	struct gmt_depot *depot = gmt_session_depot();

	if (depot) {
		if (wants_stack || (gmt_config.free_stacks && event->kind < GMT_RING_MARK))
			capture(depot, event);
		gmt_session_push(event);
	}
	pthread_setcancelstate(thread->kept_cancelling, NULL);
	errno = thread->kept_errno;
	thread->busy = false;
}
