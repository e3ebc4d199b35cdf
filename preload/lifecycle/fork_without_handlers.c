/* SPDX-License-Identifier: MIT */
#include "lifecycle/fork_without_handlers.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

#include "runtime/fork_detection.h"
#include "interpose/originals.h"

static pid_t (*original_fork)(void);

void gmt_fork_without_handlers_init(void)
{
	*(void **)&original_fork = gmt_original_dlsym(RTLD_NEXT, "_Fork");
}

/*
 * glibc's _Fork calls no pthread_atfork handlers, so a signal handler may call it, and may have
 * interrupted the recorder. Therefore the child resets the recorder at once. Otherwise the
 * interrupted code would continue to write to the parent's ring. Other forks: lifecycle.c.
 */
__attribute__((visibility("default"))) pid_t _Fork(void)
{
	pid_t child;

	/* glibc has _Fork since 2.34. */
	if (!original_fork) {
		errno = ENOSYS;
		return -1;
	}
	child = original_fork();
	if (!child) {
		int kept_errno = errno;

		gmt_fork_detection_reset_child();
		errno = kept_errno;
	}
	return child;
}
