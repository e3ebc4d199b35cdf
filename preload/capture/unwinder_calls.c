/* SPDX-License-Identifier: MIT */
#include "capture/unwinder_calls.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptor.h"

enum {
	NO_PIPE = 0x7ffffff0,    /* a number that no descriptor has */
	NO_WAY = -1,             /* to change a signal mask: the kernel reads the mask and then refuses */
	KERNEL_MASK_BYTES = 8,
};

static bool has_probe;

/* Whether `name` is among the names that the object uses or gives. */
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

/* No side effect and no descriptor: how a mask is to be changed is looked at after it was read. */
static bool can_be_read(uintptr_t address)
{
	/* A part of a page, as all of it can be read or nothing. */
	uintptr_t word = address & ~(uintptr_t)(KERNEL_MASK_BYTES - 1);

	return syscall(SYS_rt_sigprocmask, NO_WAY, word, NULL, KERNEL_MASK_BYTES) == 0 || errno != EFAULT;
}

__attribute__((visibility("default"))) int gmtp2(int descriptors[2], int flags);

/* In place of pipe2. */
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

__attribute__((visibility("default"))) long gmtsysc(long number, long a, long b, long c, long d, long e, long f);

/* In place of syscall. */
long gmtsysc(long number, long a, long b, long c, long d, long e, long f)
{
	if (number != SYS_write || a != NO_PIPE)
		return syscall(number, a, b, c, d, e, f);
	if (can_be_read((uintptr_t)b))
		return c;
	errno = EFAULT;
	return -1;
}
