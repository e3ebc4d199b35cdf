/* SPDX-License-Identifier: MIT */
#include "system/file_lock.h"

#include <fcntl.h>
#include <unistd.h>

bool gmt_file_lock(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return !fcntl(fd, F_OFD_SETLK, &whole);
}

bool gmt_file_is_locked(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return !fcntl(fd, F_OFD_GETLK, &whole) && whole.l_type != F_UNLCK;
}
