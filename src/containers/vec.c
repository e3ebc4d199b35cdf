/* SPDX-License-Identifier: MIT */
#include "containers/vec.h"

#include <stdint.h>

#include "base/pages.h"
#include "base/sanitizer.h"

bool gmt_vec_reserve_bytes(void **items, size_t *capacity, size_t count, size_t extra,
	size_t item_bytes)
{
	if (extra <= *capacity - count)
		return true;
	if (extra > SIZE_MAX / 4 / item_bytes - count)
		return false;

	/* The capacity is at least a page, then doubles: pushing n items costs O(n). */
	size_t want = count + extra > *capacity * 2 ? count + extra : *capacity * 2;
	size_t page_items = 4096 / item_bytes;
	if (want < page_items)
		want = GMT_WITH_ASAN ? count + extra : page_items;

	void *grown = gmt_pages_grow(*items, *capacity * item_bytes, want * item_bytes);
	if (!grown)
		return false;
	*items = grown;
	*capacity = want;
	return true;
}

void gmt_vec_free_bytes(void **items, size_t *count, size_t *capacity, size_t item_bytes)
{
	gmt_pages_free(*items, *capacity * item_bytes);
	*items = NULL;
	*count = 0;
	*capacity = 0;
}
