/* SPDX-License-Identifier: MIT */
#include "files/replacement.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/descriptor.h"
#include "files/folder.h"

enum { MAX_TRIES = 8 };

static const char suffix[] = ".fold";

/*
 * Determines the current path of an open file. Returns false with a reason if the file has no path.
 */
static bool find_path(int fd, const struct gmt_file_identity *file, char *ret_path, char *ret_why,
	uint32_t why_bytes)
{
	char link[64];
	struct stat status;

	if (!gmt_file_identity_matches(fd, file)) {
		snprintf(ret_why, why_bytes, "the program closed the recorder's file descriptor");
		return false;
	}
	snprintf(link, sizeof(link), GMT_DESCRIPTOR_PATH, fd);
	ssize_t length = readlink(link, ret_path, GMT_REPLACEMENT_PATH_BYTES - 1);
	if (length <= 0) {
		snprintf(ret_why, why_bytes, "/proc does not have its path");
		return false;
	}
	ret_path[length] = 0;
	/* /proc has a path also for a removed file. The recorder replaces only its own regular file. */
	if (lstat(ret_path, &status) || status.st_dev != file->device || status.st_ino != file->inode ||
		!S_ISREG(status.st_mode)) {
		snprintf(ret_why, why_bytes, "it was removed");
		return false;
	}
	return true;
}

/*
 * Locks a new temporary file. Returns false if another recorder has locked or removed it: before
 * the lock, the file looks like an orphan to a recorder that begins a compaction in this folder.
 * Returns true on file systems without locks: no recorder removes orphans there.
 */
static bool lock_new_file(int fd, const char *path)
{
	struct gmt_file_identity file;

	if (flock(fd, LOCK_EX | LOCK_NB))
		return errno != EWOULDBLOCK;
	return gmt_file_identity_of(fd, &file) && gmt_file_identity_is_at(AT_FDCWD, path, &file);
}

bool gmt_replacement_open(struct gmt_replacement *ret_replacement, int of_fd,
	const struct gmt_file_identity *of, char *ret_why, uint32_t why_bytes)
{
	/* Static, because stacks may be small; there is only one caller. */
	static char path[GMT_REPLACEMENT_PATH_BYTES];
	int fd = -1;

	memset(ret_replacement, 0, sizeof(*ret_replacement));
	if (!find_path(of_fd, of, path, ret_why, why_bytes))
		return false;
	/* Tries further names if the name is taken, or if the file system removes files late. */
	for (int number = 0; number < MAX_TRIES && fd < 0; number++) {
		if (number)
			snprintf(ret_replacement->path, sizeof(ret_replacement->path), "%s%s%d", path, suffix,
				number);
		else
			snprintf(ret_replacement->path, sizeof(ret_replacement->path), "%s%s", path, suffix);
		fd = open(ret_replacement->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
		if (fd >= 0 && !lock_new_file(fd, ret_replacement->path)) {
			close(fd);
			fd = -1;
			errno = EBUSY;
		}
	}
	if (fd < 0) {
		snprintf(ret_why, why_bytes, "cannot create a temporary file next to it: %s",
			strerror(errno));
		return false;
	}
	ret_replacement->fd = gmt_descriptor_move_high(fd);
	ret_replacement->is_open = true;
	gmt_file_identity_of(ret_replacement->fd, &ret_replacement->file);
	return true;
}

bool gmt_replacement_take_place(const struct gmt_replacement *replacement, int of_fd,
	const struct gmt_file_identity *of, char *ret_why, uint32_t why_bytes)
{
	static char path[GMT_REPLACEMENT_PATH_BYTES];
	struct stat before, after;
	bool has_mode;

	if (!find_path(of_fd, of, path, ret_why, why_bytes))
		return false;
	if (!gmt_file_identity_matches(replacement->fd, &replacement->file)) {
		snprintf(ret_why, why_bytes, "the program closed the recorder's file descriptor");
		return false;
	}
	/* The user decides who may read the file, so the new file gets the old file's mode. */
	has_mode = !fstat(of_fd, &before);
	if (has_mode)
		fchmod(replacement->fd, before.st_mode & 07777);
	if (rename(replacement->path, path)) {
		snprintf(ret_why, why_bytes, "%s", strerror(errno));
		return false;
	}
	/* The user may have changed the old file's mode meanwhile. */
	if (has_mode && !fstat(of_fd, &after) && after.st_mode != before.st_mode)
		fchmod(replacement->fd, after.st_mode & 07777);
	flock(replacement->fd, LOCK_UN);
	return true;
}

void gmt_replacement_remove(struct gmt_replacement *replacement)
{
	if (!replacement->is_open)
		return;
	if (gmt_file_identity_is_at(AT_FDCWD, replacement->path, &replacement->file))
		unlink(replacement->path);
	gmt_replacement_forget(replacement);
}

void gmt_replacement_forget(struct gmt_replacement *replacement)
{
	if (replacement->is_open)
		gmt_descriptor_close(&replacement->fd, &replacement->file);
	replacement->is_open = false;
}

/*
 * Returns whether `name` is that of a temporary file: NAME.gmt.gz.fold, with a number at the end or
 * not.
 */
static bool is_temporary(const char *name)
{
	const char *ending = strstr(name, suffix);

	for (const char *next = ending; next && (next = strstr(next + 1, suffix)) != NULL;)
		ending = next;
	return ending && strstr(name, ".gmt.gz") &&
		strspn(ending + sizeof(suffix) - 1, "0123456789") == strlen(ending + sizeof(suffix) - 1);
}

/*
 * Removes a file if it belongs to this user and no living process has locked it. The function holds
 * the lock until the file is removed: see lock_new_file.
 */
static void remove_orphan(int folder, const char *name)
{
	struct gmt_file_identity file;
	struct stat status;
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
		!flock(fd, LOCK_EX | LOCK_NB) && gmt_file_identity_of(fd, &file) &&
		gmt_file_identity_is_at(folder, name, &file))
		unlinkat(folder, name, 0);
	close(fd);
}

static bool look_for_orphan(void *unused, int folder, const char *name)
{
	(void)unused;
	if (is_temporary(name))
		remove_orphan(folder, name);
	return true;
}

void gmt_replacement_remove_orphans(int of_fd, const struct gmt_file_identity *of)
{
	static char path[GMT_REPLACEMENT_PATH_BYTES];
	char why[64];

	if (!find_path(of_fd, of, path, why, sizeof(why)))
		return;
	*(strrchr(path, '/') + 1) = 0;

	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (folder >= 0) {
		gmt_folder_visit(folder, look_for_orphan, NULL);
		close(folder);
	}
}
