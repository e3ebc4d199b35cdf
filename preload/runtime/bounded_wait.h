/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_BOUNDED_WAIT_H
#define GMT_RUNTIME_BOUNDED_WAIT_H

/*
 * A bounded wait of one thread for another thread. The other thread may not exist (in the child of
 * a fork). It may not run either (if the waiting thread is a real-time thread and only yields). So
 * the wait sleeps after a few tries and ends after a time. A pause of the machine or the process
 * (SIGSTOP, a virtual machine that stands still) stops both threads, so it hardly counts.
 *
 *	struct gmt_bounded_wait wait = gmt_bounded_wait_begin(WAIT_NS);
 *
 *	while (!is_done())
 *		if (!gmt_bounded_wait_rest(&wait))
 *			return false;
 */

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	GMT_BOUNDED_WAIT_YIELDS = 64,      /* number of tries that only let other threads run */
	GMT_BOUNDED_WAIT_NAP_NS = 50000,   /* sleep of each later try */
	/* A try that lasts longer counts as this long: something stopped the thread meanwhile. */
	GMT_BOUNDED_WAIT_LONGEST_TRY_NS = 250000000,
};

struct gmt_bounded_wait {
	uint64_t left_ns;
	uint64_t last_ns; /* time of the last try; 0: the first try is still to come */
	uint32_t tries;
};

/*
 * Returns CLOCK_MONOTONIC from the kernel. libfaketime may give the host another clock, which may
 * stand still. Keeps errno.
 */
static inline uint64_t gmt_kernel_now_ns(void)
{
	struct timespec now = { 0 };
	int kept_errno = errno;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	errno = kept_errno;
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline struct gmt_bounded_wait gmt_bounded_wait_begin(uint64_t wait_ns)
{
	return (struct gmt_bounded_wait){ .left_ns = wait_ns };
}

/* Returns how much of a wait a try from `last_ns` to `now_ns` takes. */
static inline uint64_t gmt_bounded_wait_try_ns(uint64_t last_ns, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - last_ns;

	return passed_ns < GMT_BOUNDED_WAIT_LONGEST_TRY_NS ? passed_ns
													   : GMT_BOUNDED_WAIT_LONGEST_TRY_NS;
}

/*
 * Lets other threads run, or sleeps for a short time. Returns false when the time is over. Keeps
 * errno.
 */
static inline bool gmt_bounded_wait_rest(struct gmt_bounded_wait *wait)
{
	const struct timespec nap = { .tv_nsec = GMT_BOUNDED_WAIT_NAP_NS };
	int kept_errno = errno;
	uint64_t now_ns = gmt_kernel_now_ns();
	uint64_t took_ns = wait->last_ns ? gmt_bounded_wait_try_ns(wait->last_ns, now_ns) : 0;

	if (took_ns >= wait->left_ns)
		return false;
	wait->left_ns -= took_ns;
	wait->last_ns = now_ns;
	if (wait->tries < GMT_BOUNDED_WAIT_YIELDS) {
		wait->tries++;
		sched_yield();
	} else {
		/* A system call: the host may have replaced libc's function. */
		syscall(SYS_nanosleep, &nap, NULL);
	}
	errno = kept_errno;
	return true;
}

#endif
