/* SPDX-License-Identifier: MIT */
#ifndef GMT_SYSTEM_MONOTONIC_CLOCK_H
#define GMT_SYSTEM_MONOTONIC_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns the time of CLOCK_MONOTONIC. Any thread, also in a signal handler. */
static inline uint64_t gmt_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
