/* SPDX-License-Identifier: MIT */
#include "threads/exit_thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum stage { NONE, WAITS, EXITS, LEAVES };

enum { SLEEP_S = 3600 };

static _Atomic uint32_t stage; /* enum stage; futex */
/* Set after the thread is made, so that the count of threads is never one too high. */
static _Atomic bool is_made;

static void *run(void *unused)
{
	const struct timespec longest = { .tv_sec = SLEEP_S };
	sigset_t none;

	prctl(PR_SET_NAME, "gmt-last", 0, 0, 0);
	while (atomic_load(&stage) == WAITS)
		syscall(SYS_futex, &stage, FUTEX_WAIT_PRIVATE, WAITS, &longest, NULL, 0);
	if (atomic_load(&stage) == EXITS) {
		sigemptyset(&none);
		pthread_sigmask(SIG_SETMASK, &none, NULL);
		exit(0);
	}
	return unused;
}

static bool make(void)
{
	uint32_t none = NONE;
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;
	int failure;

	if (!atomic_compare_exchange_strong(&stage, &none, WAITS))
		return true;
	failure = pthread_attr_init(&attributes);
	if (!failure) {
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
		/*
		 * The thread inherits the mask: it receives no signal of the host until it is the last
		 * thread.
		 */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		failure = pthread_create(&thread, &attributes, run, NULL);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		pthread_attr_destroy(&attributes);
	}
	if (failure)
		atomic_store(&stage, NONE);
	else
		atomic_store(&is_made, true);
	return !failure;
}

static void request(enum stage wanted)
{
	atomic_store(&stage, wanted);
	syscall(SYS_futex, &stage, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void gmt_exit_thread_begin(void)
{
	int kept_errno = errno;

	make();
	errno = kept_errno;
}

bool gmt_exit_thread_is_there(void)
{
	return atomic_load(&stage) == WAITS && atomic_load(&is_made);
}

bool gmt_exit_thread_exit(void)
{
	if (!make())
		return false;
	request(EXITS);
	return true;
}

void gmt_exit_thread_leave(void)
{
	if (atomic_load(&stage) == WAITS)
		request(LEAVES);
}

void gmt_exit_thread_forget(void)
{
	atomic_store(&stage, NONE);
	atomic_store(&is_made, false);
}
