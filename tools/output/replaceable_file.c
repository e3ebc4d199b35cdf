/* SPDX-License-Identifier: MIT */
#include "tools/output/replaceable_file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/source.h"

static enum gmt_replaceable_file_state refuse(char ret_why[GMT_REPLACEABLE_FILE_WHY_BYTES],
	const char *what, const char *why)
{
	snprintf(ret_why, GMT_REPLACEABLE_FILE_WHY_BYTES, "%.300s%s", what, why);
	return GMT_REPLACEABLE_FILE_IS_REFUSED;
}

static void init(struct gmt_replaceable_file *file)
{
	*file = (struct gmt_replaceable_file){ .folder = -1, .fd = -1 };
}

/* Returns whether only the caller is in the group. Many systems give each user such a group. */
static bool is_private_group(gid_t group)
{
	const struct passwd *user = getpwuid(geteuid());
	char name[256];

	snprintf(name, sizeof(name), "%s", user ? user->pw_name : "");

	const struct group *members = user && user->pw_gid == group ? getgrgid(group) : NULL;

	return members && !strcmp(members->gr_name, name) &&
		(!members->gr_mem[0] || (!strcmp(members->gr_mem[0], name) && !members->gr_mem[1]));
}

/*
 * Returns why users other than the caller and root can rename or remove the caller's files in the
 * folder. Returns NULL if they cannot.
 */
static const char *why_unsafe(int folder)
{
	struct stat status;

	if (fstat(folder, &status))
		return strerror(errno);
	if (status.st_uid && status.st_uid != geteuid())
		return " belongs to another user";
	/* In a sticky folder, users cannot remove files of other users. */
	if (status.st_mode & S_ISVTX)
		return NULL;
	if (status.st_mode & S_IWOTH ||
		(status.st_mode & S_IWGRP && status.st_gid && !is_private_group(status.st_gid)))
		return " is a folder that is writable for other users";
	return NULL;
}

static enum gmt_replaceable_file_state open_file(struct gmt_replaceable_file *file,
	char ret_why[GMT_REPLACEABLE_FILE_WHY_BYTES])
{
	struct stat status;

	file->fd =
		openat(file->folder, file->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (file->fd < 0)
		return errno == ENOENT
			? GMT_REPLACEABLE_FILE_IS_GONE
			: refuse(ret_why,
				  "it cannot be opened: ", errno == ELOOP ? "it is a link" : strerror(errno));
	if (fstat(file->fd, &status) || !S_ISREG(status.st_mode))
		return refuse(ret_why, "it is not a regular file", "");
	gmt_file_identity_of(file->fd, &file->identity);
	return GMT_REPLACEABLE_FILE_EXISTS;
}

/* Splits an absolute path, which has no slash at its end, and opens its folder. Follows links. */
static enum gmt_replaceable_file_state open_folder(const char *path,
	struct gmt_replaceable_file *file, char ret_why[GMT_REPLACEABLE_FILE_WHY_BYTES])
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];

	if (strlen(slash + 1) > NAME_MAX || !slash[1])
		return refuse(ret_why, "it is not the name of a file", "");
	strcpy(file->name, slash + 1);
	snprintf(file->path, sizeof(file->path), "%s", path);
	snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path), path);
	file->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (file->folder < 0)
		return errno == ENOENT ? GMT_REPLACEABLE_FILE_IS_GONE
							   : refuse(ret_why, "its folder cannot be opened: ", strerror(errno));
	return GMT_REPLACEABLE_FILE_EXISTS;
}

enum gmt_replaceable_file_state gmt_replaceable_file_open_named(const char *path,
	struct gmt_replaceable_file *ret_file, char ret_why[GMT_REPLACEABLE_FILE_WHY_BYTES])
{
	char whole[PATH_MAX];
	enum gmt_replaceable_file_state state;

	init(ret_file);
	if (!realpath(path, whole))
		return errno == ENOENT ? GMT_REPLACEABLE_FILE_IS_GONE
							   : refuse(ret_why, "it cannot be opened: ", strerror(errno));
	state = open_folder(whole, ret_file, ret_why);
	return state ? state : open_file(ret_file, ret_why);
}

/* Opens the next folder on the path. The caller closes file->folder, also after a failure. */
static enum gmt_replaceable_file_state enter_folder(struct gmt_replaceable_file *file,
	const char *name, char ret_why[GMT_REPLACEABLE_FILE_WHY_BYTES])
{
	int next = openat(file->folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const char *why;

	if (next < 0)
		return errno == ENOENT
			? GMT_REPLACEABLE_FILE_IS_GONE
			: refuse(ret_why, name,
				  errno == ENOTDIR || errno == ELOOP ? " on the path is a link, or not a folder"
													 : strerror(errno));
	close(file->folder);
	file->folder = next;
	why = why_unsafe(next);
	return why ? refuse(ret_why, name, why) : GMT_REPLACEABLE_FILE_EXISTS;
}

enum gmt_replaceable_file_state gmt_replaceable_file_open_untrusted(const char *path,
	struct gmt_replaceable_file *ret_file, char ret_why[GMT_REPLACEABLE_FILE_WHY_BYTES])
{
	enum gmt_replaceable_file_state state = GMT_REPLACEABLE_FILE_EXISTS;
	struct stat status;

	init(ret_file);
	if (path[0] != '/' || strlen(path) >= PATH_MAX)
		return refuse(ret_why, "its path is not absolute", "");
	snprintf(ret_file->path, sizeof(ret_file->path), "%s", path);
	ret_file->folder = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (!state) {
		const char *name = path + strspn(path, "/"), *end = name + strcspn(name, "/");

		if (end - name > NAME_MAX || end == name ||
			(name[0] == '.' && (end == name + 1 || (name[1] == '.' && end == name + 2))))
			return refuse(ret_why, "its path is not one that a recorder creates", "");
		snprintf(ret_file->name, sizeof(ret_file->name), "%.*s", (int)(end - name), name);
		if (!*end)
			break;
		state = enter_folder(ret_file, ret_file->name, ret_why);
		path = end;
	}
	state = state ? state : open_file(ret_file, ret_why);
	if (!state && (fstat(ret_file->fd, &status) || status.st_nlink != 1))
		return refuse(ret_why, "it has more than one hard link", "");
	return state;
}

bool gmt_replaceable_file_is_own(const struct gmt_replaceable_file *file,
	char ret_why[GMT_REPLACEABLE_FILE_WHY_BYTES])
{
	struct stat status;
	char text[64];

	if (fstat(file->fd, &status)) {
		refuse(ret_why, strerror(errno), "");
		return false;
	}
	snprintf(text, sizeof(text), "it belongs to user %u", (unsigned)status.st_uid);
	if (status.st_uid != geteuid())
		refuse(ret_why, text, "; recover it as that user, or name another file with -o");
	return status.st_uid == geteuid();
}

/*
 * Returns whether the file is a recording. An empty file also counts: a recorder may just have
 * created it.
 */
static bool is_recording(int fd, const char *path)
{
	size_t length = strlen(path);
	struct gmt_source *source;
	bool is_source;
	if (length > 3 && !strcmp(path + length - 3, ".gz") && gmt_source_is_just_begun(fd))
		return true;
	is_source = !gmt_source_open_descriptor(fd, path, NULL, &source, NULL);
	if (is_source)
		gmt_source_close(source);
	return is_source;
}

enum gmt_replaceable_file_state gmt_replaceable_file_open_new(const char *path, bool force,
	struct gmt_replaceable_file *ret_file, char ret_why[GMT_REPLACEABLE_FILE_WHY_BYTES])
{
	char whole[PATH_MAX];
	enum gmt_replaceable_file_state state;

	init(ret_file);
	if (snprintf(whole, sizeof(whole), "%s%s", strchr(path, '/') ? "" : "./", path) >=
		(int)sizeof(whole))
		return refuse(ret_why, strerror(ENAMETOOLONG), "");
	state = open_folder(whole, ret_file, ret_why);
	if (state == GMT_REPLACEABLE_FILE_IS_GONE)
		return refuse(ret_why, "there is no such folder", "");
	snprintf(ret_file->path, sizeof(ret_file->path), "%s", path);
	state = state ? state : open_file(ret_file, ret_why);
	if (!state && !force && is_recording(ret_file->fd, path))
		return refuse(ret_why,
			"it is a recording; choose another file, or use --force to replace this one", "");
	return state;
}

void gmt_replaceable_file_close(struct gmt_replaceable_file *file)
{
	if (file->folder >= 0)
		close(file->folder);
	if (file->fd >= 0)
		close(file->fd);
	file->folder = file->fd = -1;
}
