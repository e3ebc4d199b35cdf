/* SPDX-License-Identifier: MIT */
#include "unwind/unwinder_calls.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unwind/probe_memory.h"
#include "runtime/descriptor.h"

enum {
	NO_PIPE = 0x7ffffff0, /* a number that no descriptor has */
};

static bool has_probe;

/* Returns whether `name` is among the names that the object imports or exports. */
static bool names(const struct link_map *object, const char *name)
{
	const char *text = NULL;
	size_t bytes = 0, length = strlen(name) + 1;

	for (const ElfW(Dyn) *entry = object->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_STRTAB)
			text = (const char *)entry->d_un.d_ptr;
		if (entry->d_tag == DT_STRSZ)
			bytes = entry->d_un.d_val;
	}
	for (size_t at = 0; text && at + length <= bytes; at++)
		if (memcmp(text + at, name, length) == 0)
			return true;
	return false;
}

void gmt_unwinder_calls_init(void *handle)
{
	has_probe = names(handle, "gmtsysc");
}

__attribute__((visibility("default"))) int gmtp2(int descriptors[2], int flags);

/* Replaces pipe2 in the copy of libunwind. */
int gmtp2(int descriptors[2], int flags)
{
	if (has_probe) {
		descriptors[0] = descriptors[1] = NO_PIPE;
		return 0;
	}
	if (pipe2(descriptors, flags))
		return -1;
	descriptors[0] = gmt_descriptor_move_high(descriptors[0]);
	descriptors[1] = gmt_descriptor_move_high(descriptors[1]);
	return 0;
}

__attribute__((visibility("default"))) int gmto(const char *path, int flags, ...);

/*
 * Replaces open in the copy of libunwind. libunwind would open the files of objects without a table
 * in memory, in the middle of an event. Their descriptors would be among the host's descriptors.
 * Instead, such a frame is unwound by its frame pointer, or it ends the stack.
 */
int gmto(const char *path, int flags, ...)
{
	(void)path;
	(void)flags;
	errno = EACCES;
	return -1;
}

__attribute__((visibility("default"))) long gmtsysc(long number, long a, long b, long c, long d,
	long e, long f);

/* Replaces syscall in the copy of libunwind. */
long gmtsysc(long number, long a, long b, long c, long d, long e, long f)
{
	if (number != SYS_write || a != NO_PIPE)
		return syscall(number, a, b, c, d, e, f);
	if (gmt_memory_is_readable((uintptr_t)b))
		return c;
	errno = EFAULT;
	return -1;
}
