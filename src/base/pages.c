/* SPDX-License-Identifier: MIT */
#include "base/pages.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sanitizer.h"

#if GMT_WITH_ASAN

void *gmt_pages_grow(void *block, size_t old_bytes, size_t new_bytes)
{
	/* What the kernel would refuse is refused here too, not reported. */
	char *grown = new_bytes <= PTRDIFF_MAX / 4 ? realloc(block, new_bytes ? new_bytes : 1) : NULL;

	if (grown && new_bytes > old_bytes)
		memset(grown + old_bytes, 0, new_bytes - old_bytes);
	return grown;
}

void gmt_pages_free(void *block, size_t bytes)
{
	(void)bytes;
	free(block);
}

#else

enum { PAGE_BYTES = 4096 }; /* a multiple is enough: the kernel rounds up to its own page */

static size_t whole_pages(size_t bytes)
{
	return (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

/* For sandboxes that do not know mremap. */
static void *moved(void *block, size_t old_bytes, size_t new_bytes)
{
	void *grown = gmt_pages_grow(NULL, 0, new_bytes);

	if (!grown)
		return NULL;
	memcpy(grown, block, old_bytes < new_bytes ? old_bytes : new_bytes);
	gmt_pages_free(block, old_bytes);
	return grown;
}

void *gmt_pages_grow(void *block, size_t old_bytes, size_t new_bytes)
{
	void *grown;

	if (new_bytes > SIZE_MAX - PAGE_BYTES)
		return NULL;
	if (!block)
		grown = mmap(NULL, whole_pages(new_bytes), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else if (whole_pages(new_bytes) == whole_pages(old_bytes))
		return block;
	else
		grown = mremap(block, whole_pages(old_bytes), whole_pages(new_bytes), MREMAP_MAYMOVE);
	if (grown == MAP_FAILED && block && (errno == EPERM || errno == ENOSYS))
		return moved(block, old_bytes, new_bytes);
	return grown == MAP_FAILED ? NULL : grown;
}

void gmt_pages_free(void *block, size_t bytes)
{
	if (block)
		munmap(block, whole_pages(bytes));
}

#endif
