/* SPDX-License-Identifier: MIT */
#ifndef TESTS_BENCH_ONE_PAGE_H
#define TESTS_BENCH_ONE_PAGE_H

/*
 * The simulated device maps memory for each block. The kernel takes about 4 us for that, and this
 * varying time would hide the recorder's cost. So the program's own mmap always returns the same
 * page of the thread. (On a real device no thread calls it.)
 */

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { BLOCK_BYTES = 4096 };

static __thread int in_loop; /* mmap returns the page only in the loop */
static __thread void *page, *page_in_use;

/*
 * Exported (-rdynamic), so that the libraries call it. mmap64 is mmap's name for large files.
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
