/* SPDX-License-Identifier: MIT */
/*
 * Preloaded beside the recorder: the process is killed when a folded file has just taken the
 * recording's name.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int rename(const char *from, const char *to)
{
	long result = syscall(SYS_rename, from, to);

	if (!result && strstr(from, ".fold"))
		kill(getpid(), SIGKILL);
	return (int)result;
}
