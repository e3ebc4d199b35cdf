/* SPDX-License-Identifier: MIT */
#include "unwind/memory_is_readable.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	INVALID_HOW = -1, /* no valid change of a signal mask */
	KERNEL_MASK_BYTES = 8,
};

/* The kernel reads the mask and then refuses the invalid `how`: nothing changes. */
bool gmt_memory_is_readable(uintptr_t address)
{
	/* An aligned word lies in one page, so it is readable as a whole or not at all. */
	uintptr_t word = address & ~(uintptr_t)(KERNEL_MASK_BYTES - 1);

	return syscall(SYS_rt_sigprocmask, INVALID_HOW, word, NULL, KERNEL_MASK_BYTES) == 0 ||
		errno != EFAULT;
}
