/* SPDX-License-Identifier: MIT */
/*
 * A segment of cudaMalloc becomes a block of layer cuda, a piece of an expandable segment becomes
 * physical memory that is mapped. The recording has PyTorch's totals with each block. A snapshot
 * has none, so the totals are the sums of what the events made.
 */
#include "import/torch/torch_write_device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* PyTorch reserves more addresses than it maps. Ranges that are closer than this are one range. */
enum { RESERVATION_GAP = 2 << 20, OUT_OF_MEMORY = 2, FIRST_HANDLE = 4096 };

/* A live block. */
struct live {
	uint64_t size_bytes;
	uint32_t stack;
};

struct writing {
	struct gmt_torch_import_output *output;
	struct gmt_torch_import_device *device;
	struct gmt_import_writer *writer;
	struct gmt_map blocks, segments; /* address to index in `live` */
	GMT_VEC(struct live) live;
	uint64_t allocated_bytes, reserved_bytes;
	uint64_t stamp;
	uint32_t thread;
	struct gmt_torch_import_metadata metadata; /* of the last event */
	bool has_work;
};

static struct gmt_event event_of(const struct writing *writing, unsigned kind, unsigned layer,
	unsigned space)
{
	return (struct gmt_event){
		.stamp = writing->stamp,
		.thread = writing->thread,
		.kind = (uint8_t)kind,
		.layer = (uint8_t)layer,
		.space = (uint8_t)space,
		.device = (int16_t)writing->device->ordinal,
		.allocated_bytes = layer == GMT_LAYER_TORCH ? (int64_t)writing->allocated_bytes : 0,
		.reserved_bytes = layer == GMT_LAYER_TORCH ? (int64_t)writing->reserved_bytes : 0,
	};
}

static bool write_event(struct writing *writing, struct gmt_event *event,
	enum gmt_torch_import_action action)
{
	const struct gmt_torch_import_action_text *text = &gmt_torch_import_actions[action];

	return gmt_import_api(writing->writer, text->name, text->library, &event->api) &&
		gmt_import_event(writing->writer, event);
}

/* Notes that a block is live. If another block was live at the address, its end was missed. */
static bool begin(struct writing *writing, struct gmt_map *map, uint64_t *total, uint64_t address,
	const struct live *block)
{
	struct live *slot;
	uint64_t index;

	if (gmt_map_find(map, address, &index))
		*total -= writing->live.items[index].size_bytes;
	*total += block->size_bytes;
	slot = gmt_vec_push(&writing->live);
	if (!slot)
		return false;
	*slot = *block;
	return gmt_map_put(map, address, writing->live.count - 1);
}

/* Notes that a block ended. Returns false if no block is live there. */
static bool end(struct writing *writing, struct gmt_map *map, uint64_t *total, uint64_t address,
	struct live *ret_block)
{
	uint64_t index;

	if (!gmt_map_remove(map, address, &index))
		return false;
	*ret_block = writing->live.items[index];
	*total -= ret_block->size_bytes;
	return true;
}

/* Writes the beginning of a block or segment. */
static bool write_begin(struct writing *writing, const struct gmt_torch_import_memory_block *block,
	enum gmt_torch_import_action action)
{
	bool is_block = action == GMT_TORCH_IMPORT_ALLOC;
	struct live live = { .size_bytes = block->size_bytes };
	struct gmt_event event;

	if (!gmt_torch_import_stack(writing->output->stacks, block->frames, &live.stack) ||
		!(is_block
				? begin(writing, &writing->blocks, &writing->allocated_bytes, block->address, &live)
				: begin(writing, &writing->segments, &writing->reserved_bytes, block->address,
					  &live)))
		return false;
	event = event_of(writing, GMT_KIND_ALLOC, is_block ? GMT_LAYER_TORCH : GMT_LAYER_CUDA,
		GMT_SPACE_DEVICE);
	event.address = block->address;
	event.size_bytes = block->size_bytes;
	event.frames = live.stack;
	event.stream = is_block ? block->stream : 0;
	return write_event(writing, &event, action);
}

/* Writes the end of a block or segment. */
static bool write_end(struct writing *writing, const struct gmt_torch_import_event *ended)
{
	bool is_block = ended->action == GMT_TORCH_IMPORT_FREE_REQUESTED;
	struct live live = { .size_bytes = ended->size_bytes };
	struct gmt_event event;
	uint32_t stack;

	if (!gmt_torch_import_stack(writing->output->stacks, ended->frames, &stack))
		return false;
	if (is_block)
		end(writing, &writing->blocks, &writing->allocated_bytes, ended->address, &live);
	else
		end(writing, &writing->segments, &writing->reserved_bytes, ended->address, &live);
	event = event_of(writing, GMT_KIND_FREE, is_block ? GMT_LAYER_TORCH : GMT_LAYER_CUDA,
		GMT_SPACE_DEVICE);
	event.address = ended->address;
	event.size_bytes = is_block ? live.size_bytes : 0;
	/* If PyTorch records stacks of allocations only, the free has the stack of the allocation. */
	event.frames = stack == live.stack ? 0 : stack;
	event.stream = is_block ? ended->stream : 0;
	return write_event(writing, &event, ended->action);
}

/* --- expandable segments ---------------------------------------------------------------------- */

/* Writes the ranges of addresses into which the device's pieces are mapped. */
static bool write_reservations(struct writing *writing)
{
	const struct gmt_torch_import_piece *pieces = writing->device->pieces.items;
	size_t count = writing->device->pieces.count;
	struct gmt_event event =
		event_of(writing, GMT_KIND_CREATE, GMT_LAYER_VIEW, GMT_SPACE_RESERVATION);

	for (size_t i = 0; i < count;) {
		uint64_t first = pieces[i].address, last = pieces[i].end;

		if (!pieces[i++].is_covered)
			continue;
		for (; i < count && (!pieces[i].is_covered || pieces[i].address - last <= RESERVATION_GAP);
			i++)
			if (pieces[i].is_covered)
				last = pieces[i].end;
		event.address = first;
		/* A mapping that filled its whole range would be an ordinary segment. */
		event.size_bytes =
			(last > UINT64_MAX - RESERVATION_GAP ? UINT64_MAX : last + RESERVATION_GAP) - first;
		if (!write_event(writing, &event, GMT_TORCH_IMPORT_SEGMENT_MAP))
			return false;
	}
	return true;
}

/*
 * Writes that a piece is mapped. Only the mapping keeps the physical memory alive, as if PyTorch
 * released its handle at once.
 */
static bool map_piece(struct writing *writing, struct gmt_torch_import_piece *piece, uint32_t stack)
{
	uint64_t handle = FIRST_HANDLE + writing->output->next_handle++;
	struct gmt_event event = event_of(writing, GMT_KIND_ALLOC, GMT_LAYER_CUDA, GMT_SPACE_VMM);

	piece->is_mapped = true;
	writing->reserved_bytes += piece->end - piece->address;
	event.address = handle;
	event.size_bytes = piece->end - piece->address;
	event.frames = stack;
	if (!write_event(writing, &event, GMT_TORCH_IMPORT_SEGMENT_MAP))
		return false;
	event.kind = GMT_KIND_MAP;
	event.address = piece->address;
	event.object = handle;
	if (!write_event(writing, &event, GMT_TORCH_IMPORT_SEGMENT_MAP))
		return false;
	event.kind = GMT_KIND_FREE;
	event.address = handle;
	event.size_bytes = event.object = 0;
	event.frames = 0;
	return write_event(writing, &event, GMT_TORCH_IMPORT_SEGMENT_MAP);
}

static bool write_mapping(struct writing *writing, const struct gmt_torch_import_event *mapping)
{
	bool maps = mapping->action == GMT_TORCH_IMPORT_SEGMENT_MAP;
	size_t last,
		at = gmt_torch_import_pieces(writing->device, mapping->address, mapping->size_bytes, &last);
	struct gmt_event event = event_of(writing, GMT_KIND_UNMAP, GMT_LAYER_CUDA, GMT_SPACE_VMM);

	if (last - at > *writing->output->work)
		return writing->has_work = false;
	*writing->output->work -= last - at;
	if (!gmt_torch_import_stack(writing->output->stacks, mapping->frames, &event.frames))
		return false;
	for (; at < last; at++) {
		struct gmt_torch_import_piece *piece = &writing->device->pieces.items[at];

		if (maps && !piece->is_mapped && !map_piece(writing, piece, event.frames))
			return false;
		if (!maps && piece->is_mapped)
			writing->reserved_bytes -= piece->end - piece->address;
		piece->is_mapped = maps;
	}
	event.address = mapping->address;
	event.size_bytes = mapping->size_bytes;
	return maps || write_event(writing, &event, mapping->action);
}

/* --- start ------------------------------------------------------------------------------------ */

static bool write_early_blocks(struct writing *writing,
	const struct gmt_torch_import_blocks *blocks, enum gmt_torch_import_action action)
{
	struct gmt_torch_import_output *output = writing->output;

	for (size_t i = 0; i < blocks->items.count; i++) {
		const struct gmt_torch_import_memory_block *block = &blocks->items.items[i];

		if (block->is_gone)
			continue;
		if (action == GMT_TORCH_IMPORT_ALLOC) {
			output->early_blocks++;
			output->early_bytes += block->size_bytes;
			output->early_without_stack += !gmt_torch_import_items(block->frames)->count;
		}
		if (!write_begin(writing, block, action))
			return false;
	}
	return true;
}

/* Writes the blocks and mappings that were live before the first event. */
static bool write_start(struct writing *writing)
{
	struct gmt_torch_import_device *device = writing->device;

	if (!write_reservations(writing))
		return false;
	for (size_t i = 0; i < device->pieces.count; i++) {
		uint32_t stack;

		if (device->pieces.items[i].is_mapped &&
			(!gmt_torch_import_stack(writing->output->stacks, device->pieces.items[i].frames,
				 &stack) ||
				!map_piece(writing, &device->pieces.items[i], stack)))
			return false;
	}
	return write_early_blocks(writing, &device->segments, GMT_TORCH_IMPORT_SEGMENT_ALLOC) &&
		write_early_blocks(writing, &device->blocks, GMT_TORCH_IMPORT_ALLOC);
}

/* --- events ----------------------------------------------------------------------------------- */

/*
 * Writes a refused request: the driver refused it, and then PyTorch. PyTorch adds such an event
 * only after it has emptied its cache, so the program saw the error.
 */
static bool write_refusal(struct writing *writing, const struct gmt_torch_import_event *refusal)
{
	struct gmt_event event =
		event_of(writing, GMT_KIND_ALLOC_FAILED, GMT_LAYER_CUDA, GMT_SPACE_DEVICE);
	struct gmt_oom oom = {
		.stamp = writing->stamp,
		.thread = writing->thread,
		.device = (int16_t)writing->device->ordinal,
		.free_bytes = refusal->device_free,
	};

	event.size_bytes = refusal->size_bytes;
	event.result = OUT_OF_MEMORY;
	if (!gmt_torch_import_stack(writing->output->stacks, refusal->frames, &event.frames) ||
		!write_event(writing, &event, refusal->action) || !gmt_import_oom(writing->writer, &oom))
		return false;
	event = event_of(writing, GMT_KIND_ALLOC_FAILED, GMT_LAYER_TORCH, GMT_SPACE_DEVICE);
	event.size_bytes = refusal->size_bytes;
	event.result = OUT_OF_MEMORY;
	event.stream = refusal->stream;
	return gmt_torch_import_stack(writing->output->stacks, refusal->frames, &event.frames) &&
		write_event(writing, &event, refusal->action);
}

/*
 * Writes the end of a step where its number changes. All devices have the same steps, so only the
 * first device with steps counts them.
 */
static bool write_step(struct writing *writing, const struct gmt_torch_import_metadata *metadata)
{
	const struct gmt_torch_import_metadata before = writing->metadata;
	struct gmt_mark mark = {
		.stamp = writing->stamp,
		.thread = writing->thread,
		.kind = GMT_MARK_KIND_STEP,
		.source = GMT_MARK_SOURCE_PROGRAM,
	};

	if (metadata->has_step && !writing->output->step_thread)
		writing->output->step_thread = writing->thread;
	return !before.has_step || (metadata->has_step && metadata->step == before.step) ||
		writing->output->step_thread != writing->thread || gmt_import_mark(writing->writer, &mark);
}

/* Writes where the program's metadata changes: it is the name of a phase, or the step. */
static bool write_metadata(struct writing *writing, const struct gmt_unpickled *value)
{
	struct gmt_mark mark = {
		.stamp = writing->stamp,
		.thread = writing->thread,
		.kind = GMT_MARK_KIND_POP,
		.source = GMT_MARK_SOURCE_PROGRAM,
	};
	struct gmt_torch_import_metadata metadata;
	uint32_t open = writing->metadata.name;

	if (!gmt_torch_import_metadata(writing->output->stacks, value, &metadata) ||
		!write_step(writing, &metadata))
		return false;
	writing->metadata = metadata;
	if (metadata.name == open)
		return true;
	if (open && !gmt_import_mark(writing->writer, &mark))
		return false;
	mark.kind = GMT_MARK_KIND_PUSH;
	mark.name = metadata.name;
	return !metadata.name || gmt_import_mark(writing->writer, &mark);
}

/* Ends the phase that is open. The last step may not have ended. */
static bool end_metadata(struct writing *writing)
{
	writing->metadata.has_step = false;
	return write_metadata(writing, NULL);
}

static bool write_one(struct writing *writing, const struct gmt_torch_import_event *event)
{
	const struct gmt_torch_import_memory_block block = {
		.address = event->address,
		.size_bytes = event->size_bytes,
		.stream = event->stream,
		.frames = event->frames,
	};

	switch (event->action) {
	case GMT_TORCH_IMPORT_ALLOC:
	case GMT_TORCH_IMPORT_SEGMENT_ALLOC:
		return write_begin(writing, &block, event->action);
	case GMT_TORCH_IMPORT_FREE_REQUESTED:
	case GMT_TORCH_IMPORT_SEGMENT_FREE:
		return write_end(writing, event);
	case GMT_TORCH_IMPORT_SEGMENT_MAP:
	case GMT_TORCH_IMPORT_SEGMENT_UNMAP:
		return !event->size_bytes || write_mapping(writing, event);
	case GMT_TORCH_IMPORT_OOM:
		return write_refusal(writing, event);
	case GMT_TORCH_IMPORT_ACTIONS:
		writing->output->unknown_actions++;
		return true;
	default:
		return true;
	}
}

static bool write_events(struct writing *writing)
{
	struct gmt_torch_import_output *output = writing->output;

	for (size_t i = 0; i < writing->device->events.count; i++) {
		const struct gmt_torch_import_event *event = &writing->device->events.items[i];
		uint64_t time_us = event->time_us - output->start_us;

		/* A time beyond 500 years is damaged. */
		if (time_us > UINT64_MAX / 2000)
			time_us = 0;
		writing->stamp = GMT_IMPORT_START_STAMP + time_us * 1000;
		if (writing->stamp > output->last_stamp)
			output->last_stamp = writing->stamp;
		if (!write_metadata(writing, event->metadata) || !write_one(writing, event))
			return false;
	}
	return end_metadata(writing);
}

enum gmt_status gmt_torch_import_write_device(struct gmt_torch_import_output *output,
	struct gmt_torch_import_device *device, struct gmt_error *error)
{
	struct writing writing = {
		.output = output,
		.device = device,
		.writer = output->stacks->writer,
		.stamp = GMT_IMPORT_START_STAMP,
		.thread = device->ordinal + 1,
		.has_work = true,
	};
	char name[32];
	bool done;

	snprintf(name, sizeof(name), "trace of GPU %" PRIu32, device->ordinal);
	done = gmt_import_thread(writing.writer, writing.thread, 0, name, strlen(name)) &&
		write_start(&writing) && write_events(&writing);
	output->end_bytes = writing.allocated_bytes;
	output->end_blocks = writing.blocks.count;
	gmt_map_fini(&writing.blocks);
	gmt_map_fini(&writing.segments);
	gmt_vec_fini(&writing.live);
	if (!writing.has_work)
		return gmt_error_set(error, GMT_FORMAT,
			"its expandable segments are mapped more often than a file of this size may cause");
	return done ? GMT_OK : gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}
