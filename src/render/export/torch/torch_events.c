/* SPDX-License-Identifier: MIT */
/*
 * The viewer replays the events backwards from the final segments, and fails at a block that lies
 * in no segment. So a segment is announced before its first block. In layer torch, segments are the
 * driver's blocks and pages in which PyTorch's blocks lie. A block outside of them, and each block
 * of another layer, gets a segment of its own.
 */
#include "render/export/torch/torch_snapshot.h"

uint64_t gmt_torch_address(uint64_t address, uint32_t space)
{
	return gmt_space_realm(space) == GMT_REALM_ADDRESS
		? address
		: (address & (UINT64_MAX >> 16)) | (uint64_t)gmt_space_realm(space) << 56;
}

static bool send(struct gmt_torch_events *events, const struct gmt_torch_event *event)
{
	return !gmt_profile_includes(&events->export->choice, events->export->choice.layer,
			   event->device) ||
		events->take(events->user, event);
}

static struct gmt_torch_segment *find_segment(const struct gmt_torch_events *events,
	uint64_t address)
{
	uint64_t index;

	return gmt_map_find(&events->segment_ids, address, &index) ? &events->segments.items[index]
															   : NULL;
}

/* Adds a segment, and sends its event. */
static bool announce(struct gmt_torch_events *events, const struct gmt_torch_segment *segment,
	uint64_t stamp)
{
	const struct gmt_torch_event event = {
		.action = segment->is_page ? GMT_TORCH_SEGMENT_MAP : GMT_TORCH_SEGMENT_ALLOC,
		.device = segment->device,
		.stack = segment->stack,
		.address = segment->address,
		.size_bytes = segment->size_bytes,
		.stamp = stamp,
	};
	uint32_t index = events->free_plus_1 - 1;

	if (events->free_plus_1)
		events->free_plus_1 = events->segments.items[index].next_free_plus_1;
	else if (gmt_vec_push(&events->segments))
		index = (uint32_t)events->segments.count - 1;
	else
		return false;
	events->segments.items[index] = *segment;
	return gmt_map_put(&events->segment_ids, segment->address, index) && send(events, &event);
}

static bool retire(struct gmt_torch_events *events, struct gmt_torch_segment *segment,
	uint64_t stamp)
{
	const struct gmt_torch_event event = {
		.action = segment->is_page ? GMT_TORCH_SEGMENT_UNMAP : GMT_TORCH_SEGMENT_FREE,
		.device = segment->device,
		.stack = segment->stack,
		.address = segment->address,
		.size_bytes = segment->size_bytes,
		.stamp = stamp,
	};

	gmt_map_remove(&events->segment_ids, segment->address, NULL);
	segment->size_bytes = 0;
	segment->next_free_plus_1 = events->free_plus_1;
	events->free_plus_1 = (uint32_t)(segment - events->segments.items) + 1;
	return send(events, &event);
}

/* Announces driver memory, unless it is known. */
static bool announce_memory(struct gmt_torch_events *events, const struct gmt_replay *replay,
	const struct gmt_allocator_segment *memory, uint64_t stamp)
{
	struct gmt_torch_segment *known = find_segment(events, memory->address);

	if (known && !known->is_own)
		return true;
	if (known && !retire(events, known, stamp))
		return false;
	return announce(events,
		&(struct gmt_torch_segment){
			.address = memory->address,
			.size_bytes = memory->size_bytes,
			.stack = memory->site < replay->site_stacks.count && !memory->range_plus_1
				? replay->site_stacks.items[memory->site]
				: GMT_TORCH_NO_STACK,
			.device = memory->device,
			.is_page = memory->range_plus_1,
		},
		stamp);
}

/* Announces the memory in which a block lies. */
static bool announce_place(struct gmt_torch_events *events, const struct gmt_replay *replay,
	const struct gmt_torch_event *block)
{
	struct gmt_allocator_memory *memory = &events->allocator.memory;
	uint64_t end = block->address + block->size_bytes;
	const struct gmt_allocator_segment *segment = events->export->choice.layer == GMT_LAYER_TORCH
		? gmt_allocator_memory_find(memory, block->device, block->address, block->size_bytes)
		: NULL;
	struct gmt_torch_segment *known = find_segment(events, block->address);

	if (!segment) {
		/* The end of an older block was missed. */
		if (known && known->is_own && !retire(events, known, block->stamp))
			return false;
		return announce(events,
			&(struct gmt_torch_segment){ .address = block->address,
				.size_bytes = block->size_bytes,
				.stack = block->stack,
				.device = block->device,
				.is_own = true },
			block->stamp);
	}
	while (announce_memory(events, replay, segment, block->stamp)) {
		uint64_t next = segment->next;

		if (!segment->range_plus_1 || next >= end || next <= segment->address ||
			!(segment = gmt_allocator_memory_at(memory, next)))
			return true;
	}
	return false;
}

static bool on_began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	struct gmt_torch_events *events = user;
	const struct gmt_accounting *accounting = &replay->accounting;
	const struct gmt_account *account =
		&accounting->accounts.items[accounting->sites.items[site].account];
	const struct gmt_torch_event block = {
		.action = GMT_TORCH_ALLOC,
		.device = account->device,
		.stack = replay->site_stacks.items[site],
		.site_plus_1 = site + 1,
		.address = gmt_torch_address(event->address, event->space),
		.size_bytes = event->size_bytes,
		.stamp = event->stamp,
	};

	if (account->layer != events->export->choice.layer || account->device < 0 || !block.size_bytes)
		return true;
	return announce_place(events, replay, &block) && send(events, &block);
}

static bool end_block(struct gmt_torch_events *events, struct gmt_torch_event *block)
{
	struct gmt_torch_segment *segment;

	block->action = GMT_TORCH_FREE_REQUESTED;
	if (!send(events, block))
		return false;
	block->action = GMT_TORCH_FREE_COMPLETED;
	if (!send(events, block))
		return false;
	segment = find_segment(events, block->address);
	return !segment || !segment->is_own || retire(events, segment, block->stamp);
}

static bool on_ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *ended)
{
	struct gmt_torch_events *events = user;
	const struct gmt_accounting *accounting = &replay->accounting;
	const struct gmt_account *account =
		&accounting->accounts.items[accounting->sites.items[ended->site].account];
	struct gmt_torch_event block = {
		.device = account->device,
		.stack = replay->site_stacks.items[ended->site],
		.site_plus_1 = ended->site + 1,
		.address = gmt_torch_address(event->address, event->space),
		.size_bytes = ended->size_bytes,
		.stamp = event->stamp,
	};
	struct gmt_torch_segment *segment;

	if (account->device < 0)
		return true;
	if (account->layer == events->export->choice.layer)
		return !block.size_bytes || end_block(events, &block);
	if (events->export->choice.layer != GMT_LAYER_TORCH || !gmt_allocator_memory_has_address(event))
		return true;
	segment = find_segment(events, event->address);
	return !segment || segment->is_own || retire(events, segment, event->stamp);
}

/* Announces a page of an expandable segment that PyTorch already uses. */
static bool on_mapped(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint64_t number)
{
	struct gmt_torch_events *events = user;
	const struct gmt_allocator_segment *page =
		gmt_allocator_memory_at(&events->allocator.memory, event->address);
	const struct gmt_allocator_range *range =
		page ? gmt_allocator_memory_range(&events->allocator.memory, page) : NULL;

	(void)number;
	return !range || !range->is_pytorch || announce_memory(events, replay, page, event->stamp);
}

static bool end_pages(struct gmt_torch_events *events, const struct gmt_recording_event *event)
{
	uint64_t at = event->address, end = at + event->size_bytes;

	while (at < end) {
		struct gmt_torch_segment *segment = find_segment(events, at);

		if (!segment || segment->is_own)
			return true;
		at += segment->size_bytes;
		if (!retire(events, segment, event->stamp))
			return false;
	}
	return true;
}

static bool send_refusal(struct gmt_torch_events *events, const struct gmt_recording_event *event)
{
	uint64_t free_bytes = 0;

	gmt_map_find(&events->free_bytes, event->stamp, &free_bytes);
	return send(events,
		&(struct gmt_torch_event){
			.action = GMT_TORCH_OOM,
			.device = event->device,
			.stack = events->export->traces->stack_of_trace[event->trace],
			.address = free_bytes,
			.size_bytes = event->size_bytes,
			.stamp = event->stamp,
		});
}

static bool on_before(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, size_t index)
{
	struct gmt_torch_events *events = user;

	(void)replay;
	(void)index;
	if (event->kind == GMT_KIND_UNMAP)
		return end_pages(events, event);
	return event->layer != GMT_LAYER_CUDA || event->device < 0 ||
		gmt_space_side(event->space) == GMT_SIDE_HOST || send_refusal(events, event);
}

static bool note_refusals(struct gmt_torch_events *events)
{
	const struct gmt_recording *recording = events->export->recording;

	for (size_t i = 0; i < recording->ooms.count; i++) {
		const struct gmt_oom *oom = &recording->ooms.items[i];

		if (oom->free_bytes < UINT64_MAX &&
			!gmt_map_put(&events->free_bytes, oom->stamp, oom->free_bytes))
			return false;
	}
	return true;
}

enum gmt_status gmt_torch_events_run(struct gmt_torch_events *events, struct gmt_error *error)
{
	const struct gmt_export *export = events->export;
	/*
	 * Observer 0, filled in below, is the allocator. It sees each event first, so that it can say
	 * in which segment a block lies.
	 */
	struct gmt_replay_observer observers[2] = { { 0 },
		{
			.before = on_before,
			.next_needed_stamp = &gmt_replay_quiet,
			.before_kinds = GMT_REPLAY_KIND(ALLOC_FAILED) | GMT_REPLAY_KIND(UNMAP),
			.began = on_began,
			.ended = on_ended,
			.mapped = on_mapped,
			.user = events,
		} };
	const struct gmt_replay_options options = {
		.until_ns = export->until_ns, .observers = observers, .observer_count = 2
	};

	if (!note_refusals(events))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	gmt_allocator_init(&events->allocator, NULL);
	observers[0] = events->allocator.observer;
	return gmt_replay_run(&events->replay, export->recording, export->traces, &options, error);
}

void gmt_torch_events_fini(struct gmt_torch_events *events)
{
	gmt_allocator_fini(&events->allocator);
	gmt_replay_fini(&events->replay);
	gmt_map_fini(&events->segment_ids);
	gmt_map_fini(&events->free_bytes);
	gmt_vec_fini(&events->segments);
}
