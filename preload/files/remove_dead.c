/* SPDX-License-Identifier: MIT */
#include "files/remove_dead.h"

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

enum { SEEN = 1024, NAME_BYTES = 64, YOUNG_S = 60 };

/* Static, because stacks may be small; there is only one caller. */
static struct leftover {
	char name[NAME_BYTES];
	int64_t time_s;
	uint64_t bytes;
	bool is_whole;   /* the file has its beginning, so something can be recovered */
	bool is_useless; /* nothing can be recovered, or the recording's file no longer exists */
} leftovers[SEEN];

static bool is_name(const char *name)
{
	size_t length = strlen(name);
	const char *digits = strncmp(name, ".gpumemtrace-", 13) ? name : name + 13;

	return length > 5 && length < NAME_BYTES && !strcmp(name + length - 5, ".area") &&
		*digits >= '0' && *digits <= '9';
}

/* Fills in what is known about a file. Returns false if the file must stay. */
static bool look_at(int folder, const char *name, struct leftover *ret_leftover)
{
	static struct gmt_shared_recording_owner owner;
	struct stat about;
	char magic[sizeof(GMT_SHARED_RECORDING_MAGIC) - 1] = "";
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool is_ours = fd >= 0 && !fstat(fd, &about) && S_ISREG(about.st_mode) &&
		about.st_uid == geteuid() && time(NULL) - about.st_mtime >= YOUNG_S;

	if (is_ours) {
		bool is_whole = pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
			!memcmp(magic, GMT_SHARED_RECORDING_MAGIC, sizeof(magic)) &&
			pread(fd, &owner, sizeof(owner), offsetof(struct gmt_shared_recording_header, owner)) ==
				sizeof(owner);

		if (!is_whole)
			memset(&owner, 0, sizeof(owner));
		owner.path[sizeof(owner.path) - 1] = 0;
		is_ours = !gmt_shared_recording_is_used(fd, &owner);
		*ret_leftover = (struct leftover){
			.time_s = about.st_mtime,
			.bytes = (uint64_t)about.st_blocks * 512,
			.is_whole = is_whole,
			.is_useless = !is_whole || !gmt_shared_recording_has_file(&owner),
		};
		snprintf(ret_leftover->name, sizeof(ret_leftover->name), "%s", name);
	}
	if (fd >= 0)
		close(fd);
	return is_ours;
}

static int badness(const struct leftover *leftover)
{
	return !leftover->is_whole + leftover->is_useless;
}

static size_t worst_of(size_t count)
{
	size_t worst = 0;

	for (size_t i = 1; i < count; i++)
		if (badness(&leftovers[i]) != badness(&leftovers[worst])
				? badness(&leftovers[i]) > badness(&leftovers[worst])
				: leftovers[i].time_s < leftovers[worst].time_s)
			worst = i;
	return worst;
}

struct found {
	size_t count;
	uint64_t bytes;
};

static bool add(void *user, int folder, const char *name)
{
	struct found *found = user;

	if (is_name(name) && look_at(folder, name, &leftovers[found->count]))
		found->bytes += leftovers[found->count++].bytes;
	return found->count < SEEN;
}

void gmt_remove_dead_recordings(const char *folder)
{
	struct found found = { 0 };
	int entries = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (entries < 0)
		return;
	gmt_folder_visit(entries, add, &found);
	while (found.count) {
		size_t worst = worst_of(found.count);

		if (leftovers[worst].is_whole && found.count <= GMT_SHARED_RECORDING_MAX &&
			found.bytes <= GMT_SHARED_RECORDING_MAX_BYTES)
			break;
		unlinkat(entries, leftovers[worst].name, 0);
		found.bytes -= leftovers[worst].bytes;
		leftovers[worst] = leftovers[--found.count];
	}
	close(entries);
}
