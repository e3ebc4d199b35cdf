/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_CANCELLING_H
#define GMT_RUNTIME_CANCELLING_H

/*
 * Holds off pthread_cancel while a thread runs rare code of the recorder. A cancelled thread would
 * leave files half written and locks held.
 *
 * A thread ends at cancellation points (open, close, read, write ...). The path of an event has no
 * cancellation point. So only rare code, which may reach one, holds off cancellation, and an event
 * does not pay for two locked instructions. A thread with PTHREAD_CANCEL_ASYNCHRONOUS may be
 * cancelled anywhere, but such a thread must not call CUDA or PyTorch at all.
 *
 *	int kept = gmt_cancelling_hold();
 *	... open, close, other libraries' code ...
 *	gmt_cancelling_release(kept);
 */

#include <pthread.h>

/*
 * Disables cancellation of the calling thread. Any thread. Calls may be nested. Returns the value
 * for gmt_cancelling_release.
 */
static inline int gmt_cancelling_hold(void)
{
	int kept;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &kept);
	return kept;
}

static inline void gmt_cancelling_release(int kept)
{
	pthread_setcancelstate(kept, NULL);
}

#endif
