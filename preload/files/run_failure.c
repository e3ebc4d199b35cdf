/* SPDX-License-Identifier: MIT */
#include "files/run_failure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "system/runtime_folder.h"
#include "runtime/config.h"

void gmt_run_failure_write(const char *why)
{
	/* Static, because stacks may be small; there is only one caller. */
	static char folder[GMT_OUTPUT_BYTES], path[GMT_OUTPUT_BYTES + 64];
	int kept_errno = errno, fd = -1;

	for (int kind = 0; gmt_config.run[0] && fd < 0 && kind < GMT_RUNTIME_FOLDERS; kind++) {
		if (!gmt_runtime_folder((enum gmt_runtime_folder_kind)kind, gmt_config.runtime_folder, true,
				folder, sizeof(folder)))
			continue;
		snprintf(path, sizeof(path), "%s/%s%s", folder, gmt_config.run, GMT_RUNTIME_FAILED_SUFFIX);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		/* Another process of this run has already written the file. */
		if (fd < 0 && errno == EEXIST)
			break;
	}
	if (fd >= 0) {
		/* A failed write is not serious: the recorder prints the same reason to stderr. */
		if (write(fd, why, strlen(why)) < 0)
			unlink(path);
		close(fd);
	}
	errno = kept_errno;
}
