/* SPDX-License-Identifier: MIT */
#include "import/torch/torch_rewind.h"

#include <stdlib.h>

static uint64_t end_of(uint64_t address, uint64_t size_bytes)
{
	return size_bytes > UINT64_MAX - address ? UINT64_MAX : address + size_bytes;
}

bool gmt_torch_import_add_block(struct gmt_torch_import_blocks *blocks,
	const struct gmt_torch_import_memory_block *block)
{
	struct gmt_torch_import_memory_block *row;
	uint64_t index;

	if (gmt_map_find(&blocks->of_address, block->address, &index)) {
		blocks->items.items[index] = *block;
		return true;
	}
	row = gmt_vec_push(&blocks->items);
	if (!row || !gmt_map_put(&blocks->of_address, block->address, blocks->items.count - 1))
		return false;
	*row = *block;
	return true;
}

/* Undoes the beginning of a block. */
static void undo_alloc(struct gmt_torch_import_blocks *blocks, uint64_t address)
{
	uint64_t index;

	if (gmt_map_remove(&blocks->of_address, address, &index))
		blocks->items.items[index].is_gone = true;
}

/* Undoes the end of a block. Its stack is not known: the event has the stack of the free. */
static bool undo_free(struct gmt_torch_import_blocks *blocks,
	const struct gmt_torch_import_event *event)
{
	const struct gmt_torch_import_memory_block block = {
		.address = event->address,
		.size_bytes = event->size_bytes,
		.stream = event->stream,
	};

	return gmt_torch_import_add_block(blocks, &block);
}

static int compare_numbers(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static bool is_mapping(const struct gmt_torch_import_event *event)
{
	return (event->action == GMT_TORCH_IMPORT_SEGMENT_MAP ||
			   event->action == GMT_TORCH_IMPORT_SEGMENT_UNMAP) &&
		event->size_bytes;
}

/* Makes the pieces of a device, all unmapped. */
static bool make_pieces(struct gmt_torch_import_device *device)
{
	GMT_VEC(uint64_t) borders = { 0 };
	bool done = true;
	size_t kept = 0;

	for (size_t i = 0; done && i < device->events.count + device->expandable.count; i++) {
		uint64_t address, size_bytes;

		if (i < device->events.count) {
			if (!is_mapping(&device->events.items[i]))
				continue;
			address = device->events.items[i].address;
			size_bytes = device->events.items[i].size_bytes;
		} else {
			address = device->expandable.items[i - device->events.count].address;
			size_bytes = device->expandable.items[i - device->events.count].size_bytes;
		}
		done = gmt_vec_reserve(&borders, 2);
		if (done) {
			borders.items[borders.count++] = address;
			borders.items[borders.count++] = end_of(address, size_bytes);
		}
	}
	if (done && borders.count) {
		qsort(borders.items, borders.count, sizeof(*borders.items), compare_numbers);
		for (size_t i = 0; i < borders.count; i++)
			if (!kept || borders.items[kept - 1] != borders.items[i])
				borders.items[kept++] = borders.items[i];
		done = gmt_vec_reserve(&device->pieces, kept);
		for (size_t i = 0; done && i + 1 < kept; i++)
			device->pieces.items[device->pieces.count++] = (struct gmt_torch_import_piece){
				.address = borders.items[i],
				.end = borders.items[i + 1],
			};
	}
	gmt_vec_fini(&borders);
	return done;
}

size_t gmt_torch_import_pieces(const struct gmt_torch_import_device *device, uint64_t address,
	uint64_t size_bytes, size_t *ret_end)
{
	uint64_t end = end_of(address, size_bytes);
	size_t first = 0, last = device->pieces.count;

	while (first < last) {
		size_t middle = first + (last - first) / 2;

		if (device->pieces.items[middle].address < address)
			first = middle + 1;
		else
			last = middle;
	}
	for (last = first; last < device->pieces.count && device->pieces.items[last].address < end;)
		last++;
	*ret_end = last;
	return first;
}

/* Sets the state of the pieces of a part. Returns false if too little work is left. */
static bool set_pieces(struct gmt_torch_import_device *device, uint64_t address,
	uint64_t size_bytes, bool is_mapped, const struct gmt_unpickled *frames, uint64_t *work)
{
	size_t end, at = gmt_torch_import_pieces(device, address, size_bytes, &end);

	if (end - at > *work)
		return false;
	*work -= end - at;
	for (; at < end; at++) {
		device->pieces.items[at].is_mapped = is_mapped;
		device->pieces.items[at].is_covered = true;
		device->pieces.items[at].frames = frames;
	}
	return true;
}

static bool undo(struct gmt_torch_import_device *device, const struct gmt_torch_import_event *event,
	uint64_t *work)
{
	switch (event->action) {
	case GMT_TORCH_IMPORT_ALLOC:
		undo_alloc(&device->blocks, event->address);
		return true;
	case GMT_TORCH_IMPORT_FREE_REQUESTED:
		return undo_free(&device->blocks, event);
	case GMT_TORCH_IMPORT_SEGMENT_ALLOC:
		undo_alloc(&device->segments, event->address);
		return true;
	case GMT_TORCH_IMPORT_SEGMENT_FREE:
		return undo_free(&device->segments, event);
	case GMT_TORCH_IMPORT_SEGMENT_MAP:
		return set_pieces(device, event->address, event->size_bytes, false, NULL, work);
	case GMT_TORCH_IMPORT_SEGMENT_UNMAP:
		return set_pieces(device, event->address, event->size_bytes, true, NULL, work);
	default:
		return true;
	}
}

enum gmt_status gmt_torch_import_rewind(struct gmt_torch_import_device *device, uint64_t *work,
	struct gmt_error *error)
{
	bool has_work = true, done = make_pieces(device);

	for (size_t i = 0; done && has_work && i < device->expandable.count; i++)
		has_work = set_pieces(device, device->expandable.items[i].address,
			device->expandable.items[i].size_bytes, true, device->expandable.items[i].frames, work);
	for (size_t i = device->events.count; done && has_work && i; i--) {
		const struct gmt_torch_import_event *event = &device->events.items[i - 1];

		if (is_mapping(event))
			has_work = undo(device, event, work);
		else
			done = undo(device, event, work);
	}
	if (!done)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return has_work ? GMT_OK
					: gmt_error_set(error, GMT_FORMAT,
						  "its expandable segments are mapped more often than a file of this size "
						  "may cause");
}

void gmt_torch_import_device_fini(struct gmt_torch_import_device *device)
{
	gmt_vec_fini(&device->events);
	gmt_vec_fini(&device->segments.items);
	gmt_map_fini(&device->segments.of_address);
	gmt_vec_fini(&device->blocks.items);
	gmt_map_fini(&device->blocks.of_address);
	gmt_vec_fini(&device->expandable);
	gmt_vec_fini(&device->pieces);
}
