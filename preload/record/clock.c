/* SPDX-License-Identifier: MIT */
#include "record/clock.h"

#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

bool gmt_clock_is_counter;

void gmt_clock_init(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;

	/* "Invariant TSC": runs at one rate in all power states, on all cores alike. */
	gmt_clock_is_counter = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
	/* rdtscp is an extension of its own. */
	gmt_clock_is_counter = gmt_clock_is_counter && __get_cpuid(0x80000001, &a, &b, &c, &d) && (d & (1u << 27));
#else
	gmt_clock_is_counter = true; /* the generic timer is constant by definition */
#endif
}

uint64_t gmt_clock_shared_stamp(void)
{
	static _Atomic uint64_t last;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);

	uint64_t time_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	uint64_t seen = atomic_load_explicit(&last, memory_order_relaxed);
	uint64_t stamp;

	/* Sequentially consistent: the order of stamps must agree with the order of driver calls. */
	do
		stamp = time_ns > seen ? time_ns : seen + 1;
	while (!atomic_compare_exchange_weak(&last, &seen, stamp));
	return stamp;
}
