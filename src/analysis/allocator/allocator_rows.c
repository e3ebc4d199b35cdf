/* SPDX-License-Identifier: MIT */
/* Keys and titles of the rows of allocator_rows.def. */
#include "analysis/allocator/allocator.h"

static const struct {
	const char *key, *title;
	bool in_bytes;
} rows[] = {
#define GMT_ALLOCATOR_ROW(NAME, key, title, in_bytes) { key, title, in_bytes },
#include "analysis/allocator/allocator_rows.def"
#undef GMT_ALLOCATOR_ROW
};

const char *gmt_allocator_key(enum gmt_allocator_row row)
{
	return rows[row].key;
}

const char *gmt_allocator_title(enum gmt_allocator_row row)
{
	return rows[row].title;
}

bool gmt_allocator_in_bytes(enum gmt_allocator_row row)
{
	return rows[row].in_bytes;
}

const char *gmt_allocator_pool_name(enum gmt_allocator_pool pool)
{
	static const char *const names[] = { "all", "large_pool", "small_pool" };

	return names[pool];
}
