/* SPDX-License-Identifier: MIT */
/*
 * Custom heaps: the heaps that a program declares (layer custom). Heaps with the same name and
 * device form a group; reports show groups. An address can lie in several heaps, so each heap maps
 * addresses to block numbers.
 */
#include <string.h>

#include "base/budget.h"
#include "accounting/interpret_internal.h"

enum { HEAPS_PER_BUDGET_UNIT = 8 }; /* heaps that the search examines for one unit of the budget */

/* The key of a group. Only the used part of the name belongs to the key. */
struct group_key {
	int32_t device;
	char name[256];
};

bool gmt_interpret_intern_heap_group(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_heap_group *heap_group, uint32_t *ret_group)
{
	struct group_key key = { .device = heap_group->device };
	size_t length = strnlen(heap_group->name, sizeof(key.name));
	struct gmt_interpret_heap_group *group;
	uint32_t id;

	if (length)
		memcpy(key.name, heap_group->name, length);
	if (!gmt_intern(&interpreter->heap_group_ids, &key, offsetof(struct group_key, name) + length,
			ret_group))
		return false;
	if (*ret_group < interpreter->heap_groups->count)
		return true;
	group = gmt_vec_push(interpreter->heap_groups);
	if (!group || !gmt_accounting_add_heap(interpreter->accounting, &id))
		return false;
	*group = (struct gmt_interpret_heap_group){
		.name = heap_group->name, .device = heap_group->device, .source = heap_group->source
	};
	return true;
}

static bool intern_group_of_event(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint64_t heap_number, uint32_t *ret_group)
{
	struct gmt_interpret_heap_group group = {
		.name = "",
		.device = gmt_space_side(event->space) == GMT_SIDE_HOST ? GMT_DEVICE_HOST : event->device,
	};

	if (interpreter->observer.name_heap &&
		!interpreter->observer.name_heap(interpreter->observer.user, heap_number, &group.name,
			&group.source))
		return false;
	return gmt_interpret_intern_heap_group(interpreter, &group, ret_group);
}

static struct gmt_interpret_heap_group *group_of_heap(
	const struct gmt_event_interpreter *interpreter, const struct gmt_interpret_heap *heap)
{
	return &interpreter->heap_groups->items[heap->group];
}

static void set_size(const struct gmt_event_interpreter *interpreter,
	struct gmt_interpret_heap *heap, uint64_t size_bytes)
{
	struct gmt_interpret_heap_group *group = group_of_heap(interpreter, heap);

	group->unsized_heaps -= !heap->size_bytes;
	group->size_bytes -= heap->size_bytes;
	/* A size that no machine can have counts as not stated. */
	heap->size_bytes = size_bytes > GMT_ACCOUNTING_MAX_BYTES - group->size_bytes ? 0 : size_bytes;
	group->unsized_heaps += !heap->size_bytes;
	group->size_bytes += heap->size_bytes;
	if (group->size_bytes > group->max_size_bytes)
		group->max_size_bytes = group->size_bytes;
}

static void begin_heap(const struct gmt_event_interpreter *interpreter,
	struct gmt_interpret_heap *heap)
{
	struct gmt_interpret_heap_group *group = group_of_heap(interpreter, heap);

	heap->is_live = true;
	group->heaps++;
	group->live_heaps++;
	group->unsized_heaps++;
}

/* Returns heap `heap_number`; creates it at its first event. Returns NULL when out of memory. */
static struct gmt_interpret_heap *get_or_begin_heap(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint64_t heap_number)
{
	struct gmt_interpret_heap *heap;
	uint64_t index;
	uint32_t group;

	if (gmt_map_find(&interpreter->heap_ids, heap_number, &index)) {
		heap = &interpreter->heaps.items[index];
	} else {
		if (!intern_group_of_event(interpreter, event, heap_number, &group))
			return NULL;
		heap = gmt_vec_push(&interpreter->heaps);
		if (!heap ||
			!gmt_map_put(&interpreter->heap_ids, heap_number, interpreter->heaps.count - 1))
			return NULL;
		*heap = (struct gmt_interpret_heap){ .group = group };
	}
	if (!heap->is_live)
		begin_heap(interpreter, heap);
	return heap;
}

/*
 * Returns the heap that has a block at `address`: heap `heap_number`. If the event names no heap
 * (0): the heap of NVTX that last had a block there, or else the newest heap that has a block
 * there. Returns NULL if there is no such heap.
 */
static struct gmt_interpret_heap *find_holder(struct gmt_event_interpreter *interpreter,
	uint64_t heap_number, uint64_t address, uint64_t *ret_block_number)
{
	uint64_t index;

	if (heap_number) {
		if (!gmt_map_find(&interpreter->heap_ids, heap_number, &index) ||
			!gmt_map_find(&interpreter->heaps.items[index].blocks, address, ret_block_number))
			return NULL;
		return &interpreter->heaps.items[index];
	}
	/* An NVTX free names only the address. */
	if (gmt_map_find(&interpreter->heap_of_address, address, &index) &&
		gmt_map_find(&interpreter->heaps.items[index].blocks, address, ret_block_number))
		return &interpreter->heaps.items[index];
	/*
	 * The budget limits the search: a file can have many heaps, and free many addresses that lie
	 * in none of them.
	 */
	if (!gmt_budget_spend_work(interpreter->heaps.count / HEAPS_PER_BUDGET_UNIT, GMT_BUDGET_POOLS))
		return NULL;
	for (size_t i = interpreter->heaps.count; i-- > 0;)
		if (gmt_map_find(&interpreter->heaps.items[i].blocks, address, ret_block_number))
			return &interpreter->heaps.items[i];
	return NULL;
}

static bool account_block(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, const struct gmt_interpret_heap *heap,
	uint64_t block_number)
{
	struct gmt_interpret_event block = *event;

	block.kind = GMT_KIND_ALLOC;
	block.address = block_number;
	block.space = group_of_heap(interpreter, heap)->device == GMT_DEVICE_HOST ? GMT_SPACE_HEAP_HOST
																			  : GMT_SPACE_HEAP;
	block.device = group_of_heap(interpreter, heap)->device;
	return gmt_interpret_alloc_in_heap(interpreter, &block, heap->group);
}

static bool begin_block(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint64_t heap_number)
{
	struct gmt_interpret_heap *heap = get_or_begin_heap(interpreter, event, heap_number);
	uint64_t block_number;

	if (!heap)
		return false;
	/*
	 * If the block is already there, its free was lost. The accounting detects that by the number.
	 */
	if (!gmt_map_find(&heap->blocks, event->address, &block_number)) {
		block_number = ++interpreter->last_heap_block;
		if (!gmt_map_put(&heap->blocks, event->address, block_number))
			return false;
	}
	if (group_of_heap(interpreter, heap)->source == GMT_MARK_SOURCE_NVTX &&
		!gmt_map_put(&interpreter->heap_of_address, event->address,
			(uint64_t)(heap - interpreter->heaps.items)))
		return false;
	return account_block(interpreter, event, heap, block_number);
}

static bool end_block(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint64_t heap_number)
{
	uint64_t block_number;
	struct gmt_interpret_heap *heap =
		find_holder(interpreter, heap_number, event->address, &block_number);
	uint32_t site;

	if (!heap) {
		/*
		 * A free that names no heap may belong to no heap, e.g. to a label on the driver's own
		 * memory. Do not count it.
		 */
		interpreter->accounting->anomalies.unknown_frees += event->address != 0 && heap_number != 0;
		return true;
	}
	gmt_map_remove(&heap->blocks, event->address, NULL);
	return gmt_interpret_free(interpreter, event, event->layer, event->space, block_number,
		event->size_bytes, &site);
}

/* With an address, changes the size of a block; without one, of the heap. */
static bool resize_heap_or_block(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint64_t heap_number)
{
	struct gmt_interpret_heap *heap;
	uint64_t block_number;
	uint32_t site;

	if (!event->address) {
		heap = get_or_begin_heap(interpreter, event, heap_number);
		if (heap)
			set_size(interpreter, heap, event->size_bytes);
		return heap;
	}
	heap = find_holder(interpreter, heap_number, event->address, &block_number);
	if (!heap) {
		interpreter->accounting->anomalies.unknown_frees += heap_number != 0;
		return true;
	}
	return gmt_interpret_free(interpreter, event, event->layer, event->space, block_number, 0,
			   &site) &&
		account_block(interpreter, event, heap, block_number);
}

/* Ends all blocks of a heap. */
static bool end_all_blocks(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, struct gmt_interpret_heap *heap)
{
	struct gmt_interpret_heap_group *group = group_of_heap(interpreter, heap);
	const struct gmt_accounting *accounting = interpreter->accounting;
	bool done = true;

	for (size_t i = 0; i < heap->blocks.capacity && done; i++) {
		const struct gmt_map_slot *slot = &heap->blocks.slots[i];
		uint32_t site;

		if (!slot->value_plus_1)
			continue;
		done = gmt_interpret_free(interpreter, event, event->layer, event->space,
			slot->value_plus_1 - 1, 0, &site);
		if (accounting->has_ended) {
			group->swept_blocks++;
			group->swept_bytes =
				gmt_saturating_add_u64(group->swept_bytes, accounting->ended.size_bytes);
		}
	}
	gmt_map_fini(&heap->blocks);
	return done;
}

static bool end_heap(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, struct gmt_interpret_heap *heap)
{
	struct gmt_interpret_heap_group *group = group_of_heap(interpreter, heap);

	group->unsized_heaps -= !heap->size_bytes;
	group->size_bytes -= heap->size_bytes;
	group->live_heaps--;
	heap->size_bytes = 0;
	heap->is_live = false;
	return end_all_blocks(interpreter, event, heap);
}

bool gmt_interpret_heap_event(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	uint64_t heap_number = event->object, index;
	struct gmt_interpret_heap *heap;

	switch ((enum gmt_event_kind)event->kind) {
	case GMT_KIND_ALLOC:
		return begin_block(interpreter, event, heap_number);
	case GMT_KIND_FREE:
		return end_block(interpreter, event, heap_number);
	case GMT_KIND_RESIZE:
		return resize_heap_or_block(interpreter, event, heap_number);
	case GMT_KIND_CREATE:
		heap = get_or_begin_heap(interpreter, event, heap_number);
		if (heap && event->size_bytes)
			set_size(interpreter, heap, event->size_bytes);
		return heap;
	case GMT_KIND_DESTROY:
	case GMT_KIND_RESET:
		if (!gmt_map_find(&interpreter->heap_ids, heap_number, &index) ||
			!interpreter->heaps.items[index].is_live)
			return true;
		heap = &interpreter->heaps.items[index];
		return event->kind == GMT_KIND_RESET ? end_all_blocks(interpreter, event, heap)
											 : end_heap(interpreter, event, heap);
	default:
		return true;
	}
}

void gmt_interpret_heaps_fini(struct gmt_event_interpreter *interpreter)
{
	for (size_t i = 0; i < interpreter->heaps.count; i++)
		gmt_map_fini(&interpreter->heaps.items[i].blocks);
	gmt_vec_fini(&interpreter->heaps);
	gmt_map_fini(&interpreter->heap_ids);
	gmt_map_fini(&interpreter->heap_of_address);
	gmt_map_fini(&interpreter->heap_site_ids);
	gmt_intern_fini(&interpreter->heap_group_ids);
}
