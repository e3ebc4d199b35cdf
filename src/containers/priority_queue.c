/* SPDX-License-Identifier: MIT */
#include "containers/priority_queue.h"

#include <stddef.h>

static bool is_before(const struct gmt_priority_queue_entry *a,
	const struct gmt_priority_queue_entry *b)
{
	return a->stamp != b->stamp ? a->stamp < b->stamp : a->order < b->order;
}

bool gmt_priority_queue_push(struct gmt_priority_queue *queue,
	struct gmt_priority_queue_entry entry)
{
	struct gmt_priority_queue_entry *entries;
	size_t at;

	if (!gmt_vec_reserve(&queue->entries, 1))
		return false;
	entries = queue->entries.items;
	at = queue->entries.count++;
	for (; at && is_before(&entry, &entries[(at - 1) / 2]); at = (at - 1) / 2)
		entries[at] = entries[(at - 1) / 2];
	entries[at] = entry;
	return true;
}

bool gmt_priority_queue_pop(struct gmt_priority_queue *queue,
	struct gmt_priority_queue_entry *ret_entry)
{
	struct gmt_priority_queue_entry *entries = queue->entries.items;
	struct gmt_priority_queue_entry last;
	size_t at = 0, count;

	if (!queue->entries.count)
		return false;
	*ret_entry = entries[0];
	count = --queue->entries.count;
	last = entries[count];
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		child += child + 1 < count && is_before(&entries[child + 1], &entries[child]);
		if (!is_before(&entries[child], &last))
			break;
		entries[at] = entries[child];
	}
	entries[at] = last;
	return true;
}

void gmt_priority_queue_fini(struct gmt_priority_queue *queue)
{
	gmt_vec_fini(&queue->entries);
}
