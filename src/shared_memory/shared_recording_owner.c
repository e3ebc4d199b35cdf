/* SPDX-License-Identifier: MIT */
#include "shared_memory/shared_recording_owner.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/file_lock.h"
#include "base/uuid.h"
#include "system/process_start.h"

static uint64_t own_pid_namespace(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) ? 0 : status.st_ino;
}

void gmt_shared_recording_owner_init(struct gmt_shared_recording_owner *ret_owner)
{
	memset(ret_owner, 0, sizeof(*ret_owner));
	ret_owner->pid = (uint32_t)getpid();
	ret_owner->pid_namespace = own_pid_namespace();
	ret_owner->start_ticks = gmt_process_start_ticks((pid_t)ret_owner->pid);
	gmt_uuid_of_boot(ret_owner->boot_id);
}

/* Checks one line of /proc/PID/maps: "from-to rights offset device inode path". */
static bool names_inode(const char *line, uint64_t inode)
{
	for (int field = 0; line && field < 4; field++)
		line = (line = strchr(line, ' ')) ? line + 1 : NULL;
	return line && strtoull(line, NULL, 10) == inode && strstr(line, ".area");
}

/*
 * Returns whether the process has mapped the file. Devices are not compared, because some file
 * systems show another device there.
 */
static bool has_mapped(uint32_t pid, int fd)
{
	char path[64], text[8192];
	size_t kept = 0;
	bool found = false;
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	int maps = open(path, O_RDONLY | O_CLOEXEC);
	if (maps < 0 || fstat(fd, &status)) {
		if (maps >= 0)
			close(maps);
		return false;
	}
	for (ssize_t got; !found && (got = read(maps, text + kept, sizeof(text) - 1 - kept)) > 0;) {
		char *line = text, *end;

		text[kept += (size_t)got] = 0;
		for (; !found && (end = strchr(line, '\n')); line = end + 1) {
			*end = 0;
			found = names_inode(line, status.st_ino);
		}
		kept = strlen(line);
		if (kept == sizeof(text) - 1)
			kept = 0; /* longer than any path */
		memmove(text, line, kept);
	}
	close(maps);
	return found;
}

bool gmt_shared_recording_is_used(int fd, const struct gmt_shared_recording_owner *owner)
{
	uint64_t here = own_pid_namespace();

	if (here && here == owner->pid_namespace && owner->start_ticks &&
		gmt_shared_recording_is_of_this_boot(owner)) {
		/* A child that was killed early may still hold the lock of a dead process. */
		if (gmt_process_start_ticks((pid_t)owner->pid) != owner->start_ticks)
			return false;
		/* The host program may have closed our descriptor, and this released the lock. */
		return gmt_file_is_locked(fd) || has_mapped(owner->pid, fd);
	}
	return gmt_file_is_locked(fd);
}

bool gmt_shared_recording_has_file(const struct gmt_shared_recording_owner *owner)
{
	struct stat status;

	return !stat(owner->path, &status) &&
		(status.st_ino == owner->file_inode ||
			atomic_load_explicit(&owner->is_being_replaced, memory_order_acquire));
}

bool gmt_shared_recording_is_of_this_boot(const struct gmt_shared_recording_owner *owner)
{
	char here[GMT_UUID_BYTES];

	gmt_uuid_of_boot(here);
	return here[0] && !strncmp(here, owner->boot_id, sizeof(here));
}
