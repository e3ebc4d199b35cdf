/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_YIELD_H
#define GMT_RUNTIME_YIELD_H

#include <errno.h>
#include <sched.h>

/*
 * Lets other threads run. For a thread that waits for another thread. Keeps errno: the call fails
 * where it is forbidden, and the waiting thread may be the host's, in any code.
 */
static inline void gmt_yield(void)
{
	int kept_errno = errno;

	sched_yield();
	errno = kept_errno;
}

#endif
