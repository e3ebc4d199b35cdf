/* SPDX-License-Identifier: MIT */
#include "system/file_identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

bool gmt_file_identity_of(int fd, struct gmt_file_identity *ret_identity)
{
	struct stat status;

	if (fstat(fd, &status))
		return false;
	*ret_identity = (struct gmt_file_identity){ .device = status.st_dev, .inode = status.st_ino };
	return true;
}

bool gmt_file_identity_matches(int fd, const struct gmt_file_identity *identity)
{
	struct gmt_file_identity now;

	return gmt_file_identity_of(fd, &now) && now.device == identity->device &&
		now.inode == identity->inode;
}

bool gmt_file_identity_is_at(int at, const char *path, const struct gmt_file_identity *identity)
{
	struct stat status;

	return !fstatat(at, path, &status, AT_SYMLINK_NOFOLLOW) && status.st_dev == identity->device &&
		status.st_ino == identity->inode;
}

bool gmt_file_is_device(const char *path)
{
	struct stat status;

	return !lstat(path, &status) && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode));
}

void gmt_file_identity_close(int *fd, const struct gmt_file_identity *identity)
{
	if (*fd >= 0 && gmt_file_identity_matches(*fd, identity))
		close(*fd);
	*fd = -1;
}
