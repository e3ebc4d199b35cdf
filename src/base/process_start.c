/* SPDX-License-Identifier: MIT */
#include "base/process_start.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIELDS_BEHIND_NAME = 20 }; /* the start is field 22, and the name, which may hold anything, is field 2 */

uint64_t gmt_process_start_ticks(pid_t pid)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);

	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = 0;

	const char *at = strrchr(text, ')');
	for (int field = 0; at && field < FIELDS_BEHIND_NAME; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}
