/* SPDX-License-Identifier: MIT */
#include "producer/clock.h"

#include <time.h>

#include "runtime/hot_data.h"
#include "runtime/stages.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

GMT_HOT_DATA bool gmt_clock_is_counter;
struct gmt_clock_moment gmt_clock_start;

static uint64_t read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t gmt_clock_monotonic_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

struct gmt_clock_moment gmt_clock_now(void)
{
	struct gmt_clock_moment now;

	/* Reads again if the thread was interrupted between the readings. */
	for (int tries = 0; tries < 8; tries++) {
		uint64_t before = read_ns(CLOCK_MONOTONIC);

		now.stamp = gmt_clock_stamp();
		now.realtime_ns = read_ns(CLOCK_REALTIME);

		uint64_t after = read_ns(CLOCK_MONOTONIC);
		now.monotonic_ns = before + (after - before) / 2;
		if (after - before < 1000)
			break;
	}
	return now;
}

void gmt_clock_init(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;

	/* "Invariant TSC": the counter runs at one rate in all power states and on all cores. */
	gmt_clock_is_counter = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
	/* The rdtscp instruction is a separate extension. */
	gmt_clock_is_counter =
		gmt_clock_is_counter && __get_cpuid(0x80000001, &a, &b, &c, &d) && (d & (1u << 27));
#else
	gmt_clock_is_counter = true; /* the generic timer is constant by definition */
#endif
	gmt_clock_start = gmt_clock_now();
}

uint64_t gmt_clock_shared_stamp(void)
{
	static _Atomic uint64_t last;
	uint64_t time_ns = read_ns(CLOCK_MONOTONIC);
	uint64_t seen = atomic_load_explicit(&last, memory_order_relaxed);
	uint64_t stamp;

	/* Sequentially consistent: the order of stamps must agree with the order of driver calls. */
	do
		stamp = time_ns > seen ? time_ns : seen + 1;
	while (!atomic_compare_exchange_weak(&last, &seen, stamp));
	return stamp;
}

GMT_AT_STAGE(after_fork, PRODUCER, gmt_clock_init);
