/* SPDX-License-Identifier: MIT */
#ifndef TESTS_BENCH_ONE_PAGE_H
#define TESTS_BENCH_ONE_PAGE_H

/*
 * The simulated device maps each block, and the kernel's 4 us for that, never twice the same, would
 * hide what is looked for. So the program's own mmap hands one page of each thread out again and
 * again. (On a real device none of this is called.)
 */

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { BLOCK_BYTES = 4096 };

static __thread int in_loop; /* only then */
static __thread void *page, *page_in_use;

/*
 * Exported (-rdynamic), so that the libraries' calls come here; mmap by its name for large files.
 */
void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset)
{
	if (in_loop && length == BLOCK_BYTES && flags & MAP_NORESERVE && !page_in_use) {
		if (!page)
			page = (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
		return page_in_use = page;
	}
	return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

int munmap(void *address, size_t length)
{
	if (address == page_in_use && address) {
		page_in_use = NULL;
		return 0;
	}
	return (int)syscall(SYS_munmap, address, length);
}

#endif
