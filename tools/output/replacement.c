/* SPDX-License-Identifier: MIT */
#include "tools/output/replaceable_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/uuid.h"

enum { EXCHANGE = 2 }; /* RENAME_EXCHANGE: swaps the files of two names */

/* Gives the new file the group and mode of `like`, so that the same users can read it. */
static void copy_permissions(int fd, int like)
{
	struct stat status;

	if (like < 0 || fstat(like, &status))
		return;
	/*
	 * If the group cannot be kept, remove the group's rights, because they were meant for another
	 * group.
	 */
	if (fchown(fd, (uid_t)-1, status.st_gid))
		status.st_mode &= ~(mode_t)S_IRWXG;
	fchmod(fd, status.st_mode & 0777);
}

static void make_name(struct gmt_replacement *replacement)
{
	char random[GMT_UUID_BYTES];

	gmt_uuid_make(random);
	snprintf(replacement->name, sizeof(replacement->name), ".gpumemtrace-%s-%d", random,
		(int)getpid());
}

bool gmt_replacement_begin(const struct gmt_replaceable_file *file, int like,
	struct gmt_replacement *ret_replacement)
{
	*ret_replacement = (struct gmt_replacement){ .fd = -1 };
	/*
	 * A file without a name disappears if this process is killed. Not every file system supports
	 * it.
	 */
	ret_replacement->fd = openat(file->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (ret_replacement->fd < 0) {
		make_name(ret_replacement);
		ret_replacement->fd = openat(file->folder, ret_replacement->name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	}
	if (ret_replacement->fd >= 0)
		copy_permissions(ret_replacement->fd, like);
	return ret_replacement->fd >= 0;
}

static bool link_new_file(const struct gmt_replaceable_file *file,
	struct gmt_replacement *replacement)
{
	char link[64];

	if (replacement->name[0])
		return true;
	make_name(replacement);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", replacement->fd);
	if (!linkat(AT_FDCWD, link, file->folder, replacement->name, AT_SYMLINK_FOLLOW))
		return true;
	replacement->name[0] = 0;
	return false;
}

static bool exchange(const struct gmt_replaceable_file *file,
	const struct gmt_replacement *replacement)
{
	return !syscall(SYS_renameat2, file->folder, replacement->name, file->folder, file->name,
		EXCHANGE);
}

/*
 * Returns whether the target still has its name. False with ENOENT: the name is free. False with
 * EEXIST: another file has the name.
 */
static bool has_its_name(const struct gmt_replaceable_file *file)
{
	if (gmt_file_identity_is_at(file->folder, file->name, &file->identity))
		return true;
	errno = faccessat(file->folder, file->name, F_OK, AT_SYMLINK_NOFOLLOW) ? ENOENT : EEXIST;
	return false;
}

/*
 * Replaces the old file. After the exchange both files have names. So the check whether the right
 * file was replaced comes afterwards, when both files still exist. File systems that cannot
 * exchange (NFS) leave a moment between the check and the rename.
 */
static bool replace_old(const struct gmt_replaceable_file *file,
	struct gmt_replacement *replacement)
{
	if (!has_its_name(file))
		return false;
	if (!exchange(file, replacement)) {
		if (!has_its_name(file) ||
			renameat(file->folder, replacement->name, file->folder, file->name))
			return false;
		replacement->name[0] = 0;
		return true;
	}
	if (!gmt_file_identity_is_at(file->folder, replacement->name, &file->identity)) {
		exchange(file, replacement);
		errno = EEXIST;
		return false;
	}
	unlinkat(file->folder, replacement->name, 0);
	replacement->name[0] = 0;
	return true;
}

bool gmt_replacement_commit(const struct gmt_replaceable_file *file,
	struct gmt_replacement *replacement)
{
	if (!link_new_file(file, replacement))
		return false;
	if (file->fd >= 0)
		return replace_old(file, replacement);
	/* The target did not exist. If a file has taken its name meanwhile, that file stays. */
	if (linkat(file->folder, replacement->name, file->folder, file->name, 0)) {
		/* This is for file systems without hard links. */
		if (errno == EEXIST || !faccessat(file->folder, file->name, F_OK, AT_SYMLINK_NOFOLLOW) ||
			renameat(file->folder, replacement->name, file->folder, file->name))
			return false;
		replacement->name[0] = 0;
		return true;
	}
	unlinkat(file->folder, replacement->name, 0);
	replacement->name[0] = 0;
	return true;
}

void gmt_replacement_end(const struct gmt_replaceable_file *file,
	struct gmt_replacement *replacement)
{
	struct gmt_file_identity identity;

	/* Another file may have the name by now. */
	if (replacement->fd >= 0 && replacement->name[0] &&
		gmt_file_identity_of(replacement->fd, &identity) &&
		gmt_file_identity_is_at(file->folder, replacement->name, &identity))
		unlinkat(file->folder, replacement->name, 0);
	if (replacement->fd >= 0)
		close(replacement->fd);
	*replacement = (struct gmt_replacement){ .fd = -1 };
}
