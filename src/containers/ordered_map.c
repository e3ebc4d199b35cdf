/* SPDX-License-Identifier: MIT */
#include "containers/ordered_map.h"

#include <string.h>

#include "base/pages.h"

/* One page of memory. */
enum { PAGE_ENTRIES = 256, PAGE_BYTES = PAGE_ENTRIES * sizeof(struct gmt_ordered_map_entry) };

/* Selects without a branch: the position of a key is not predictable. */
static size_t upper_if(bool is_above, size_t half)
{
	return half & (0 - (size_t)is_above);
}

/*
 * Returns the index of the page that contains `key` or would contain it. Returns 0 if `key` is
 * below all pages.
 */
static size_t find_page(const struct gmt_ordered_map *ordered, uint64_t key)
{
	const struct gmt_ordered_map_page *pages = ordered->pages.items;
	size_t at = 0, half;

	for (size_t left = ordered->pages.count; left > 1; left -= half) {
		half = left / 2;
		at += upper_if(pages[at + half].first <= key, half);
	}
	return at;
}

/* Returns the index of the page's first entry with a larger key. */
static size_t find_above(const struct gmt_ordered_map_page *page, uint64_t key)
{
	const struct gmt_ordered_map_entry *entries = page->entries;
	size_t at = 0, half;

	for (size_t left = page->count; left > 1; left -= half) {
		half = left / 2;
		at += upper_if(entries[at + half].key <= key, half);
	}
	return at + (page->count && entries[at].key <= key);
}

static struct gmt_ordered_map_page *insert_page(struct gmt_ordered_map *ordered, size_t index)
{
	struct gmt_ordered_map_entry *entries;

	if (!gmt_vec_reserve(&ordered->pages, 1) || !(entries = gmt_pages_grow(NULL, 0, PAGE_BYTES)))
		return NULL;

	struct gmt_ordered_map_page *at = ordered->pages.items + index;
	memmove(at + 1, at, (ordered->pages.count - index) * sizeof(*at));
	*at = (struct gmt_ordered_map_page){ .entries = entries };
	ordered->pages.count++;
	return at;
}

/* Splits a full page in half. If keys only increase, the lower page stays nearly full. */
static bool split(struct gmt_ordered_map *ordered, size_t index, uint64_t key)
{
	struct gmt_ordered_map_page *upper = insert_page(ordered, index + 1);

	if (!upper)
		return false;

	struct gmt_ordered_map_page *lower = upper - 1;
	bool rises = index + 2 == ordered->pages.count && key > lower->entries[lower->count - 1].key;
	size_t stay = rises ? lower->count - 1 : lower->count / 2;

	upper->count = lower->count - stay;
	memcpy(upper->entries, lower->entries + stay, upper->count * sizeof(*upper->entries));
	upper->first = upper->entries->key;
	lower->count = stay;
	return true;
}

bool gmt_ordered_map_put(struct gmt_ordered_map *ordered, uint64_t key, uint64_t value)
{
	if (!ordered->pages.count && !insert_page(ordered, 0))
		return false;

	size_t index = find_page(ordered, key);
	struct gmt_ordered_map_page *page = &ordered->pages.items[index];
	size_t at = find_above(page, key);

	if (at && page->entries[at - 1].key == key) {
		page->entries[at - 1].value = value;
		return true;
	}
	if (page->count == PAGE_ENTRIES) {
		if (!split(ordered, index, key))
			return false;
		page = &ordered->pages.items[find_page(ordered, key)];
		at = find_above(page, key);
	}
	memmove(page->entries + at + 1, page->entries + at,
		(page->count - at) * sizeof(*page->entries));
	page->entries[at] = (struct gmt_ordered_map_entry){ key, value };
	page->count++;
	page->first = page->entries->key;
	ordered->count++;
	return true;
}

bool gmt_ordered_map_remove(struct gmt_ordered_map *ordered, uint64_t key)
{
	if (!ordered->pages.count)
		return false;

	size_t index = find_page(ordered, key);
	struct gmt_ordered_map_page *page = &ordered->pages.items[index];
	size_t at = find_above(page, key);

	if (!at || page->entries[at - 1].key != key)
		return false;
	memmove(page->entries + at - 1, page->entries + at,
		(page->count - at) * sizeof(*page->entries));
	ordered->count--;
	if (--page->count) {
		page->first = page->entries->key;
		return true;
	}
	gmt_pages_free(page->entries, PAGE_BYTES);
	memmove(page, page + 1, (ordered->pages.count - index - 1) * sizeof(*page));
	ordered->pages.count--;
	return true;
}

const struct gmt_ordered_map_entry *gmt_ordered_map_find_below(
	const struct gmt_ordered_map *ordered, uint64_t key)
{
	if (!ordered->pages.count)
		return NULL;

	const struct gmt_ordered_map_page *page = &ordered->pages.items[find_page(ordered, key)];
	size_t at = find_above(page, key);

	return at ? &page->entries[at - 1] : NULL;
}

void gmt_ordered_map_fini(struct gmt_ordered_map *ordered)
{
	for (size_t i = 0; i < ordered->pages.count; i++)
		gmt_pages_free(ordered->pages.items[i].entries, PAGE_BYTES);
	gmt_vec_fini(&ordered->pages);
	ordered->count = 0;
}
