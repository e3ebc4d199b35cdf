/* SPDX-License-Identifier: MIT */
/*
 * The program's own pools (layer custom). Heaps may lie inside each other, so one address can be a
 * block of several heaps. Therefore each heap has its own table, and the accounting identifies the
 * blocks by numbers.
 */
#include <string.h>

#include "base/budget.h"
#include "accounting/interpret_parts.h"

enum { POOLS_A_UNIT = 8 }; /* pools that the search examines in the time of one budget unit */

/* The key of a row. Only the used part of the name belongs to the key. */
struct row_key {
	int32_t device;
	char name[256];
};

bool gmt_interpret_get_heap(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_heap *about, uint32_t *ret_row)
{
	struct row_key key = { .device = about->device };
	size_t length = strnlen(about->name, sizeof(key.name));
	struct gmt_interpret_heap *heap;
	uint32_t id;

	if (length)
		memcpy(key.name, about->name, length);
	if (!gmt_intern(&interpreter->pool_rows, &key, offsetof(struct row_key, name) + length,
			ret_row))
		return false;
	if (*ret_row < interpreter->heaps->count)
		return true;
	heap = gmt_vec_push(interpreter->heaps);
	if (!heap || !gmt_accounting_add_heap(interpreter->accounting, &id))
		return false;
	*heap = (struct gmt_interpret_heap){
		.name = about->name, .device = about->device, .source = about->source
	};
	return true;
}

static bool row_of(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint64_t number, uint32_t *ret_row)
{
	struct gmt_interpret_heap about = {
		.name = "",
		.device = gmt_space_side(event->space) == GMT_SIDE_HOST ? GMT_DEVICE_HOST : event->device,
	};

	if (interpreter->owner.name_heap &&
		!interpreter->owner.name_heap(interpreter->owner.user, number, &about.name, &about.source))
		return false;
	return gmt_interpret_get_heap(interpreter, &about, ret_row);
}

static struct gmt_interpret_heap *row_of_pool(const struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_pool *pool)
{
	return &interpreter->heaps->items[pool->row];
}

static void set_size(const struct gmt_event_interpreter *interpreter,
	struct gmt_interpret_pool *pool, uint64_t size_bytes)
{
	struct gmt_interpret_heap *row = row_of_pool(interpreter, pool);

	row->unsized_heaps -= !pool->size_bytes;
	row->size_bytes -= pool->size_bytes;
	/* A size that no machine can have counts as not stated. */
	pool->size_bytes = size_bytes > GMT_ACCOUNTING_MAX_BYTES - row->size_bytes ? 0 : size_bytes;
	row->unsized_heaps += !pool->size_bytes;
	row->size_bytes += pool->size_bytes;
	if (row->size_bytes > row->max_size_bytes)
		row->max_size_bytes = row->size_bytes;
}

static void begin(const struct gmt_event_interpreter *interpreter, struct gmt_interpret_pool *pool)
{
	struct gmt_interpret_heap *row = row_of_pool(interpreter, pool);

	pool->lives = true;
	row->heaps++;
	row->live_heaps++;
	row->unsized_heaps++;
}

/*
 * Returns the heap with that number. A heap lives from its first event on. Returns NULL when out of
 * memory.
 */
static struct gmt_interpret_pool *get(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint64_t number)
{
	struct gmt_interpret_pool *pool;
	uint64_t index;
	uint32_t row;

	if (gmt_map_find(&interpreter->pool_ids, number, &index)) {
		pool = &interpreter->pools.items[index];
	} else {
		if (!row_of(interpreter, event, number, &row))
			return NULL;
		pool = gmt_vec_push(&interpreter->pools);
		if (!pool || !gmt_map_put(&interpreter->pool_ids, number, interpreter->pools.count - 1))
			return NULL;
		*pool = (struct gmt_interpret_pool){ .row = row };
	}
	if (!pool->lives)
		begin(interpreter, pool);
	return pool;
}

/*
 * Returns the heap that has a block at `address`: heap `number`, or, if the event names no heap
 * (0), the youngest one that has. Returns NULL if there is no such heap.
 */
static struct gmt_interpret_pool *find_holder(struct gmt_event_interpreter *interpreter,
	uint64_t number, uint64_t address, uint64_t *ret_block)
{
	uint64_t index;

	if (number) {
		if (!gmt_map_find(&interpreter->pool_ids, number, &index) ||
			!gmt_map_find(&interpreter->pools.items[index].blocks, address, ret_block))
			return NULL;
		return &interpreter->pools.items[index];
	}
	/* An NVTX free names only the address. */
	if (gmt_map_find(&interpreter->pool_of_address, address, &index) &&
		gmt_map_find(&interpreter->pools.items[index].blocks, address, ret_block))
		return &interpreter->pools.items[index];
	/*
	 * The budget limits the search: a file can have many pools, and free many addresses that are in
	 * no pool.
	 */
	if (!gmt_budget_spend(interpreter->pools.count / POOLS_A_UNIT, GMT_BUDGET_POOLS))
		return NULL;
	for (size_t i = interpreter->pools.count; i-- > 0;)
		if (gmt_map_find(&interpreter->pools.items[i].blocks, address, ret_block))
			return &interpreter->pools.items[i];
	return NULL;
}

static bool account_block(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, const struct gmt_interpret_pool *pool, uint64_t number)
{
	struct gmt_interpret_event block = *event;

	block.kind = GMT_KIND_ALLOC;
	block.address = number;
	block.space = row_of_pool(interpreter, pool)->device == GMT_DEVICE_HOST ? GMT_SPACE_HEAP_HOST
																			: GMT_SPACE_HEAP;
	block.device = row_of_pool(interpreter, pool)->device;
	return gmt_interpret_alloc_in_heap(interpreter, &block, pool->row);
}

static bool begin_block(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint64_t number)
{
	struct gmt_interpret_pool *pool = get(interpreter, event, number);
	uint64_t block;

	if (!pool)
		return false;
	/*
	 * If the block is already there, its free was lost. The accounting detects that by the number.
	 */
	if (!gmt_map_find(&pool->blocks, event->address, &block)) {
		block = ++interpreter->last_pool_block;
		if (!gmt_map_put(&pool->blocks, event->address, block))
			return false;
	}
	if (row_of_pool(interpreter, pool)->source == GMT_MARK_SOURCE_NVTX &&
		!gmt_map_put(&interpreter->pool_of_address, event->address,
			(uint64_t)(pool - interpreter->pools.items)))
		return false;
	return account_block(interpreter, event, pool, block);
}

static bool end_block(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint64_t number)
{
	uint64_t block;
	struct gmt_interpret_pool *pool = find_holder(interpreter, number, event->address, &block);
	uint32_t site;

	if (!pool) {
		/*
		 * A free that names no heap may belong to no heap, e.g. to a label on the driver's own
		 * memory. Do not count it.
		 */
		interpreter->accounting->anomalies.unknown_frees += event->address != 0 && number != 0;
		return true;
	}
	gmt_map_remove(&pool->blocks, event->address, NULL);
	return gmt_interpret_free(interpreter, event, event->layer, event->space, block,
		event->size_bytes, &site);
}

static bool resize(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint64_t number)
{
	struct gmt_interpret_pool *pool;
	uint64_t block;
	uint32_t site;

	if (!event->address) {
		pool = get(interpreter, event, number);
		if (pool)
			set_size(interpreter, pool, event->size_bytes);
		return pool;
	}
	pool = find_holder(interpreter, number, event->address, &block);
	if (!pool) {
		interpreter->accounting->anomalies.unknown_frees += number != 0;
		return true;
	}
	return gmt_interpret_free(interpreter, event, event->layer, event->space, block, 0, &site) &&
		account_block(interpreter, event, pool, block);
}

/* Ends all blocks of a heap. */
static bool end_all_blocks(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, struct gmt_interpret_pool *pool)
{
	struct gmt_interpret_heap *row = row_of_pool(interpreter, pool);
	const struct gmt_accounting *accounting = interpreter->accounting;
	bool done = true;

	for (size_t i = 0; i < pool->blocks.capacity && done; i++) {
		const struct gmt_map_slot *slot = &pool->blocks.slots[i];
		uint32_t site;

		if (!slot->value_plus_1)
			continue;
		done = gmt_interpret_free(interpreter, event, event->layer, event->space,
			slot->value_plus_1 - 1, 0, &site);
		if (accounting->has_ended) {
			row->swept_blocks++;
			row->swept_bytes = gmt_account_sum(row->swept_bytes, accounting->ended.size_bytes);
		}
	}
	gmt_map_fini(&pool->blocks);
	return done;
}

static bool end(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event,
	struct gmt_interpret_pool *pool)
{
	struct gmt_interpret_heap *row = row_of_pool(interpreter, pool);

	row->unsized_heaps -= !pool->size_bytes;
	row->size_bytes -= pool->size_bytes;
	row->live_heaps--;
	pool->size_bytes = 0;
	pool->lives = false;
	return end_all_blocks(interpreter, event, pool);
}

bool gmt_interpret_heap_event(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	uint64_t number = event->object, index;
	struct gmt_interpret_pool *pool;

	switch ((enum gmt_kind)event->kind) {
	case GMT_KIND_ALLOC:
		return begin_block(interpreter, event, number);
	case GMT_KIND_FREE:
		return end_block(interpreter, event, number);
	case GMT_KIND_RESIZE:
		return resize(interpreter, event, number);
	case GMT_KIND_CREATE:
		pool = get(interpreter, event, number);
		if (pool && event->size_bytes)
			set_size(interpreter, pool, event->size_bytes);
		return pool;
	case GMT_KIND_DESTROY:
	case GMT_KIND_RESET:
		if (!gmt_map_find(&interpreter->pool_ids, number, &index) ||
			!interpreter->pools.items[index].lives)
			return true;
		pool = &interpreter->pools.items[index];
		return event->kind == GMT_KIND_RESET ? end_all_blocks(interpreter, event, pool)
											 : end(interpreter, event, pool);
	default:
		return true;
	}
}

void gmt_interpret_forget_heaps(struct gmt_event_interpreter *interpreter)
{
	for (size_t i = 0; i < interpreter->pools.count; i++)
		gmt_map_fini(&interpreter->pools.items[i].blocks);
	gmt_vec_fini(&interpreter->pools);
	gmt_map_fini(&interpreter->pool_ids);
	gmt_map_fini(&interpreter->pool_of_address);
	gmt_map_fini(&interpreter->pool_site_ids);
	gmt_intern_fini(&interpreter->pool_rows);
}
