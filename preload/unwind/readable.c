/* SPDX-License-Identifier: MIT */
#include "unwind/readable.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	NO_WAY = -1, /* to change a signal mask: the kernel reads the mask and then refuses */
	KERNEL_MASK_BYTES = 8,
};

/* No side effect and no descriptor: how a mask is to be changed is looked at after it was read. */
bool gmt_is_readable(uintptr_t address)
{
	/* A part of a page, as all of it can be read or nothing. */
	uintptr_t word = address & ~(uintptr_t)(KERNEL_MASK_BYTES - 1);

	return syscall(SYS_rt_sigprocmask, NO_WAY, word, NULL, KERNEL_MASK_BYTES) == 0 || errno != EFAULT;
}
