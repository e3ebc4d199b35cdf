/* SPDX-License-Identifier: MIT */
#include "system/temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

static int create_in(const char *folder, char *ret_path, size_t bytes)
{
	if (snprintf(ret_path, bytes, "%s/gpumemtrace-XXXXXX", folder) >= (int)bytes) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return mkostemp(ret_path, O_CLOEXEC);
}

int gmt_temporary_file_create(char *ret_path, size_t bytes)
{
	const char *chosen = getenv("TMPDIR");
	int fd;

	/* If the user names a folder, use no other folder. */
	if (chosen && *chosen)
		return create_in(chosen, ret_path, bytes);
	fd = create_in("/var/tmp", ret_path, bytes);
	return fd >= 0 ? fd : create_in("/tmp", ret_path, bytes);
}
