/* SPDX-License-Identifier: MIT */
#include "tools/output/replaceable_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/identifier.h"

enum { EXCHANGE = 2 }; /* RENAME_EXCHANGE: swaps the files of two names */

/* Gives the new file the group and mode of `like`, so that the same users can read it. */
static void copy_permissions(int fd, int like)
{
	struct stat about;

	if (like < 0 || fstat(like, &about))
		return;
	/*
	 * If the group cannot be kept, remove the group's rights, because they were meant for another
	 * group.
	 */
	if (fchown(fd, (uid_t)-1, about.st_gid))
		about.st_mode &= ~(mode_t)S_IRWXG;
	fchmod(fd, about.st_mode & 0777);
}

static void make_name(struct gmt_target_new *new)
{
	char random[GMT_IDENTIFIER_BYTES];

	gmt_identifier_make(random);
	snprintf(new->name, sizeof(new->name), ".gpumemtrace-%s-%d", random, (int)getpid());
}

bool gmt_target_begin(const struct gmt_target *target, int like, struct gmt_target_new *ret_new)
{
	*ret_new = (struct gmt_target_new){ .fd = -1 };
	/*
	 * A file without a name disappears if this process is killed. Not every file system supports
	 * it.
	 */
	ret_new->fd = openat(target->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (ret_new->fd < 0) {
		make_name(ret_new);
		ret_new->fd = openat(target->folder, ret_new->name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	}
	if (ret_new->fd >= 0)
		copy_permissions(ret_new->fd, like);
	return ret_new->fd >= 0;
}

static bool link_new_file(const struct gmt_target *target, struct gmt_target_new *new)
{
	char link[64];

	if (new->name[0])
		return true;
	make_name(new);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", new->fd);
	if (!linkat(AT_FDCWD, link, target->folder, new->name, AT_SYMLINK_FOLLOW))
		return true;
	new->name[0] = 0;
	return false;
}

static bool exchange(const struct gmt_target *target, const struct gmt_target_new *new)
{
	return !syscall(SYS_renameat2, target->folder, new->name, target->folder, target->name,
		EXCHANGE);
}

/*
 * Returns whether the target still has its name. False with ENOENT: the name is free. False with
 * EEXIST: another file has the name.
 */
static bool has_its_name(const struct gmt_target *target)
{
	if (gmt_file_identity_is_at(target->folder, target->name, &target->file))
		return true;
	errno = faccessat(target->folder, target->name, F_OK, AT_SYMLINK_NOFOLLOW) ? ENOENT : EEXIST;
	return false;
}

/*
 * Replaces the old file. After the exchange both files have names. So the check whether the right
 * file was replaced comes afterwards, when both files still exist. File systems that cannot
 * exchange (NFS) leave a moment between the check and the rename.
 */
static bool replace_old(const struct gmt_target *target, struct gmt_target_new *new)
{
	if (!has_its_name(target))
		return false;
	if (!exchange(target, new)) {
		if (!has_its_name(target) ||
			renameat(target->folder, new->name, target->folder, target->name))
			return false;
		new->name[0] = 0;
		return true;
	}
	if (!gmt_file_identity_is_at(target->folder, new->name, &target->file)) {
		exchange(target, new);
		errno = EEXIST;
		return false;
	}
	unlinkat(target->folder, new->name, 0);
	new->name[0] = 0;
	return true;
}

bool gmt_target_replace(const struct gmt_target *target, struct gmt_target_new *new)
{
	if (!link_new_file(target, new))
		return false;
	if (target->fd >= 0)
		return replace_old(target, new);
	/* The target did not exist. If a file has taken its name meanwhile, that file stays. */
	if (linkat(target->folder, new->name, target->folder, target->name, 0)) {
		/* This is for file systems without hard links. */
		if (errno == EEXIST ||
			!faccessat(target->folder, target->name, F_OK, AT_SYMLINK_NOFOLLOW) ||
			renameat(target->folder, new->name, target->folder, target->name))
			return false;
		new->name[0] = 0;
		return true;
	}
	unlinkat(target->folder, new->name, 0);
	new->name[0] = 0;
	return true;
}

void gmt_target_end(const struct gmt_target *target, struct gmt_target_new *new)
{
	struct gmt_file_identity file;

	/* Another file may have the name by now. */
	if (new->fd >= 0 && new->name[0] && gmt_file_identity_of(new->fd, &file) &&
		gmt_file_identity_is_at(target->folder, new->name, &file))
		unlinkat(target->folder, new->name, 0);
	if (new->fd >= 0)
		close(new->fd);
	*new = (struct gmt_target_new){ .fd = -1 };
}
