/* SPDX-License-Identifier: MIT */
#include "analysis/allocator/allocator_memory.h"

#include <stddef.h>
#include <stdlib.h>

#include "format/format.h"

bool gmt_allocator_memory_has_address(const struct gmt_recording_event *event)
{
	return event->layer == GMT_LAYER_CUDA && gmt_space_realm(event->space) == GMT_REALM_ADDRESS &&
		gmt_space_side(event->space) == GMT_SIDE_DEVICE;
}

bool gmt_allocator_memory_is_mappable(const struct gmt_recording_event *event)
{
	return event->layer == GMT_LAYER_CUDA && event->space == GMT_SPACE_VMM;
}

enum { NEAR_BYTES = 2 << 20 }; /* PyTorch's smallest segment */

/* Stores the index in `table` or `ranges` of the entry that begins at or below the address. */
static bool find_below(const struct gmt_ordered_map *addresses, uint64_t address,
	uint32_t *ret_index)
{
	const struct gmt_ordered_map_entry *entry = gmt_ordered_map_find_below(addresses, address);

	if (entry)
		*ret_index = (uint32_t)entry->value;
	return entry;
}

static bool begin_range(struct gmt_allocator_memory *memory,
	const struct gmt_recording_event *event)
{
	struct gmt_allocator_range *range = gmt_vec_push(&memory->ranges);

	if (!range)
		return false;
	*range =
		(struct gmt_allocator_range){ .address = event->address, .size_bytes = event->size_bytes };
	return gmt_ordered_map_put(&memory->range_places, event->address, memory->ranges.count - 1);
}

bool gmt_allocator_memory_observe(struct gmt_allocator_memory *memory,
	const struct gmt_recording_event *event)
{
	if (event->space != GMT_SPACE_RESERVATION || gmt_layer_family(event->layer) != GMT_FAMILY_CUDA)
		return true;
	if (event->kind == GMT_KIND_CREATE)
		return begin_range(memory, event);
	if (event->kind == GMT_KIND_DESTROY)
		gmt_ordered_map_remove(&memory->range_places, event->address);
	return true;
}

/* Returns the lowest address of the entries. */
static uint64_t first_address(const struct gmt_ordered_map *addresses)
{
	return addresses->pages.count ? addresses->pages.items[0].first : UINT64_MAX;
}

static struct gmt_allocator_segment *add(struct gmt_allocator_memory *memory,
	const struct gmt_allocator_segment *segment)
{
	uint32_t index = memory->first_free_plus_1 ? memory->first_free_plus_1 - 1
											   : (uint32_t)memory->table.count,
			 below = 0;
	bool has_below = find_below(&memory->addresses, segment->address, &below);
	bool has_older = has_below && memory->table.items[below].address == segment->address;
	uint64_t next = has_below ? memory->table.items[below].next : first_address(&memory->addresses);

	/* The new entry takes the address of the older entry. */
	if (has_older && !gmt_allocator_memory_touch(memory, &memory->table.items[below]))
		return NULL;
	if (!gmt_vec_reserve(&memory->table, 1) ||
		!gmt_ordered_map_put(&memory->addresses, segment->address, index))
		return NULL;
	if (has_below)
		memory->table.items[below].next = segment->address;
	if (memory->first_free_plus_1)
		memory->first_free_plus_1 = memory->table.items[index].next_free_plus_1;
	else
		memory->table.count++;
	memory->table.items[index] = *segment;
	memory->table.items[index].next = next;
	memory->table.items[index].change = ++memory->changes;
	return &memory->table.items[index];
}

struct gmt_allocator_segment *gmt_allocator_memory_add(struct gmt_allocator_memory *memory,
	const struct gmt_recording_event *event, int16_t device, uint32_t site)
{
	const struct gmt_allocator_segment segment = {
		.address = event->address,
		.size_bytes = event->size_bytes,
		.stamp = event->stamp,
		.site = site,
		.device = device,
	};

	return add(memory, &segment);
}

/*
 * Returns the index of the page's range, plus 1. Returns 0, which makes the mapping a segment, if
 * the mapping fills its range or lies in no known range.
 */
static uint32_t range_of_page(const struct gmt_allocator_memory *memory,
	const struct gmt_recording_event *event)
{
	const struct gmt_allocator_range *range;
	uint32_t index;

	if (!find_below(&memory->range_places, event->address, &index))
		return 0;
	range = &memory->ranges.items[index];
	if (event->size_bytes >= range->size_bytes ||
		event->address - range->address > range->size_bytes - event->size_bytes)
		return 0;
	return index + 1;
}

struct gmt_allocator_segment *gmt_allocator_memory_map(struct gmt_allocator_memory *memory,
	const struct gmt_recording_event *event, uint64_t number)
{
	struct gmt_allocator_segment *older = gmt_allocator_memory_at(memory, event->address);
	const struct gmt_allocator_segment segment = {
		.address = event->address,
		.size_bytes = event->size_bytes,
		.stamp = event->stamp,
		.memory = number,
		.range_plus_1 = range_of_page(memory, event),
		.device = event->device,
	};
	struct gmt_allocator_range *range = gmt_allocator_memory_range(memory, &segment);

	if (older && older->is_unmapped_in_use && older->size_bytes == event->size_bytes) {
		if (!gmt_allocator_memory_touch(memory, older))
			return NULL;
		older->is_unmapped_in_use = false;
		older->memory = number;
		return older;
	}
	/* An address cannot be mapped twice, so the recorder missed the end of the older mapping. */
	if (older && !gmt_allocator_memory_remove(memory, older))
		return NULL;
	if (range) {
		range->mapped_bytes += event->size_bytes;
		if (!range->page_bytes)
			range->page_bytes = event->size_bytes;
	}
	return add(memory, &segment);
}

struct gmt_allocator_segment *gmt_allocator_memory_at(const struct gmt_allocator_memory *memory,
	uint64_t address)
{
	uint32_t index;

	if (!find_below(&memory->addresses, address, &index) ||
		memory->table.items[index].address != address)
		return NULL;
	return &memory->table.items[index];
}

struct gmt_allocator_segment *gmt_allocator_memory_mapped_in(
	const struct gmt_allocator_memory *memory, uint64_t address, uint64_t size_bytes)
{
	uint64_t last = size_bytes > UINT64_MAX - address ? UINT64_MAX : address + size_bytes - 1;
	struct gmt_allocator_segment *segment;
	uint32_t index;

	if (!size_bytes || !find_below(&memory->addresses, last, &index))
		return NULL;
	segment = &memory->table.items[index];
	return segment->address >= address && segment->memory ? segment : NULL;
}

/*
 * Returns the entry that begins at or below the address. It first tries the last found entry,
 * because PyTorch allocates and frees many blocks in the same segments.
 */
static struct gmt_allocator_segment *find_near(struct gmt_allocator_memory *memory,
	uint64_t address)
{
	uint32_t *near = &memory->near[address / NEAR_BYTES % GMT_ALLOCATOR_NEAR];
	struct gmt_allocator_segment *segment = gmt_vec_at(&memory->table, *near);

	if (segment && address - segment->address < segment->next - segment->address)
		return segment;
	return find_below(&memory->addresses, address, near) ? &memory->table.items[*near] : NULL;
}

struct gmt_allocator_segment *gmt_allocator_memory_find(struct gmt_allocator_memory *memory,
	int16_t device, uint64_t address, uint64_t size_bytes)
{
	struct gmt_allocator_segment *segment = find_near(memory, address), *last;
	uint64_t offset;
	uint32_t index;

	if (!segment)
		return NULL;
	offset = address - segment->address;
	if (segment->device != device || offset > segment->size_bytes)
		return NULL;
	if (size_bytes <= segment->size_bytes - offset)
		return segment;
	if (!segment->range_plus_1 || size_bytes > UINT64_MAX - address ||
		!find_below(&memory->addresses, address + size_bytes - 1, &index))
		return NULL;
	last = &memory->table.items[index];
	return last->range_plus_1 == segment->range_plus_1 &&
			address + size_bytes - last->address <= last->size_bytes
		? segment
		: NULL;
}

struct gmt_allocator_range *gmt_allocator_memory_range(const struct gmt_allocator_memory *memory,
	const struct gmt_allocator_segment *segment)
{
	return segment->range_plus_1 ? &memory->ranges.items[segment->range_plus_1 - 1] : NULL;
}

bool gmt_allocator_memory_continues(const struct gmt_allocator_segment *before,
	const struct gmt_allocator_segment *segment)
{
	return before && segment->range_plus_1 && before->range_plus_1 == segment->range_plus_1 &&
		segment->address - before->address == before->size_bytes;
}

bool gmt_allocator_memory_remove(struct gmt_allocator_memory *memory,
	struct gmt_allocator_segment *segment)
{
	struct gmt_allocator_range *range = gmt_allocator_memory_range(memory, segment);
	uint32_t below;

	if (!gmt_allocator_memory_touch(memory, segment))
		return false;
	if (range)
		range->mapped_bytes -= segment->size_bytes;
	gmt_ordered_map_remove(&memory->addresses, segment->address);
	if (find_below(&memory->addresses, segment->address, &below))
		memory->table.items[below].next = segment->next;
	segment->next = segment->address;
	segment->next_free_plus_1 = memory->first_free_plus_1;
	memory->first_free_plus_1 = (uint32_t)(segment - memory->table.items) + 1;
	return true;
}

static struct gmt_allocator_mark *mark_of(const struct gmt_allocator_memory *memory, int16_t device)
{
	for (size_t i = 0; i < memory->marks.count; i++)
		if (memory->marks.items[i].device == device)
			return &memory->marks.items[i];
	return NULL;
}

static bool push(struct gmt_allocator_segments *segments,
	const struct gmt_allocator_segment *segment)
{
	struct gmt_allocator_segment *slot = gmt_vec_push(segments);

	if (slot)
		*slot = *segment;
	return slot;
}

bool gmt_allocator_memory_touch(struct gmt_allocator_memory *memory,
	struct gmt_allocator_segment *segment)
{
	struct gmt_allocator_mark *mark = mark_of(memory, segment->device);

	if (mark && segment->change <= mark->change && !push(&mark->changed, segment))
		return false;
	segment->change = ++memory->changes;
	return true;
}

void gmt_allocator_memory_note_range(struct gmt_allocator_memory *memory,
	struct gmt_allocator_range *range)
{
	range->is_pytorch = true;
	range->change = ++memory->changes;
}

bool gmt_allocator_memory_mark(struct gmt_allocator_memory *memory, int16_t device)
{
	struct gmt_allocator_mark *mark = mark_of(memory, device);

	if (!mark) {
		mark = gmt_vec_push(&memory->marks);
		if (!mark)
			return false;
		*mark = (struct gmt_allocator_mark){ .device = device };
	}
	mark->change = memory->changes;
	mark->changed.count = 0;
	return true;
}

/* Returns whether the entry was PyTorch's at that change. */
static bool is_pytorchs(const struct gmt_allocator_memory *memory,
	const struct gmt_allocator_segment *segment, uint64_t change)
{
	const struct gmt_allocator_range *range = gmt_allocator_memory_range(memory, segment);

	return range ? range->is_pytorch && range->change <= change : segment->is_segment;
}

static int by_address(const void *left, const void *right)
{
	const struct gmt_allocator_segment *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

bool gmt_allocator_memory_list(const struct gmt_allocator_memory *memory, int16_t device,
	bool at_mark, struct gmt_allocator_segments *ret_segments)
{
	const struct gmt_allocator_mark *mark = at_mark ? mark_of(memory, device) : NULL;
	uint64_t change = mark ? mark->change : memory->changes;

	for (size_t p = 0; p < memory->addresses.pages.count; p++) {
		const struct gmt_ordered_map_page *page = &memory->addresses.pages.items[p];

		for (size_t i = 0; i < page->count; i++) {
			const struct gmt_allocator_segment *segment =
				&memory->table.items[page->entries[i].value];

			if (segment->device == device && segment->change <= change &&
				is_pytorchs(memory, segment, change) && !push(ret_segments, segment))
				return false;
		}
	}
	for (size_t i = 0; mark && i < mark->changed.count; i++)
		if (is_pytorchs(memory, &mark->changed.items[i], change) &&
			!push(ret_segments, &mark->changed.items[i]))
			return false;
	if (mark && mark->changed.count && ret_segments->count)
		qsort(ret_segments->items, ret_segments->count, sizeof(*ret_segments->items), by_address);
	return true;
}

void gmt_allocator_memory_fini(struct gmt_allocator_memory *memory)
{
	for (size_t i = 0; i < memory->marks.count; i++)
		gmt_vec_fini(&memory->marks.items[i].changed);
	gmt_vec_fini(&memory->marks);
	gmt_ordered_map_fini(&memory->addresses);
	gmt_vec_fini(&memory->table);
	gmt_ordered_map_fini(&memory->range_places);
	gmt_vec_fini(&memory->ranges);
}
