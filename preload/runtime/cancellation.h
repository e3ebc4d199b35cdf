/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_CANCELLATION_H
#define GMT_RUNTIME_CANCELLATION_H

/*
 * Disables pthread_cancel while a thread runs rare code of the recorder. A cancelled thread would
 * leave files half written and locks held.
 *
 * A cancelled thread ends at a cancellation point (open, close, read, write ...). The path of an
 * event has no cancellation point. So only rare code disables cancellation, and an event does not
 * pay for two locked instructions. A thread with PTHREAD_CANCEL_ASYNCHRONOUS may be cancelled
 * anywhere, but such a thread must not call CUDA or PyTorch at all.
 *
 *	int before = gmt_cancellation_disable();
 *	... open, close, other libraries' code ...
 *	gmt_cancellation_restore(before);
 */

#include <pthread.h>

/*
 * Disables cancellation of the calling thread. Calls may be nested. Returns the value for
 * gmt_cancellation_restore.
 */
static inline int gmt_cancellation_disable(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void gmt_cancellation_restore(int before)
{
	pthread_setcancelstate(before, NULL);
}

#endif
