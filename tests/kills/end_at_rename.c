/* SPDX-License-Identifier: MIT */
/*
 * Preloaded next to the recorder. Kills the process right after a compacted file has replaced
 * the recording.
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
