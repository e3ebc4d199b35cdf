/* SPDX-License-Identifier: MIT */
#include "system/runtime_folder.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

bool gmt_runtime_folder_is_private(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
		(status.st_mode & 077) == 0;
}

bool gmt_runtime_folder(enum gmt_runtime_folder_kind kind, const char *xdg, bool make,
	char *ret_path, size_t path_bytes)
{
	int length;

	if (kind == GMT_RUNTIME_XDG && (!xdg || xdg[0] != '/'))
		return false;
	if (kind == GMT_RUNTIME_XDG)
		length = snprintf(ret_path, path_bytes, "%s/gpumemtrace", xdg);
	else
		length = snprintf(ret_path, path_bytes, "/dev/shm/gpumemtrace-%u", (unsigned)geteuid());
	if (length < 0 || (size_t)length >= path_bytes)
		return false;
	/* mkdir applies the umask, so set the mode explicitly. */
	if (make && !mkdir(ret_path, 0700))
		chmod(ret_path, 0700);
	return gmt_runtime_folder_is_private(ret_path);
}
