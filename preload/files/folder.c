/* SPDX-License-Identifier: MIT */
#include "files/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/descriptor.h"

enum { ENTRIES_BYTES = 16 << 10 };

int gmt_folder_open(const char *path)
{
	return gmt_descriptor_has_own_table() ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

void gmt_folder_close(int *folder)
{
	if (*folder >= 0 && gmt_descriptor_has_own_table())
		close(*folder);
	*folder = -1;
}

void gmt_folder_unlink(int folder, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	uid_t real, effective, saved;

	if (folder < 0) {
		unlink(path);
		return;
	}
	if (!unlinkat(folder, name, 0) || (errno != EACCES && errno != EPERM))
		return;
	/*
	 * The host has called seteuid, so this thread becomes the saved user for the call. The bare
	 * system call changes only this thread. libc's function would change all threads.
	 */
	if (getresuid(&real, &effective, &saved) || effective == saved ||
		syscall(SYS_setresuid, -1, saved, -1))
		return;
	unlinkat(folder, name, 0);
	syscall(SYS_setresuid, -1, effective, -1);
}

/* A folder entry as the kernel writes it: libc's functions for folders use the host's heap. */
struct entry {
	uint64_t number;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
};

void gmt_folder_visit(int folder, bool (*visit)(void *user, int folder, const char *name),
	void *user)
{
	/* Static, because stacks may be small. Only one thread calls this function. */
	static _Alignas(struct entry) char entries[ENTRIES_BYTES];

	for (long got; (got = syscall(SYS_getdents64, folder, entries, sizeof(entries))) > 0;)
		for (long at = 0; at < got;) {
			const struct entry *entry = (const struct entry *)(const void *)(entries + at);

			if (!visit(user, folder, entry->name))
				return;
			at += entry->length;
		}
}
