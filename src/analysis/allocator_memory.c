/* SPDX-License-Identifier: MIT */
#include "analysis/allocator_memory.h"

#include <stddef.h>

#include "wire/format.h"

bool gmt_allocator_memory_has_address(const struct gmt_snapshot_event *event)
{
	return event->layer == GMT_LAYER_CUDA && gmt_space_realm(event->space) == GMT_REALM_ADDRESS &&
		gmt_space_side(event->space) == GMT_SIDE_DEVICE;
}

bool gmt_allocator_memory_is_mappable(const struct gmt_snapshot_event *event)
{
	return event->layer == GMT_LAYER_CUDA && event->space == GMT_SPACE_VMM;
}

/* Index in `table` or `ranges` of what begins at or below the address. */
static bool find_below(const struct gmt_ordered *places, uint64_t address, uint32_t *ret_index)
{
	const struct gmt_ordered_entry *entry = gmt_ordered_find_below(places, address);

	if (entry)
		*ret_index = (uint32_t)entry->value;
	return entry;
}

static bool begin_range(struct gmt_allocator_memory *memory, const struct gmt_snapshot_event *event)
{
	struct gmt_allocator_range *range = gmt_vec_push(&memory->ranges);

	if (!range)
		return false;
	*range = (struct gmt_allocator_range){ .address = event->address, .size_bytes = event->size_bytes };
	return gmt_ordered_put(&memory->range_places, event->address, memory->ranges.count - 1);
}

bool gmt_allocator_memory_see(struct gmt_allocator_memory *memory, const struct gmt_snapshot_event *event)
{
	if (event->space != GMT_SPACE_RESERVATION || gmt_layer_family(event->layer) != GMT_FAMILY_CUDA)
		return true;
	if (event->kind == GMT_KIND_CREATE)
		return begin_range(memory, event);
	if (event->kind == GMT_KIND_DESTROY)
		gmt_ordered_remove(&memory->range_places, event->address);
	return true;
}

static struct gmt_allocator_segment *add(struct gmt_allocator_memory *memory,
	const struct gmt_allocator_segment *segment)
{
	uint32_t index = memory->first_free_plus_1 ? memory->first_free_plus_1 - 1 : (uint32_t)memory->table.count;

	if (!gmt_vec_reserve(&memory->table, 1) || !gmt_ordered_put(&memory->places, segment->address, index))
		return NULL;
	if (memory->first_free_plus_1)
		memory->first_free_plus_1 = memory->table.items[index].next_free_plus_1;
	else
		memory->table.count++;
	memory->table.items[index] = *segment;
	return &memory->table.items[index];
}

struct gmt_allocator_segment *gmt_allocator_memory_add(struct gmt_allocator_memory *memory,
	const struct gmt_snapshot_event *event, int16_t device, uint32_t site)
{
	const struct gmt_allocator_segment segment = {
		.address = event->address, .size_bytes = event->size_bytes, .stamp = event->stamp,
		.site = site, .device = device,
	};

	return add(memory, &segment);
}

/* A mapping that fills its range, or lies in none that is known, is a segment by itself. */
static uint32_t range_of_page(const struct gmt_allocator_memory *memory, const struct gmt_snapshot_event *event)
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
	const struct gmt_snapshot_event *event, uint64_t number)
{
	struct gmt_allocator_segment *older = gmt_allocator_memory_at(memory, event->address);
	const struct gmt_allocator_segment segment = {
		.address = event->address, .size_bytes = event->size_bytes, .stamp = event->stamp,
		.memory = number, .range_plus_1 = range_of_page(memory, event), .device = event->device,
	};
	struct gmt_allocator_range *range = gmt_allocator_memory_range(memory, &segment);

	if (older && older->is_asleep && older->size_bytes == event->size_bytes) {
		older->is_asleep = false;
		older->memory = number;
		return older;
	}
	/* Nothing is mapped twice: the end of the older one was missed. */
	if (older)
		gmt_allocator_memory_remove(memory, older);
	if (range) {
		range->mapped_bytes += event->size_bytes;
		if (!range->page_bytes)
			range->page_bytes = event->size_bytes;
	}
	return add(memory, &segment);
}

struct gmt_allocator_segment *gmt_allocator_memory_at(const struct gmt_allocator_memory *memory, uint64_t address)
{
	uint32_t index;

	if (!find_below(&memory->places, address, &index) || memory->table.items[index].address != address)
		return NULL;
	return &memory->table.items[index];
}

struct gmt_allocator_segment *gmt_allocator_memory_mapped_in(const struct gmt_allocator_memory *memory,
	uint64_t address, uint64_t size_bytes)
{
	uint64_t last = size_bytes > UINT64_MAX - address ? UINT64_MAX : address + size_bytes - 1;
	struct gmt_allocator_segment *segment;
	uint32_t index;

	if (!size_bytes || !find_below(&memory->places, last, &index))
		return NULL;
	segment = &memory->table.items[index];
	return segment->address >= address && segment->memory ? segment : NULL;
}

struct gmt_allocator_segment *gmt_allocator_memory_find(const struct gmt_allocator_memory *memory, int16_t device,
	uint64_t address, uint64_t size_bytes)
{
	struct gmt_allocator_segment *segment, *last;
	uint64_t offset;
	uint32_t index;

	if (!find_below(&memory->places, address, &index))
		return NULL;
	segment = &memory->table.items[index];
	offset = address - segment->address;
	if (segment->device != device || offset > segment->size_bytes)
		return NULL;
	if (size_bytes <= segment->size_bytes - offset)
		return segment;
	if (!segment->range_plus_1 || size_bytes > UINT64_MAX - address ||
		!find_below(&memory->places, address + size_bytes - 1, &index))
		return NULL;
	last = &memory->table.items[index];
	return last->range_plus_1 == segment->range_plus_1 &&
		address + size_bytes - last->address <= last->size_bytes ? segment : NULL;
}

struct gmt_allocator_range *gmt_allocator_memory_range(const struct gmt_allocator_memory *memory,
	const struct gmt_allocator_segment *segment)
{
	return segment->range_plus_1 ? &memory->ranges.items[segment->range_plus_1 - 1] : NULL;
}

bool gmt_allocator_memory_goes_on(const struct gmt_allocator_segment *before,
	const struct gmt_allocator_segment *segment)
{
	return before && segment->range_plus_1 && before->range_plus_1 == segment->range_plus_1 &&
		segment->address - before->address == before->size_bytes;
}

void gmt_allocator_memory_remove(struct gmt_allocator_memory *memory, struct gmt_allocator_segment *segment)
{
	struct gmt_allocator_range *range = gmt_allocator_memory_range(memory, segment);

	if (range)
		range->mapped_bytes -= segment->size_bytes;
	gmt_ordered_remove(&memory->places, segment->address);
	segment->next_free_plus_1 = memory->first_free_plus_1;
	memory->first_free_plus_1 = (uint32_t)(segment - memory->table.items) + 1;
}

void gmt_allocator_memory_fini(struct gmt_allocator_memory *memory)
{
	gmt_ordered_fini(&memory->places);
	gmt_vec_fini(&memory->table);
	gmt_ordered_fini(&memory->range_places);
	gmt_vec_fini(&memory->ranges);
}
