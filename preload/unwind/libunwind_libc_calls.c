/* SPDX-License-Identifier: MIT */
#include "unwind/libunwind_libc_calls.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unwind/memory_is_readable.h"
#include "runtime/descriptor.h"

enum {
	NOT_A_PIPE = 0x7ffffff0, /* stands for the pipe; no descriptor has this number */
};

static bool calls_gmtsysc; /* the copy of libunwind calls gmtsysc, not syscall */

/* Returns whether `name` is among the names that the object imports or exports. */
static bool mentions(const struct link_map *object, const char *name)
{
	const char *strings = NULL;
	size_t strings_bytes = 0, length = strlen(name) + 1;

	for (const ElfW(Dyn) *entry = object->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_STRTAB)
			strings = (const char *)entry->d_un.d_ptr;
		if (entry->d_tag == DT_STRSZ)
			strings_bytes = entry->d_un.d_val;
	}
	for (size_t at = 0; strings && at + length <= strings_bytes; at++)
		if (memcmp(strings + at, name, length) == 0)
			return true;
	return false;
}

void gmt_libunwind_libc_calls_init(void *handle)
{
	calls_gmtsysc = mentions(handle, "gmtsysc");
}

__attribute__((visibility("default"))) int gmtp2(int descriptors[2], int flags);

/* Replaces pipe2 in the copy of libunwind. */
int gmtp2(int descriptors[2], int flags)
{
	if (calls_gmtsysc) {
		descriptors[0] = descriptors[1] = NOT_A_PIPE;
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
 * Replaces open in the copy of libunwind. If an object has no unwind table in memory, libunwind
 * opens its file, in the middle of an event. The descriptor would appear among the host's. Because
 * this open fails, libunwind unwinds the frame by its frame pointer, or the stack ends there.
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

/*
 * Replaces syscall in the copy of libunwind. A write to the pipe is libunwind's question whether
 * memory can be read. All other calls go to the kernel.
 */
long gmtsysc(long number, long a, long b, long c, long d, long e, long f)
{
	if (number != SYS_write || a != NOT_A_PIPE)
		return syscall(number, a, b, c, d, e, f);
	if (gmt_memory_is_readable((uintptr_t)b))
		return c;
	errno = EFAULT;
	return -1;
}
