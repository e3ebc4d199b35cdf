/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_YIELD_H
#define GMT_RUNTIME_YIELD_H

#include <errno.h>
#include <sched.h>

/*
 * Lets other threads run, for who waits for one of them. errno stays what it was: where the call is forbidden it fails,
 * and who waits may be the host's thread anywhere.
 */
static inline void gmt_yield(void)
{
	int kept_errno = errno;

	sched_yield();
	errno = kept_errno;
}

#endif
