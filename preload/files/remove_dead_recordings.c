/* SPDX-License-Identifier: MIT */
#include "files/remove_dead_recordings.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files/folder.h"
#include "shared_memory/shared_recording_owner.h"

enum {
	MAX_FILES = 1024, /* examined per call */
	MAX_NAME_BYTES = 64,
	MIN_AGE_S = 60, /* younger files stay */
};

/* A shared-memory recording that no process uses. */
struct dead_recording {
	char name[MAX_NAME_BYTES];
	int64_t modified_s; /* seconds since the epoch */
	uint64_t disk_bytes;
	bool has_header;     /* false: the beginning of the file is missing or damaged */
	bool is_recoverable; /* has a header, and the recording on disk still exists */
};

/* Static, because the calling thread's stack may be small. There is only one caller. */
static struct dead_recording dead[MAX_FILES];

/* Returns whether a file name has the form of a shared-memory recording. */
static bool is_recording_name(const char *name)
{
	size_t length = strlen(name);
	const char *digits = strncmp(name, ".gpumemtrace-", 13) ? name : name + 13;

	return length > 5 && length < MAX_NAME_BYTES && !strcmp(name + length - 5, ".area") &&
		*digits >= '0' && *digits <= '9';
}

/*
 * Examines a file. Returns false if the file must stay, because it is in use, is too young, or
 * belongs to another user. Otherwise fills `ret_recording`.
 */
static bool examine(int folder, const char *name, struct dead_recording *ret_recording)
{
	static struct gmt_shared_recording_owner owner;
	struct stat status;
	char magic[sizeof(GMT_SHARED_RECORDING_MAGIC) - 1] = "";
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool is_removable = fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode) &&
		status.st_uid == geteuid() && time(NULL) - status.st_mtime >= MIN_AGE_S;

	if (is_removable) {
		bool has_header = pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
			!memcmp(magic, GMT_SHARED_RECORDING_MAGIC, sizeof(magic)) &&
			pread(fd, &owner, sizeof(owner), offsetof(struct gmt_shared_recording_header, owner)) ==
				sizeof(owner);

		if (!has_header)
			memset(&owner, 0, sizeof(owner));
		owner.path[sizeof(owner.path) - 1] = 0;
		is_removable = !gmt_shared_recording_is_used(fd, &owner);
		*ret_recording = (struct dead_recording){
			.modified_s = status.st_mtime,
			.disk_bytes = (uint64_t)status.st_blocks * 512,
			.has_header = has_header,
			.is_recoverable = has_header && gmt_shared_recording_has_file(&owner),
		};
		snprintf(ret_recording->name, sizeof(ret_recording->name), "%s", name);
	}
	if (fd >= 0)
		close(fd);
	return is_removable;
}

/* Returns 2 for a file without a header, 1 if the recording on disk no longer exists, else 0. */
static int removal_priority(const struct dead_recording *recording)
{
	return !recording->has_header + !recording->is_recoverable;
}

/* Returns whether `left` is removed before `right`. */
static bool goes_first(const struct dead_recording *left, const struct dead_recording *right)
{
	int left_priority = removal_priority(left), right_priority = removal_priority(right);

	return left_priority != right_priority ? left_priority > right_priority
										   : left->modified_s < right->modified_s;
}

/* Returns the index of the file to remove next. `count` must be at least 1. */
static size_t next_to_remove(size_t count)
{
	size_t next = 0;

	for (size_t i = 1; i < count; i++)
		if (goes_first(&dead[i], &dead[next]))
			next = i;
	return next;
}

struct total {
	size_t count;
	uint64_t disk_bytes;
};

/* Adds a file to `dead`, if it may be removed. Returns false if the array is full. */
static bool add_if_dead(void *user, int folder, const char *name)
{
	struct total *total = user;

	if (is_recording_name(name) && examine(folder, name, &dead[total->count]))
		total->disk_bytes += dead[total->count++].disk_bytes;
	return total->count < MAX_FILES;
}

void gmt_remove_dead_recordings(const char *folder)
{
	struct total total = { 0 };
	int folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (folder_fd < 0)
		return;
	gmt_folder_visit(folder_fd, add_if_dead, &total);
	while (total.count) {
		size_t next = next_to_remove(total.count);

		if (dead[next].has_header && total.count <= GMT_SHARED_RECORDING_MAX &&
			total.disk_bytes <= GMT_SHARED_RECORDING_MAX_BYTES)
			break;
		unlinkat(folder_fd, dead[next].name, 0);
		total.disk_bytes -= dead[next].disk_bytes;
		dead[next] = dead[--total.count];
	}
	close(folder_fd);
}
