/* SPDX-License-Identifier: MIT */
#include "analysis/allocator.h"

#include "wire/format.h"

/* PyTorch's: a request of up to the first is served from a segment of the second. */
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

/* Of both pools together and of the one; `pool` GMT_POOL_ALL: it is not known. */
static void change(struct gmt_allocator_device *device, enum gmt_allocator_row row,
	enum gmt_allocator_pool pool, int64_t amount)
{
	struct gmt_allocator_stat *stats = device->stats[row];
	const enum gmt_allocator_pool pools[] = { GMT_POOL_ALL, pool };

	for (size_t i = 0; amount && i < (pool == GMT_POOL_ALL ? 1 : 2); i++)
		if (amount > 0)
			raise_stat(&stats[pools[i]], (uint64_t)amount);
		else
			lower_stat(&stats[pools[i]], (uint64_t)-amount);
}

static enum gmt_allocator_pool pool_of(const struct gmt_allocator_segment *segment)
{
	return segment->size_bytes == SMALL_SEGMENT_BYTES ? GMT_POOL_SMALL : GMT_POOL_LARGE;
}

/* Index of the account's device; false when out of memory. */
static bool device_of(struct gmt_allocator *allocator, const struct gmt_books *books, uint32_t account,
	uint32_t *ret_device)
{
	int16_t number = books->accounts.items[account].device;
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

/* The block of layer cuda that holds all of these bytes; NULL when there is none. */
static struct gmt_allocator_segment *find_segment(struct gmt_allocator *allocator, uint32_t device,
	uint64_t address, uint64_t size_bytes)
{
	const struct gmt_ordered_entry *entry = gmt_ordered_find_below(&allocator->segments, address);
	struct gmt_allocator_segment *segment;

	if (!entry)
		return NULL;
	segment = &allocator->table.items[entry->value];
	if (segment->device != device || segment->size_bytes < size_bytes ||
		address - segment->address > segment->size_bytes - size_bytes)
		return NULL;
	return segment;
}

static bool add_segment(struct gmt_allocator *allocator, const struct gmt_snapshot_event *event,
	uint32_t site, uint32_t device)
{
	uint32_t index = allocator->first_free_plus_1 ? allocator->first_free_plus_1 - 1 :
		(uint32_t)allocator->table.count;

	if (!gmt_vec_reserve(&allocator->table, 1) ||
		!gmt_ordered_put(&allocator->segments, event->address, index))
		return false;
	if (allocator->first_free_plus_1)
		allocator->first_free_plus_1 = allocator->table.items[index].next_free_plus_1;
	else
		allocator->table.count++;
	allocator->table.items[index] = (struct gmt_allocator_segment){
		.address = event->address, .size_bytes = event->size_bytes, .stamp = event->stamp,
		.site = site, .device = device,
	};
	return true;
}

/* Whether what was given back at `then` may still count as taken again now. */
static bool is_soon(const struct gmt_allocator *allocator, uint64_t then, uint64_t now)
{
	const struct gmt_timeline *timeline = allocator->timeline;
	uint32_t first, last;

	if (!timeline || !timeline->series_count ||
		!gmt_series_find(&timeline->series[0], then, &first) ||
		!gmt_series_find(&timeline->series[0], now, &last))
		return true;
	return last - first <= GMT_AGAIN_STEPS;
}

/* The first block of PyTorch's in it: so it is PyTorch's. */
static void know_segment(struct gmt_allocator *allocator, struct gmt_allocator_device *device,
	struct gmt_allocator_segment *segment)
{
	struct gmt_give_back *last = &device->last;

	segment->is_segment = true;
	change(device, GMT_ALLOCATOR_RESERVED, pool_of(segment), (int64_t)segment->size_bytes);
	change(device, GMT_ALLOCATOR_SEGMENTS, pool_of(segment), 1);
	if (device->give_back_count && last->again_bytes < last->bytes &&
		is_soon(allocator, last->stamp, segment->stamp)) {
		uint64_t rest = last->bytes - last->again_bytes;
		uint64_t again = segment->size_bytes < rest ? segment->size_bytes : rest;

		last->again_bytes += again;
		device->again_bytes += again;
		if (device->give_back_count == device->give_backs.count)
			device->give_backs.items[device->give_backs.count - 1].again_bytes = last->again_bytes;
	}
}

static bool give_back(struct gmt_allocator *allocator, struct gmt_allocator_device *device,
	const struct gmt_allocator_segment *segment, uint64_t stamp)
{
	/* What ends with the program was not given back. */
	if (allocator->timeline && stamp > allocator->timeline->work_end)
		return true;
	if (!device->gives) {
		device->gives = true;
		device->give_back_count++;
		device->last = (struct gmt_give_back){ .stamp = stamp, .after_refusal = device->refused };
		device->refused = false;
		if (device->give_backs.count < GMT_GIVE_BACKS_KEPT) {
			struct gmt_give_back *row = gmt_vec_push(&device->give_backs);
			if (!row)
				return false;
		}
	}
	device->last.bytes += segment->size_bytes;
	device->last.segments++;
	device->given_bytes += segment->size_bytes;
	if (device->give_back_count == device->give_backs.count)
		device->give_backs.items[device->give_backs.count - 1] = device->last;
	return true;
}

static bool end_segment(struct gmt_allocator *allocator, const struct gmt_snapshot_event *event)
{
	const struct gmt_ordered_entry *entry = gmt_ordered_find_below(&allocator->segments, event->address);
	struct gmt_allocator_segment *segment;
	uint32_t index;
	bool done = true;

	if (!entry || entry->key != event->address)
		return true;
	index = (uint32_t)entry->value;
	segment = &allocator->table.items[index];
	if (segment->is_segment) {
		struct gmt_allocator_device *device = &allocator->devices.items[segment->device];

		change(device, GMT_ALLOCATOR_RESERVED, pool_of(segment), -(int64_t)segment->size_bytes);
		change(device, GMT_ALLOCATOR_SEGMENTS, pool_of(segment), -1);
		if (segment->blocks)
			device->misfits++;
		else
			done = give_back(allocator, device, segment, event->stamp);
	}
	gmt_ordered_remove(&allocator->segments, event->address);
	segment->next_free_plus_1 = allocator->first_free_plus_1;
	allocator->first_free_plus_1 = index + 1;
	return done;
}

/* Whether free memory of the segment begins behind these bytes, and whether it ends before them. */
static bool is_free_behind(const struct gmt_books *books, const struct gmt_allocator_segment *segment,
	uint64_t end)
{
	return end != segment->address + segment->size_bytes &&
		!gmt_books_find(books, GMT_LAYER_TORCH, GMT_SPACE_DEVICE, end);
}

static bool is_free_before(const struct gmt_allocator *allocator, const struct gmt_allocator_segment *segment,
	uint64_t address)
{
	uint64_t unused;

	return address != segment->address && !gmt_map_find(&allocator->block_ends, address, &unused);
}

/*
 * The allocator puts a block at the beginning of a free piece. What remains behind it is a piece that
 * cannot be given back, as was the free piece itself if the segment had other blocks.
 */
static void note_split(struct gmt_allocator_device *device, const struct gmt_allocator_segment *segment,
	uint64_t size_bytes, bool remains)
{
	enum gmt_allocator_pool pool = pool_of(segment);

	if (segment->blocks) {
		change(device, GMT_ALLOCATOR_SPLIT, pool, -(int64_t)size_bytes);
		change(device, GMT_ALLOCATOR_SPLITS, pool, remains ? 0 : -1);
	} else if (remains) {
		change(device, GMT_ALLOCATOR_SPLIT, pool, (int64_t)(segment->size_bytes - size_bytes));
		change(device, GMT_ALLOCATOR_SPLITS, pool, 1);
	}
}

/* Free pieces beside a freed block become one with it. */
static void note_join(struct gmt_allocator_device *device, const struct gmt_allocator_segment *segment,
	uint64_t size_bytes, int neighbours)
{
	enum gmt_allocator_pool pool = pool_of(segment);

	if (segment->blocks) {
		change(device, GMT_ALLOCATOR_SPLIT, pool, (int64_t)size_bytes);
		change(device, GMT_ALLOCATOR_SPLITS, pool, 1 - neighbours);
	} else {
		change(device, GMT_ALLOCATOR_SPLIT, pool, -(int64_t)(segment->size_bytes - size_bytes));
		change(device, GMT_ALLOCATOR_SPLITS, pool, -neighbours);
	}
}

static bool add_block(struct gmt_allocator *allocator, const struct gmt_books *books,
	const struct gmt_snapshot_event *event, uint32_t index)
{
	struct gmt_allocator_device *device = &allocator->devices.items[index];
	struct gmt_allocator_segment *segment =
		find_segment(allocator, index, event->address, event->size_bytes);
	enum gmt_allocator_pool pool = segment ? pool_of(segment) : GMT_POOL_ALL;
	uint64_t end = event->address + event->size_bytes;

	device->gives = device->refused = false;
	change(device, GMT_ALLOCATOR_ALLOCATED, pool, (int64_t)event->size_bytes);
	change(device, GMT_ALLOCATOR_BLOCKS, pool, 1);
	if (!segment) {
		device->outside_blocks++;
		return true;
	}
	if (event->size_bytes > segment->size_bytes - segment->used_bytes ||
		(pool == GMT_POOL_SMALL && event->size_bytes > SMALL_REQUEST_BYTES))
		device->misfits++;
	if (!segment->is_segment)
		know_segment(allocator, device, segment);
	note_split(device, segment, event->size_bytes, is_free_behind(books, segment, end));
	segment->used_bytes += event->size_bytes;
	segment->blocks++;
	return gmt_map_put(&allocator->block_ends, end, event->address);
}

static void end_block(struct gmt_allocator *allocator, const struct gmt_books *books, uint64_t address,
	const struct gmt_books_block *block, uint32_t index)
{
	struct gmt_allocator_device *device = &allocator->devices.items[index];
	struct gmt_allocator_segment *segment = find_segment(allocator, index, address, block->size_bytes);
	enum gmt_allocator_pool pool = segment ? pool_of(segment) : GMT_POOL_ALL;

	change(device, GMT_ALLOCATOR_ALLOCATED, pool, -(int64_t)block->size_bytes);
	change(device, GMT_ALLOCATOR_BLOCKS, pool, -1);
	if (!segment)
		return;
	if (!segment->blocks || segment->used_bytes < block->size_bytes) {
		device->misfits++;
		return;
	}

	uint64_t end = address + block->size_bytes;
	int neighbours = is_free_before(allocator, segment, address) + is_free_behind(books, segment, end);
	segment->used_bytes -= block->size_bytes;
	segment->blocks--;
	note_join(device, segment, block->size_bytes, neighbours);
	gmt_map_remove(&allocator->block_ends, end, NULL);
}

/* Only what has an address can have blocks inside. */
static bool may_be_segment(const struct gmt_snapshot_event *event)
{
	return event->layer == GMT_LAYER_CUDA && gmt_space_realm(event->space) == GMT_REALM_ADDRESS;
}

static bool on_began(void *user, const struct gmt_replay *replay, const struct gmt_snapshot_event *event,
	uint32_t site)
{
	struct gmt_allocator *allocator = user;
	const struct gmt_books *books = &replay->books;
	uint32_t account = books->sites.items[site].account, device;

	if (books->accounts.items[account].device == GMT_DEVICE_HOST)
		return true;
	if (!device_of(allocator, books, account, &device))
		return false;
	if (may_be_segment(event))
		return add_segment(allocator, event, site, device);
	return event->layer != GMT_LAYER_TORCH || add_block(allocator, books, event, device);
}

static bool on_ended(void *user, const struct gmt_replay *replay, const struct gmt_snapshot_event *event,
	const struct gmt_books_block *block)
{
	struct gmt_allocator *allocator = user;
	const struct gmt_books *books = &replay->books;
	uint32_t account = books->sites.items[block->site].account, device;

	if (books->accounts.items[account].device == GMT_DEVICE_HOST)
		return true;
	if (!device_of(allocator, books, account, &device))
		return false;
	if (may_be_segment(event))
		return end_segment(allocator, event);
	if (event->layer == GMT_LAYER_TORCH)
		end_block(allocator, books, event->address, block, device);
	return true;
}

/* A refusal makes PyTorch give back what it caches, and try again. */
static bool on_before(void *user, const struct gmt_replay *replay, const struct gmt_snapshot_event *event,
	size_t index)
{
	struct gmt_allocator *allocator = user;
	uint64_t device;

	(void)replay;
	(void)index;
	if (event->kind == GMT_KIND_ALLOC_FAILED && event->layer == GMT_LAYER_CUDA &&
		gmt_map_find(&allocator->device_ids, (uint16_t)event->device, &device))
		allocator->devices.items[device].refused = true;
	return true;
}

void gmt_allocator_init(struct gmt_allocator *allocator, const struct gmt_timeline *timeline)
{
	allocator->timeline = timeline;
	allocator->observer = (struct gmt_replay_observer){
		.before = on_before, .began = on_began, .ended = on_ended, .user = allocator,
	};
}

const struct gmt_allocator_device *gmt_allocator_find(const struct gmt_allocator *allocator, int32_t device)
{
	uint64_t index;

	if (!gmt_map_find(&allocator->device_ids, (uint16_t)device, &index))
		return NULL;
	return &allocator->devices.items[index];
}

bool gmt_allocator_knows_segments(const struct gmt_allocator_device *device)
{
	return !device->outside_blocks && !device->misfits;
}

void gmt_allocator_fini(struct gmt_allocator *allocator)
{
	for (size_t i = 0; i < allocator->devices.count; i++)
		gmt_vec_fini(&allocator->devices.items[i].give_backs);
	gmt_vec_fini(&allocator->devices);
	gmt_map_fini(&allocator->device_ids);
	gmt_ordered_fini(&allocator->segments);
	gmt_vec_fini(&allocator->table);
	gmt_map_fini(&allocator->block_ends);
	gmt_vec_fini(&allocator->device_of_account);
}

static const struct {
	const char *key, *title;
	bool in_bytes;
} rows[] = {
#define GMT_ALLOCATOR_ROW(NAME, key, title, in_bytes) { key, title, in_bytes },
#include "analysis/allocator_rows.def"
#undef GMT_ALLOCATOR_ROW
};

const char *gmt_allocator_key(enum gmt_allocator_row row)
{
	return rows[row].key;
}

const char *gmt_allocator_title(enum gmt_allocator_row row)
{
	return rows[row].title;
}

bool gmt_allocator_in_bytes(enum gmt_allocator_row row)
{
	return rows[row].in_bytes;
}

const char *gmt_allocator_pool_name(enum gmt_allocator_pool pool)
{
	static const char *const names[] = { "all", "large_pool", "small_pool" };

	return names[pool];
}
