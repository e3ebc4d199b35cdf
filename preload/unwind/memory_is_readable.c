/* SPDX-License-Identifier: MIT */
#include "unwind/memory_is_readable.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	/* Not a valid way to change a signal mask: the kernel reads the mask and then refuses. */
	INVALID_HOW = -1,
	KERNEL_MASK_BYTES = 8,
};

/* No side effect and no descriptor: the kernel checks `how` only after it has read the mask. */
bool gmt_memory_is_readable(uintptr_t address)
{
	/* An aligned word lies in one page, so it is readable as a whole or not at all. */
	uintptr_t word = address & ~(uintptr_t)(KERNEL_MASK_BYTES - 1);

	return syscall(SYS_rt_sigprocmask, INVALID_HOW, word, NULL, KERNEL_MASK_BYTES) == 0 ||
		errno != EFAULT;
}
