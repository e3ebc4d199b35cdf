/* SPDX-License-Identifier: MIT */
#include "system/process_start.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIELDS_BEHIND_STATE = 19 }; /* the start time is field 22, the state is field 3 */

uint64_t gmt_process_start_ticks(pid_t pid)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);

	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = 0;

	/* The name is in parentheses and may contain any character. */
	const char *at = strrchr(text, ')');
	if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
		return 0;
	at += 2;
	for (int field = 0; at && field < FIELDS_BEHIND_STATE; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}
