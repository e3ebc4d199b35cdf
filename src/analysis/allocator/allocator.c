/* SPDX-License-Identifier: MIT */
#include "analysis/allocator/allocator.h"

#include "format/format.h"

/* PyTorch serves a request of up to SMALL_REQUEST_BYTES from a segment of SMALL_SEGMENT_BYTES. */
enum { SMALL_REQUEST_BYTES = 1 << 20, SMALL_SEGMENT_BYTES = 2 << 20 };

static void raise_stat(struct gmt_allocator_stat *stat, uint64_t amount)
{
	stat->current += amount;
	stat->allocated += amount;
	if (stat->current > stat->peak && stat->current <= INT64_MAX)
		stat->peak = stat->current;
}

static void lower_stat(struct gmt_allocator_stat *stat, uint64_t amount)
{
	stat->current -= amount;
	stat->freed += amount;
}

/*
 * Changes the value of GMT_POOL_ALL and of `pool`. GMT_POOL_ALL as `pool` means that the pool is
 * unknown.
 */
static inline void change(struct gmt_allocator_device *device, enum gmt_allocator_row row,
	enum gmt_allocator_pool pool, int64_t amount)
{
	struct gmt_allocator_stat *all = &device->stats[row][GMT_POOL_ALL],
							  *in_pool = &device->stats[row][pool];

	if (amount > 0) {
		raise_stat(all, (uint64_t)amount);
		if (in_pool != all)
			raise_stat(in_pool, (uint64_t)amount);
	} else if (amount) {
		lower_stat(all, -(uint64_t)amount);
		if (in_pool != all)
			lower_stat(in_pool, -(uint64_t)amount);
	}
}

/* Returns the pool of a segment or page of this size. */
static enum gmt_allocator_pool pool_of(uint64_t size_bytes)
{
	return size_bytes == SMALL_SEGMENT_BYTES ? GMT_POOL_SMALL : GMT_POOL_LARGE;
}

/* Stores the index of the account's device. Returns false if memory is exhausted. */
static bool device_of(struct gmt_allocator *allocator, const struct gmt_accounting *accounting,
	uint32_t account, uint32_t *ret_device)
{
	int16_t number = accounting->accounts.items[account].device;
	uint64_t index;

	while (allocator->device_of_account.count <= account) {
		uint32_t *slot = gmt_vec_push(&allocator->device_of_account);
		if (!slot)
			return false;
		*slot = 0;
	}
	if (!allocator->device_of_account.items[account]) {
		if (!gmt_map_find(&allocator->device_ids, (uint16_t)number, &index)) {
			struct gmt_allocator_device *device = gmt_vec_push(&allocator->devices);
			index = allocator->devices.count - 1;
			if (!device || !gmt_map_put(&allocator->device_ids, (uint16_t)number, index))
				return false;
			device->device = number;
		}
		allocator->device_of_account.items[account] = (uint32_t)index + 1;
	}
	*ret_device = allocator->device_of_account.items[account] - 1;
	return true;
}

/* Returns whether memory given back at `release_stamp` still counts as taken again at `now`. */
static bool is_soon_reacquired(const struct gmt_allocator *allocator, uint64_t release_stamp,
	uint64_t now)
{
	const struct gmt_timeline *timeline = allocator->timeline;
	uint32_t first, last;

	if (!timeline || !timeline->series_count ||
		!gmt_series_find(&timeline->series[0], release_stamp, &first) ||
		!gmt_series_find(&timeline->series[0], now, &last))
		return true;
	return last - first <= GMT_REACQUIRE_STEPS;
}

static void note_reacquired(struct gmt_allocator *allocator, struct gmt_allocator_device *device,
	uint64_t bytes, uint64_t stamp)
{
	struct gmt_cache_release *last = &device->last;

	if (device->cache_release_count && last->reacquired_bytes < last->bytes &&
		is_soon_reacquired(allocator, last->stamp, stamp)) {
		uint64_t missing_bytes = last->bytes - last->reacquired_bytes;
		uint64_t reacquired_bytes = bytes < missing_bytes ? bytes : missing_bytes;

		last->reacquired_bytes += reacquired_bytes;
		device->reacquired_bytes += reacquired_bytes;
		if (device->cache_release_count == device->cache_releases.count)
			device->cache_releases.items[device->cache_releases.count - 1].reacquired_bytes =
				last->reacquired_bytes;
	}
}

/* Marks the segment as PyTorch's when the first PyTorch block lies in it. */
static bool note_segment(struct gmt_allocator *allocator, struct gmt_allocator_device *device,
	struct gmt_allocator_segment *segment)
{
	if (!gmt_allocator_memory_touch(&allocator->memory, segment))
		return false;
	segment->is_segment = true;
	change(device, GMT_ALLOCATOR_RESERVED, pool_of(segment->size_bytes),
		(int64_t)segment->size_bytes);
	change(device, GMT_ALLOCATOR_SEGMENTS, pool_of(segment->size_bytes), 1);
	note_reacquired(allocator, device, segment->size_bytes, segment->stamp);
	return true;
}

/* Marks reserved addresses as PyTorch's, with all pages that are mapped so far. */
static void note_range(struct gmt_allocator *allocator, struct gmt_allocator_device *device,
	struct gmt_allocator_range *range, uint64_t stamp)
{
	gmt_allocator_memory_note_range(&allocator->memory, range);
	change(device, GMT_ALLOCATOR_RESERVED, pool_of(range->page_bytes),
		(int64_t)range->mapped_bytes);
	note_reacquired(allocator, device, range->mapped_bytes, stamp);
}

static bool note_cache_release(struct gmt_allocator *allocator, struct gmt_allocator_device *device,
	uint64_t size_bytes, uint64_t stamp)
{
	/* Memory that is freed after the end of the program's work does not count as given back. */
	if (allocator->timeline && stamp > allocator->timeline->work_end)
		return true;
	if (!device->is_releasing) {
		device->is_releasing = true;
		device->cache_release_count++;
		device->last =
			(struct gmt_cache_release){ .stamp = stamp, .after_refusal = device->refused };
		device->refused = false;
		if (device->cache_releases.count < GMT_CACHE_RELEASES_KEPT) {
			struct gmt_cache_release *row = gmt_vec_push(&device->cache_releases);
			if (!row)
				return false;
		}
	}
	device->last.bytes += size_bytes;
	device->last.segments++;
	device->released_bytes += size_bytes;
	if (device->cache_release_count == device->cache_releases.count)
		device->cache_releases.items[device->cache_releases.count - 1] = device->last;
	return true;
}

/* Stores the index of the device. Returns false if the device had no event. */
static bool index_of(const struct gmt_allocator *allocator, int16_t device, uint64_t *ret_index)
{
	return gmt_map_find(&allocator->device_ids, (uint16_t)device, ret_index);
}

static bool end_segment(struct gmt_allocator *allocator, struct gmt_allocator_segment *segment,
	uint64_t stamp)
{
	uint64_t index;
	bool done = true;

	if (segment->is_segment && index_of(allocator, segment->device, &index)) {
		struct gmt_allocator_device *device = &allocator->devices.items[index];

		change(device, GMT_ALLOCATOR_RESERVED, pool_of(segment->size_bytes),
			-(int64_t)segment->size_bytes);
		change(device, GMT_ALLOCATOR_SEGMENTS, pool_of(segment->size_bytes), -1);
		if (segment->blocks)
			device->mismatches++;
		else
			done = note_cache_release(allocator, device, segment->size_bytes, stamp);
	}
	return gmt_allocator_memory_remove(&allocator->memory, segment) && done;
}

static bool end_page(struct gmt_allocator *allocator, struct gmt_allocator_segment *page,
	uint64_t stamp)
{
	const struct gmt_allocator_range *range = gmt_allocator_memory_range(&allocator->memory, page);
	uint64_t index;
	bool done = true;

	if (range->is_pytorch && index_of(allocator, page->device, &index)) {
		struct gmt_allocator_device *device = &allocator->devices.items[index];

		change(device, GMT_ALLOCATOR_RESERVED, pool_of(range->page_bytes),
			-(int64_t)page->size_bytes);
		done = note_cache_release(allocator, device, page->size_bytes, stamp);
	}
	return gmt_allocator_memory_remove(&allocator->memory, page) && done;
}

/*
 * Ends all mappings in the event's range. A segment that is a single mapping may lose its memory
 * while it still has blocks (it sleeps): programs do this when they lend a device to others between
 * two batches. PyTorch does not notice it, so the segment stays.
 */
static bool end_mappings(struct gmt_allocator *allocator, const struct gmt_recording_event *event)
{
	struct gmt_allocator_memory *memory = &allocator->memory;
	uint64_t size_bytes = event->size_bytes;
	struct gmt_allocator_segment *segment;

	while ((segment = gmt_allocator_memory_mapped_in(memory, event->address, size_bytes))) {
		size_bytes = segment->address - event->address;
		if (segment->range_plus_1) {
			if (!end_page(allocator, segment, event->stamp))
				return false;
		} else if (segment->blocks) {
			if (!gmt_allocator_memory_touch(memory, segment))
				return false;
			segment->is_unmapped_in_use = true;
			segment->memory = 0;
		} else if (!end_segment(allocator, segment, event->stamp)) {
			return false;
		}
	}
	return true;
}

/* A sleeping segment ends when its addresses are released. */
static bool end_addresses(struct gmt_allocator *allocator, const struct gmt_recording_event *event)
{
	struct gmt_allocator_segment *segment =
		gmt_allocator_memory_at(&allocator->memory, event->address);

	return !segment || !segment->is_unmapped_in_use ||
		end_segment(allocator, segment, event->stamp);
}

/*
 * Return whether free memory of the segment begins at `end`, and whether free memory ends at
 * `address`.
 */
static bool is_free_after(const struct gmt_accounting *accounting,
	const struct gmt_allocator_segment *segment, uint64_t end)
{
	return end != segment->address + segment->size_bytes &&
		!gmt_accounting_find(accounting, GMT_LAYER_TORCH, GMT_SPACE_DEVICE, end);
}

static bool is_free_before(const struct gmt_allocator *allocator,
	const struct gmt_allocator_segment *segment, uint64_t address)
{
	uint64_t unused;

	return address != segment->address && !gmt_map_find(&allocator->block_ends, address, &unused);
}

/*
 * Accounts for a new block as a split. The allocator puts a block at the beginning of a free piece.
 * It cannot give back the rest of the piece, nor a free piece of a segment that has other blocks.
 */
static void note_split(struct gmt_allocator_device *device,
	const struct gmt_allocator_segment *segment, uint64_t size_bytes, bool remains)
{
	enum gmt_allocator_pool pool = pool_of(segment->size_bytes);

	if (segment->blocks) {
		change(device, GMT_ALLOCATOR_SPLIT, pool, -(int64_t)size_bytes);
		change(device, GMT_ALLOCATOR_SPLITS, pool, remains ? 0 : -1);
	} else if (remains) {
		change(device, GMT_ALLOCATOR_SPLIT, pool, (int64_t)(segment->size_bytes - size_bytes));
		change(device, GMT_ALLOCATOR_SPLITS, pool, 1);
	}
}

/* Accounts for a freed block, which joins the free pieces next to it. */
static void note_join(struct gmt_allocator_device *device,
	const struct gmt_allocator_segment *segment, uint64_t size_bytes, int neighbours)
{
	enum gmt_allocator_pool pool = pool_of(segment->size_bytes);

	if (segment->blocks) {
		change(device, GMT_ALLOCATOR_SPLIT, pool, (int64_t)size_bytes);
		change(device, GMT_ALLOCATOR_SPLITS, pool, 1 - neighbours);
	} else {
		change(device, GMT_ALLOCATOR_SPLIT, pool, -(int64_t)(segment->size_bytes - size_bytes));
		change(device, GMT_ALLOCATOR_SPLITS, pool, -neighbours);
	}
}

static bool add_to_segment(struct gmt_allocator *allocator, struct gmt_allocator_device *device,
	struct gmt_allocator_segment *segment, const struct gmt_accounting *accounting,
	const struct gmt_recording_event *event)
{
	uint64_t end = event->address + event->size_bytes;

	if (event->size_bytes > segment->size_bytes - segment->used_bytes)
		device->mismatches++;
	if (!segment->is_segment && !note_segment(allocator, device, segment))
		return false;
	note_split(device, segment, event->size_bytes, is_free_after(accounting, segment, end));
	segment->used_bytes += event->size_bytes;
	segment->blocks++;
	return gmt_map_put(&allocator->block_ends, end, event->address);
}

/*
 * Returns the pool of a block in this segment or page. `segment` is NULL if the block is in no
 * known segment: then the pool is unknown (GMT_POOL_ALL).
 */
static enum gmt_allocator_pool pool_in(struct gmt_allocator *allocator,
	const struct gmt_allocator_segment *segment)
{
	const struct gmt_allocator_range *range =
		segment ? gmt_allocator_memory_range(&allocator->memory, segment) : NULL;

	if (!segment)
		return GMT_POOL_ALL;
	return pool_of(range ? range->page_bytes : segment->size_bytes);
}

static bool add_block(struct gmt_allocator *allocator, const struct gmt_accounting *accounting,
	const struct gmt_recording_event *event, uint32_t index)
{
	struct gmt_allocator_device *device = &allocator->devices.items[index];
	struct gmt_allocator_segment *segment = gmt_allocator_memory_find(&allocator->memory,
		device->device, event->address, event->size_bytes);
	enum gmt_allocator_pool pool = pool_in(allocator, segment);
	struct gmt_allocator_range *range;

	device->is_releasing = device->refused = false;
	change(device, GMT_ALLOCATOR_ALLOCATED, pool, (int64_t)event->size_bytes);
	change(device, GMT_ALLOCATOR_BLOCKS, pool, 1);
	if (!segment) {
		device->outside_blocks++;
		return true;
	}
	if (pool == GMT_POOL_SMALL && event->size_bytes > SMALL_REQUEST_BYTES)
		device->mismatches++;
	range = gmt_allocator_memory_range(&allocator->memory, segment);
	if (!range)
		return add_to_segment(allocator, device, segment, accounting, event);
	if (!range->is_pytorch)
		note_range(allocator, device, range, event->stamp);
	return true;
}

static void end_block(struct gmt_allocator *allocator, const struct gmt_accounting *accounting,
	uint64_t address, const struct gmt_account_block *block, uint32_t index)
{
	struct gmt_allocator_device *device = &allocator->devices.items[index];
	struct gmt_allocator_segment *segment =
		gmt_allocator_memory_find(&allocator->memory, device->device, address, block->size_bytes);
	enum gmt_allocator_pool pool = pool_in(allocator, segment);

	change(device, GMT_ALLOCATOR_ALLOCATED, pool, -(int64_t)block->size_bytes);
	change(device, GMT_ALLOCATOR_BLOCKS, pool, -1);
	if (!segment || segment->range_plus_1)
		return;
	if (!segment->blocks || segment->used_bytes < block->size_bytes) {
		device->mismatches++;
		return;
	}

	uint64_t end = address + block->size_bytes;
	int neighbours =
		is_free_before(allocator, segment, address) + is_free_after(accounting, segment, end);
	segment->used_bytes -= block->size_bytes;
	segment->blocks--;
	note_join(device, segment, block->size_bytes, neighbours);
	gmt_map_remove(&allocator->block_ends, end, NULL);
}

static bool on_began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	struct gmt_allocator *allocator = user;
	const struct gmt_accounting *accounting = &replay->accounting;
	uint32_t account = accounting->sites.items[site].account, device;

	if (accounting->accounts.items[account].device == GMT_DEVICE_HOST)
		return true;
	if (!device_of(allocator, accounting, account, &device))
		return false;
	if (gmt_allocator_memory_has_address(event))
		return gmt_allocator_memory_add(&allocator->memory, event,
			allocator->devices.items[device].device, site);
	return event->layer != GMT_LAYER_TORCH || add_block(allocator, accounting, event, device);
}

static bool on_ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	struct gmt_allocator *allocator = user;
	const struct gmt_accounting *accounting = &replay->accounting;
	uint32_t account = accounting->sites.items[block->site].account, device;
	struct gmt_allocator_segment *segment;

	if (accounting->accounts.items[account].device == GMT_DEVICE_HOST)
		return true;
	if (!device_of(allocator, accounting, account, &device))
		return false;
	if (gmt_allocator_memory_has_address(event)) {
		segment = gmt_allocator_memory_at(&allocator->memory, event->address);
		return !segment || segment->memory || end_segment(allocator, segment, event->stamp);
	}
	if (event->layer == GMT_LAYER_TORCH)
		end_block(allocator, accounting, event->address, block, device);
	return true;
}

static bool on_mapped(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint64_t number)
{
	struct gmt_allocator *allocator = user;
	const struct gmt_allocator_segment *page;
	const struct gmt_allocator_range *range;
	uint64_t index;

	(void)replay;
	if (!gmt_allocator_memory_is_mappable(event))
		return true;
	page = gmt_allocator_memory_map(&allocator->memory, event, number);
	if (!page)
		return false;
	range = gmt_allocator_memory_range(&allocator->memory, page);
	if (range && range->is_pytorch && index_of(allocator, page->device, &index)) {
		struct gmt_allocator_device *device = &allocator->devices.items[index];

		change(device, GMT_ALLOCATOR_RESERVED, pool_of(range->page_bytes),
			(int64_t)page->size_bytes);
		note_reacquired(allocator, device, page->size_bytes, event->stamp);
	}
	return true;
}

static bool on_before(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, size_t index)
{
	struct gmt_allocator *allocator = user;
	uint64_t device;

	(void)replay;
	(void)index;
	/* When the driver refuses a request, PyTorch gives back its cached memory and tries again. */
	if (event->kind == GMT_KIND_ALLOC_FAILED && event->layer == GMT_LAYER_CUDA &&
		index_of(allocator, event->device, &device))
		allocator->devices.items[device].refused = true;
	if (event->kind == GMT_KIND_UNMAP && !end_mappings(allocator, event))
		return false;
	if (event->kind == GMT_KIND_DESTROY && event->space == GMT_SPACE_RESERVATION &&
		!end_addresses(allocator, event))
		return false;
	return gmt_allocator_memory_observe(&allocator->memory, event);
}

void gmt_allocator_init(struct gmt_allocator *allocator, const struct gmt_timeline *timeline)
{
	allocator->timeline = timeline;
	allocator->observer = (struct gmt_replay_observer){
		.before = on_before,
		.next_needed_stamp = &gmt_replay_quiet,
		.before_kinds = GMT_REPLAY_KIND(ALLOC_FAILED) | GMT_REPLAY_KIND(UNMAP) |
			GMT_REPLAY_KIND(CREATE) | GMT_REPLAY_KIND(DESTROY),
		.began = on_began,
		.ended = on_ended,
		.mapped = on_mapped,
		.user = allocator,
	};
}

const struct gmt_allocator_device *gmt_allocator_find(const struct gmt_allocator *allocator,
	int32_t device)
{
	uint64_t index;

	if (!gmt_map_find(&allocator->device_ids, (uint16_t)device, &index))
		return NULL;
	return &allocator->devices.items[index];
}

bool gmt_allocator_knows_segments(const struct gmt_allocator_device *device)
{
	return !device->outside_blocks && !device->mismatches;
}

void gmt_allocator_fini(struct gmt_allocator *allocator)
{
	for (size_t i = 0; i < allocator->devices.count; i++)
		gmt_vec_fini(&allocator->devices.items[i].cache_releases);
	gmt_vec_fini(&allocator->devices);
	gmt_map_fini(&allocator->device_ids);
	gmt_allocator_memory_fini(&allocator->memory);
	gmt_map_fini(&allocator->block_ends);
	gmt_vec_fini(&allocator->device_of_account);
}
