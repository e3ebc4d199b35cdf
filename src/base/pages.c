/* SPDX-License-Identifier: MIT */
#include "base/pages.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sanitizer.h"

static uint64_t limit_bytes = UINT64_MAX;
static _Atomic uint64_t used_bytes; /* counted only while there is a limit */
static _Atomic bool is_limit_met, has_refused;

void gmt_pages_set_limit(uint64_t bytes)
{
	limit_bytes = bytes;
}

bool gmt_pages_has_met_limit(void)
{
	return atomic_load_explicit(&is_limit_met, memory_order_relaxed);
}

bool gmt_pages_has_refused(void)
{
	return atomic_load_explicit(&has_refused, memory_order_relaxed);
}

/* Counts a change of size before it happens. Returns false if the limit does not allow it. */
static bool count_change(size_t old_bytes, size_t new_bytes)
{
	uint64_t used;

	if (limit_bytes == UINT64_MAX)
		return true;
	used = atomic_fetch_add_explicit(&used_bytes, (uint64_t)new_bytes - old_bytes,
		memory_order_relaxed);
	if (new_bytes <= old_bytes ||
		new_bytes - old_bytes <= limit_bytes - (used < limit_bytes ? used : limit_bytes))
		return true;
	atomic_fetch_sub_explicit(&used_bytes, (uint64_t)new_bytes - old_bytes, memory_order_relaxed);
	atomic_store_explicit(&is_limit_met, true, memory_order_relaxed);
	return false;
}

#if GMT_WITH_ASAN

static void *resize(void *block, size_t old_bytes, size_t new_bytes)
{
	char *grown;

	/* Refuse what the kernel would refuse, so that AddressSanitizer does not report it. */
	if (new_bytes > PTRDIFF_MAX / 4)
		return NULL;
	if (!block)
		/* calloc does not clear large blocks again: they are already zero */
		return calloc(1, new_bytes ? new_bytes : 1);
	grown = realloc(block, new_bytes ? new_bytes : 1);
	if (grown && new_bytes > old_bytes)
		memset(grown + old_bytes, 0, new_bytes - old_bytes);
	return grown;
}

static void release_pages(void *block, size_t bytes)
{
	(void)bytes;
	free(block);
}

#else

enum { PAGE_BYTES = 4096 }; /* any page size works: the kernel rounds up to its own page */

static size_t whole_pages(size_t bytes)
{
	return (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

static void *resize(void *block, size_t old_bytes, size_t new_bytes);

/* For sandboxes that do not support mremap. */
static void *moved(void *block, size_t old_bytes, size_t new_bytes)
{
	void *grown = resize(NULL, 0, new_bytes);

	if (!grown)
		return NULL;
	memcpy(grown, block, old_bytes < new_bytes ? old_bytes : new_bytes);
	munmap(block, whole_pages(old_bytes));
	return grown;
}

static void *resize(void *block, size_t old_bytes, size_t new_bytes)
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

static void release_pages(void *block, size_t bytes)
{
	munmap(block, whole_pages(bytes));
}

#endif

void *gmt_pages_grow(void *block, size_t old_bytes, size_t new_bytes)
{
	void *grown = NULL;

	if (!block)
		old_bytes = 0;
	if (count_change(old_bytes, new_bytes)) {
		grown = resize(block, old_bytes, new_bytes);
		if (!grown)
			count_change(new_bytes, old_bytes);
	}
	if (!grown)
		atomic_store_explicit(&has_refused, true, memory_order_relaxed);
	return grown;
}

void gmt_pages_free(void *block, size_t bytes)
{
	if (!block)
		return;
	count_change(bytes, 0);
	release_pages(block, bytes);
}
