/* SPDX-License-Identifier: MIT */
#include "system/file_identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

bool gmt_file_identity_of(int fd, struct gmt_file_identity *ret_identity)
{
	struct stat about;

	if (fstat(fd, &about))
		return false;
	*ret_identity = (struct gmt_file_identity){ .device = about.st_dev, .number = about.st_ino };
	return true;
}

bool gmt_file_identity_holds(int fd, const struct gmt_file_identity *identity)
{
	struct gmt_file_identity now;

	return gmt_file_identity_of(fd, &now) && now.device == identity->device &&
		now.number == identity->number;
}

bool gmt_file_identity_is_at(int at, const char *path, const struct gmt_file_identity *identity)
{
	struct stat about;

	return !fstatat(at, path, &about, AT_SYMLINK_NOFOLLOW) && about.st_dev == identity->device &&
		about.st_ino == identity->number;
}

bool gmt_file_is_device(const char *path)
{
	struct stat about;

	return !lstat(path, &about) && (S_ISCHR(about.st_mode) || S_ISBLK(about.st_mode));
}

void gmt_file_identity_close(int *fd, const struct gmt_file_identity *identity)
{
	if (*fd >= 0 && gmt_file_identity_holds(*fd, identity))
		close(*fd);
	*fd = -1;
}
