/* SPDX-License-Identifier: MIT */
#include "runtime/standard_streams.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/descriptor.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

/*
 * Opens the host's stream again, because containers often forbid pidfd_getfd. This works for a
 * terminal or a pipe. It does not work for a file: the host's next write would overwrite the
 * recorder's line.
 */
static int open_again(int number)
{
	char path[64];
	struct stat status;

	/* "self" is the main thread, which has the host's table. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", number);
	if (stat(path, &status) || !(S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode)))
		return -1;
	return open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

bool gmt_standard_streams_open(struct gmt_standard_streams *ret_streams)
{
	int process;

	*ret_streams = (struct gmt_standard_streams){ STDOUT_FILENO, STDERR_FILENO };
	if (!gmt_descriptor_has_own_table())
		return true;
	process = (int)syscall(SYS_pidfd_open, getpid(), 0);
	ret_streams->output =
		process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, STDOUT_FILENO, 0);
	ret_streams->error =
		process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, STDERR_FILENO, 0);
	if (process >= 0)
		close(process);
	if (ret_streams->error < 0)
		ret_streams->error = open_again(STDERR_FILENO);
	if (ret_streams->error < 0)
		gmt_standard_streams_close(ret_streams);
	return ret_streams->error >= 0;
}

void gmt_standard_streams_close(const struct gmt_standard_streams *streams)
{
	if (!gmt_descriptor_has_own_table())
		return;
	if (streams->output >= 0)
		close(streams->output);
	if (streams->error >= 0)
		close(streams->error);
}
