/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_CANCELLING_H
#define GMT_RUNTIME_CANCELLING_H

/*
 * A thread that pthread_cancel ended in the middle of the recorder would leave files half made and locks held. It ends at
 * cancellation points (open, close, read, write ...), of which the path of an event has none: so what is rare and may come
 * to one holds cancelling off for itself, and an event does not pay for two locked instructions. (A thread that may be
 * cancelled anywhere, PTHREAD_CANCEL_ASYNCHRONOUS, may not call CUDA or PyTorch at all.)
 *
 *	int kept = gmt_cancelling_hold();
 *	... open, close, other libraries' code ...
 *	gmt_cancelling_release(kept);
 */

#include <pthread.h>

/* Any thread; may be nested. Returns what to give to gmt_cancelling_release. */
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
