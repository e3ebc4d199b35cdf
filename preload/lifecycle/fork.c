/* SPDX-License-Identifier: MIT */
#include "lifecycle/fork.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

#include "runtime/process.h"
#include "interpose/originals.h"

static pid_t (*real_fork)(void);

void gmt_fork_init(void)
{
	*(void **)&real_fork = gmt_original_dlsym(RTLD_NEXT, "_Fork");
}

/*
 * Forks without the handlers of pthread_atfork, so that a signal handler may call it. If the
 * handler has interrupted the recorder, the child must reset the recorder's state before the
 * handler returns. Otherwise the interrupted code would continue in the parent's ring.
 */
__attribute__((visibility("default"))) pid_t _Fork(void)
{
	pid_t child;

	/* glibc has _Fork since 2.34. */
	if (!real_fork) {
		errno = ENOSYS;
		return -1;
	}
	child = real_fork();
	if (!child) {
		int kept_errno = errno;

		gmt_process_reset_in_child();
		errno = kept_errno;
	}
	return child;
}
