/* SPDX-License-Identifier: MIT */
#include "process_exit/exit_thread.h"

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

enum stage { NONE, SLEEPING, EXITING, CANCELLED };

enum { SLEEP_S = 3600 };

static _Atomic uint32_t stage; /* enum stage; futex */
/* Set after the thread was started, so that the count of threads is never one too high. */
static _Atomic bool is_started;

static void *run(void *unused)
{
	const struct timespec longest = { .tv_sec = SLEEP_S };
	sigset_t none;

	prctl(PR_SET_NAME, "gmt-last", 0, 0, 0);
	while (atomic_load(&stage) == SLEEPING)
		syscall(SYS_futex, &stage, FUTEX_WAIT_PRIVATE, SLEEPING, &longest, NULL, 0);
	if (atomic_load(&stage) == EXITING) {
		sigemptyset(&none);
		pthread_sigmask(SIG_SETMASK, &none, NULL);
		exit(0);
	}
	return unused;
}

static bool start(void)
{
	uint32_t none = NONE;
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;
	int failure;

	if (!atomic_compare_exchange_strong(&stage, &none, SLEEPING))
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
		atomic_store(&is_started, true);
	return !failure;
}

static void request(enum stage wanted)
{
	atomic_store(&stage, wanted);
	syscall(SYS_futex, &stage, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void gmt_exit_thread_start(void)
{
	int kept_errno = errno;

	start();
	errno = kept_errno;
}

bool gmt_exit_thread_exists(void)
{
	return atomic_load(&stage) == SLEEPING && atomic_load(&is_started);
}

bool gmt_exit_thread_call_exit(void)
{
	if (!start())
		return false;
	request(EXITING);
	return true;
}

void gmt_exit_thread_cancel(void)
{
	if (atomic_load(&stage) == SLEEPING)
		request(CANCELLED);
}

void gmt_exit_thread_forget(void)
{
	atomic_store(&stage, NONE);
	atomic_store(&is_started, false);
}
