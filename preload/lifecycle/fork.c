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
 * Forks without the handlers of pthread_atfork, so that a signal handler may do it. If the handler has interrupted the recorder,
 * the child must know before the handler returns: the interrupted code would go on in the parent's ring.
 */
__attribute__((visibility("default"))) pid_t _Fork(void)
{
	pid_t child;

	/* glibc has it from 2.34 on. */
	if (!real_fork) {
		errno = ENOSYS;
		return -1;
	}
	child = real_fork();
	if (!child) {
		int kept_errno = errno;

		gmt_process_begin_anew();
		errno = kept_errno;
	}
	return child;
}
