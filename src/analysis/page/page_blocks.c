/* SPDX-License-Identifier: MIT */
#include "analysis/page/page_blocks.h"

#include <stdlib.h>

/* Moves a block up from the end of the heap to its place. */
static void sift_up(struct gmt_page_block *heap, size_t at, const struct gmt_page_block *block)
{
	while (at && heap[(at - 1) / 2].weight > block->weight) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = *block;
}

/* Moves a block down from the top of the heap to its place. */
static void sift_down(struct gmt_page_block *heap, size_t count, const struct gmt_page_block *block)
{
	size_t at = 0, child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count && heap[child + 1].weight < heap[child].weight)
			child++;
		if (heap[child].weight >= block->weight)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = *block;
}

bool gmt_page_blocks_add(struct gmt_page_blocks *blocks,
	const struct gmt_addressed_block *addressed, uint64_t stamp, bool is_live)
{
	uint64_t ticks = stamp > addressed->block.stamp ? stamp - addressed->block.stamp : 0;
	struct gmt_page_block block = {
		.weight = (double)addressed->block.size_bytes * (double)ticks,
		.begin_stamp = addressed->block.stamp,
		.end_stamp = is_live ? UINT64_MAX : stamp,
		.address = addressed->address,
		.size_bytes = addressed->block.size_bytes,
		.site = addressed->block.site,
	};

	blocks->total++;
	blocks->total_weight += block.weight;
	if (blocks->kept.count < GMT_PAGE_BLOCKS) {
		if (!gmt_vec_reserve(&blocks->kept, 1))
			return false;
		sift_up(blocks->kept.items, blocks->kept.count++, &block);
	} else if (block.weight > blocks->kept.items[0].weight) {
		sift_down(blocks->kept.items, blocks->kept.count, &block);
	}
	return true;
}

static int by_begin(const void *left, const void *right)
{
	const struct gmt_page_block *a = left, *b = right;

	if (a->begin_stamp != b->begin_stamp)
		return a->begin_stamp < b->begin_stamp ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->end_stamp > b->end_stamp) - (a->end_stamp < b->end_stamp);
}

void gmt_page_blocks_sort(struct gmt_page_blocks *blocks)
{
	if (blocks->kept.count)
		qsort(blocks->kept.items, blocks->kept.count, sizeof(*blocks->kept.items), by_begin);
	for (size_t i = 0; i < blocks->kept.count; i++)
		blocks->kept_weight += blocks->kept.items[i].weight;
}

void gmt_page_blocks_fini(struct gmt_page_blocks *blocks)
{
	gmt_vec_fini(&blocks->kept);
}
