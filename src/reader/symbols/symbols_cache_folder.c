/* SPDX-License-Identifier: MIT */
#include "reader/symbols/symbols_cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "system/file_io.h"
#include "base/pages.h"
#include "containers/vec.h"

enum {
	DAY_SECONDS = 24 * 60 * 60,
	/* older temporary files are left over from readers that were killed */
	HALF_WRITTEN_SECONDS = 60 * 60,
	MAX_SEEN = 100000,
};

static const char half_written[] = ".new";

static bool is_owner(const struct stat *status)
{
	return status->st_uid == geteuid();
}

/*
 * Opens a folder in `at`. It must belong to this user, without the permissions in `others`. Returns
 * -1 if it does not, or does not exist.
 */
static int open_folder(int at, const char *name, mode_t others, bool makes)
{
	struct stat status;
	int fd;

	if (makes)
		mkdirat(at, name, 0700);
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, &status) || !is_owner(&status) || (status.st_mode & others)) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * Creates the base folder, if its parent belongs to this user. Otherwise, root with another user's
 * home would leave folders there that the other user cannot use.
 */
static void make_base(const struct gmt_symbols_cache_folder *folder)
{
	char parent[PATH_MAX];
	struct stat status;

	snprintf(parent, sizeof(parent), "%.*s/", (int)(strrchr(folder->base, '/') - folder->base),
		folder->base);
	if (!stat(parent, &status) && is_owner(&status))
		mkdir(folder->base, 0700);
}

static void open_all(struct gmt_symbols_cache_folder *folder, bool makes)
{
	struct stat status;
	int base, ours, symbols;

	if (makes)
		make_base(folder);
	/*
	 * The folders below are checked. The base itself may be a link, for example to a larger disk.
	 */
	base = open(folder->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (base < 0)
		return;
	makes = makes && !fstat(base, &status) && is_owner(&status);
	ours = open_folder(base, "gpumemtrace", 022, makes);
	close(base);
	if (ours < 0)
		return;
	symbols = open_folder(ours, "symbols", 077, makes);
	close(ours);
	folder->fd_plus_1 = symbols + 1;
}

bool gmt_symbols_cache_folder_find(struct gmt_symbols_cache_folder *ret_folder)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool is_xdg = xdg && *xdg;
	const char *base = is_xdg ? xdg : home;
	int length;

	*ret_folder = (struct gmt_symbols_cache_folder){ 0 };
	/* A relative path would mean another folder in each working directory. */
	if (!base || *base != '/')
		return false;
	length =
		snprintf(ret_folder->base, sizeof(ret_folder->base), "%s%s", base, is_xdg ? "" : "/.cache");
	if (length >= (int)sizeof(ret_folder->base))
		return false;
	open_all(ret_folder, false);
	return true;
}

/* Returns whether this is a plain file that belongs to this user alone. */
static bool is_own(const struct stat *status)
{
	return S_ISREG(status->st_mode) && is_owner(status) && !(status->st_mode & 077);
}

/*
 * Notes the time of use. Once a day is precise enough to find the least recently used files. A time
 * in the future is wrong, so it is replaced.
 */
static void update_use_time(int fd, const struct stat *status)
{
	time_t now = time(NULL);

	if (status->st_mtime + DAY_SECONDS < now || status->st_mtime > now)
		futimens(fd, NULL);
}

uint8_t *gmt_symbols_cache_folder_read(const struct gmt_symbols_cache_folder *folder,
	const char *name, size_t max_bytes, size_t *ret_size)
{
	struct stat status;
	uint8_t *bytes = NULL;
	int fd = folder->fd_plus_1
		? openat(folder->fd_plus_1 - 1, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
		: -1;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &status) && is_own(&status) && status.st_size > 0 &&
		(uint64_t)status.st_size <= max_bytes)
		bytes = gmt_pages_grow(NULL, 0, (size_t)status.st_size);
	if (bytes) {
		*ret_size = (size_t)status.st_size;
		/* If the file became shorter meanwhile, the rest is zeros, and the results reject it. */
		gmt_file_read_at(fd, 0, bytes, *ret_size);
		update_use_time(fd, &status);
	}
	close(fd);
	return bytes;
}

/*
 * Returns whether the file may grow to this size. Beyond the limit, a signal would end the process.
 */
static bool has_allowed_size(size_t size)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) &&
		(limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur);
}

void gmt_symbols_cache_folder_write(struct gmt_symbols_cache_folder *folder, const char *name,
	const void *bytes, size_t size)
{
	char temporary_name[GMT_SYMBOLS_CACHE_FOLDER_NAME_BYTES + 32];
	int at, fd;

	if (!folder->fd_plus_1 && !folder->was_made) {
		folder->was_made = true;
		open_all(folder, true);
	}
	if (!folder->fd_plus_1 || !has_allowed_size(size))
		return;
	at = folder->fd_plus_1 - 1;
	snprintf(temporary_name, sizeof(temporary_name), "%s.%ld%s", name, (long)getpid(),
		half_written);
	fd = openat(at, temporary_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (!gmt_file_write_at(fd, 0, bytes, size) || renameat(at, temporary_name, at, name))
		unlinkat(at, temporary_name, 0);
	else
		folder->is_changed = true;
	close(fd);
}

/* A file in the folder. */
struct seen {
	time_t used;
	uint64_t bytes;
	char name[GMT_SYMBOLS_CACHE_FOLDER_NAME_BYTES];
};

static int newest_first(const void *left, const void *right)
{
	const struct seen *a = left, *b = right;

	return (a->used < b->used) - (a->used > b->used);
}

/* Returns whether gmt_symbols_cache gave this name. No other file in the folder may be deleted. */
static bool is_kept_name(const char *name)
{
	size_t id = strspn(name, "0123456789abcdef");

	return id && name[id] == '-' && strspn(name + id + 1, "0123456789abcdef") == 16 &&
		!name[id + 17] && id + 17 < GMT_SYMBOLS_CACHE_FOLDER_NAME_BYTES;
}

static bool is_half_written(const char *name)
{
	size_t length = strlen(name), end = strlen(half_written);

	return length > end && strcmp(name + length - end, half_written) == 0;
}

static void remove_oldest(int at)
{
	GMT_VEC(struct seen) files = { 0 };
	time_t now = time(NULL);
	/* Opens the folder again: the stream needs its own descriptor, with its own read position. */
	int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	uint64_t bytes = 0;

	if (!stream && fd >= 0)
		close(fd);
	for (size_t i = 0; stream && i < MAX_SEEN && (entry = readdir(stream)); i++) {
		struct stat status;
		struct seen *seen;

		if (fstatat(at, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode))
			continue;
		if (is_half_written(entry->d_name) && status.st_mtime + HALF_WRITTEN_SECONDS < now)
			unlinkat(at, entry->d_name, 0);
		if (!is_kept_name(entry->d_name) || !(seen = gmt_vec_push(&files)))
			continue;
		*seen = (struct seen){ .used = status.st_mtime, .bytes = (uint64_t)status.st_size };
		snprintf(seen->name, sizeof(seen->name), "%s", entry->d_name);
	}
	if (stream)
		closedir(stream);
	if (files.count)
		qsort(files.items, files.count, sizeof(*files.items), newest_first);
	for (size_t i = 0; i < files.count; i++) {
		bytes += files.items[i].bytes;
		if (i >= GMT_SYMBOLS_CACHE_FOLDER_MAX_FILES || bytes > GMT_SYMBOLS_CACHE_FOLDER_MAX_BYTES)
			unlinkat(at, files.items[i].name, 0);
	}
	gmt_vec_fini(&files);
}

void gmt_symbols_cache_folder_close(struct gmt_symbols_cache_folder *folder)
{
	if (!folder->fd_plus_1)
		return;
	if (folder->is_changed)
		remove_oldest(folder->fd_plus_1 - 1);
	close(folder->fd_plus_1 - 1);
}
