/* SPDX-License-Identifier: MIT */
/*
 * Memory that has handles instead of addresses, and blocks that end with a context. In the
 * accounting, a piece of physical memory is one block under its number
 * (accounting/physical_memory.h).
 */
#include <stddef.h>

#include "base/budget.h"
#include "accounting/interpret_internal.h"

enum {
	BLOCKS_PER_BUDGET_UNIT = 4
}; /* blocks that the search examines in the time of one budget unit */

static bool account_memory(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint32_t memory)
{
	const struct gmt_physical_memory *properties = &interpreter->physical.memory.items[memory];
	struct gmt_interpret_event block = *event;

	block.kind = GMT_KIND_ALLOC;
	block.layer = properties->layer;
	block.space = properties->space;
	block.device = properties->device;
	block.address = gmt_physical_number(memory);
	block.size_bytes = properties->size_bytes;
	return gmt_interpret_alloc(interpreter, &block);
}

static bool end_block(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint32_t memory)
{
	const struct gmt_physical_memory *properties = &interpreter->physical.memory.items[memory];
	uint32_t site;

	return gmt_interpret_free(interpreter, event, properties->layer, properties->space,
		gmt_physical_number(memory), 0, &site);
}

/*
 * Returns whether the memory may be a multicast object. The type of an imported handle is unknown.
 */
static bool can_be_multicast(const struct gmt_physical_memory *memory)
{
	return memory->space == GMT_SPACE_MULTICAST || memory->space == GMT_SPACE_VMM_IMPORTED;
}

/* Ended memory, and the range of keys [key, end) of the mappings that it must still release. */
struct ending {
	uint64_t key, end;
	uint32_t memory;
};

/* Accounts for the end of the memory. A multicast object releases its bound memory afterwards. */
static bool begin_ending(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint32_t memory, struct ending *ret_ending)
{
	*ret_ending = (struct ending){ .memory = memory };
	if (!end_block(interpreter, event, memory))
		return false;
	if (can_be_multicast(&interpreter->physical.memory.items[memory]))
		ret_ending->key = gmt_physical_multicast_keys(memory, &ret_ending->end);
	return true;
}

static void finish_ending(struct gmt_event_interpreter *interpreter, const struct ending *ending)
{
	if (interpreter->forgets_ended)
		gmt_physical_free_number(&interpreter->physical, ending->memory);
}

/*
 * Ends memory and everything that only it kept alive. A file can bind objects to each other in a
 * chain of any length, so this uses a list instead of recursion.
 */
static bool end_chain(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, const struct ending *first)
{
	GMT_VEC(struct ending) chain = { 0 };
	struct ending *slot = gmt_vec_push(&chain);
	bool done = slot;
	uint32_t ended;

	if (done)
		*slot = *first;
	while (done && chain.count) {
		struct ending *last = &chain.items[chain.count - 1];

		if (!gmt_physical_unmap_next(&interpreter->physical, &last->key, last->end, &ended)) {
			finish_ending(interpreter, last);
			chain.count--;
		} else if (ended != GMT_PHYSICAL_NONE) {
			slot = gmt_vec_push(&chain);
			done = slot && begin_ending(interpreter, event, ended, slot);
		}
	}
	gmt_vec_fini(&chain);
	return done;
}

/* Ends memory that nothing keeps alive any more. `memory` may be GMT_PHYSICAL_NONE. */
static bool end_memory(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint32_t memory)
{
	struct ending ending;

	if (memory == GMT_PHYSICAL_NONE)
		return true;
	if (!begin_ending(interpreter, event, memory, &ending))
		return false;
	if (ending.key < ending.end)
		return end_chain(interpreter, event, &ending);
	finish_ending(interpreter, &ending);
	return true;
}

bool gmt_interpret_create_memory(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	struct gmt_physical_memory properties = {
		.size_bytes = event->size_bytes,
		.device = event->device,
		.layer = event->layer,
		.space = event->space,
	};
	uint32_t memory = gmt_physical_find(&interpreter->physical, event->address);

	/*
	 * If this process made the memory, or imported it before, another import only adds a reference.
	 */
	if (event->space == GMT_SPACE_VMM_IMPORTED && memory != GMT_PHYSICAL_NONE)
		return gmt_physical_retain(&interpreter->physical, memory, event->address);
	memory = gmt_physical_create(&interpreter->physical, event->address, &properties);
	return memory != GMT_PHYSICAL_NONE && account_memory(interpreter, event, memory);
}

bool gmt_interpret_release_memory(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	return end_memory(interpreter, event,
		gmt_physical_release(&interpreter->physical, event->address));
}

bool gmt_interpret_retain(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	uint32_t memory = gmt_physical_find(&interpreter->physical, event->address);

	if (memory == GMT_PHYSICAL_NONE)
		memory = gmt_physical_find_mapped(&interpreter->physical, event->object);
	if (memory == GMT_PHYSICAL_NONE) {
		interpreter->physical.unknown_handles++;
		return true;
	}
	return gmt_physical_retain(&interpreter->physical, memory, event->address);
}

/* Takes the size from a mapping: an imported handle does not state its size. */
static bool adopt_size_of_mapping(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint32_t memory)
{
	struct gmt_physical_memory *properties = &interpreter->physical.memory.items[memory];

	if (properties->space != GMT_SPACE_VMM_IMPORTED || event->size_bytes <= properties->size_bytes)
		return true;
	if (!end_block(interpreter, event, memory))
		return false;
	properties->size_bytes = event->size_bytes;
	if (properties->device == GMT_DEVICE_UNKNOWN)
		properties->device = event->device;
	return account_memory(interpreter, event, memory);
}

static bool notify_mapped(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint32_t memory)
{
	const struct gmt_physical_memory *properties = &interpreter->physical.memory.items[memory];
	struct gmt_interpret_event of_memory = *event;

	of_memory.layer = properties->layer;
	of_memory.space = properties->space;
	of_memory.device = properties->device;
	return !interpreter->observer.mapped ||
		interpreter->observer.mapped(interpreter->observer.user, &of_memory,
			gmt_physical_number(memory));
}

bool gmt_interpret_map(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	uint64_t handle = event->object;
	uint32_t memory = gmt_physical_find(&interpreter->physical, handle);

	if (memory == GMT_PHYSICAL_NONE) {
		interpreter->physical.unknown_handles++;
		return true;
	}
	return adopt_size_of_mapping(interpreter, event, memory) &&
		gmt_physical_map(&interpreter->physical, event->address, event->size_bytes, memory) &&
		notify_mapped(interpreter, event, memory);
}

static bool unmap_range(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint64_t key, uint64_t end)
{
	uint32_t ended;

	while (gmt_physical_unmap_next(&interpreter->physical, &key, end, &ended))
		if (!end_memory(interpreter, event, ended))
			return false;
	return true;
}

bool gmt_interpret_unmap(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	return unmap_range(interpreter, event, event->address,
		gmt_saturating_add_u64(event->address, event->size_bytes));
}

bool gmt_interpret_bind(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	struct gmt_physical *physical = &interpreter->physical;
	uint32_t multicast = gmt_physical_find(physical, event->address);
	uint32_t memory = event->kind == GMT_KIND_BIND
		? gmt_physical_find(physical, event->object)
		: gmt_physical_find_mapped(physical, event->object);

	/* Memory from cuMemAlloc can be bound by its address too. It has no references to count. */
	if (multicast == GMT_PHYSICAL_NONE || memory == GMT_PHYSICAL_NONE) {
		physical->unknown_handles += event->kind == GMT_KIND_BIND;
		return true;
	}
	/* No driver does this. Objects that hold each other would never end. */
	if (!can_be_multicast(&physical->memory.items[multicast]) ||
		physical->memory.items[memory].space == GMT_SPACE_MULTICAST || memory == multicast)
		return true;

	/* The older versions of these functions do not name the device. */
	int16_t device = event->device >= 0 ? event->device : physical->memory.items[memory].device;
	return gmt_physical_map(physical, gmt_physical_multicast_key(multicast, device, event->offset),
		event->size_bytes >> 16, memory);
}

bool gmt_interpret_unbind(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	uint32_t multicast = gmt_physical_find(&interpreter->physical, event->address);
	uint64_t key;

	if (multicast == GMT_PHYSICAL_NONE)
		return true;
	key = gmt_physical_multicast_key(multicast, event->device, event->offset);
	return unmap_range(interpreter, event, key,
		gmt_saturating_add_u64(key, event->size_bytes >> 16));
}

bool gmt_interpret_set_limit(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	struct gmt_accounting *accounting = interpreter->accounting;
	struct gmt_interpret_event block = *event;
	const struct gmt_account_block *older;
	uint32_t site;

	/* `address` is the limit plus 1. Each context has its own limits. */
	block.address = (uint64_t)event->context << 32 | (uint32_t)event->address;
	older = gmt_accounting_find(accounting, event->layer, event->space, block.address);
	if (older) {
		block.size_bytes = gmt_saturating_add_u64(block.size_bytes, older->size_bytes);
		if (!gmt_interpret_free(interpreter, event, event->layer, event->space, block.address, 0,
				&site))
			return false;
	}
	return gmt_interpret_alloc(interpreter, &block);
}

/* Collects the context's blocks first, because the end of a block moves other map entries. */
bool gmt_interpret_end_context(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	uint16_t context = event->context;
	struct gmt_accounting *accounting = interpreter->accounting;
	GMT_VEC(struct gmt_addressed_block) blocks = { 0 };
	struct gmt_addressed_block addressed;
	bool done = true;

	/* The search examines all blocks, and a file can end many contexts. */
	if (!gmt_budget_spend_work(gmt_accounting_block_count(accounting) / BLOCKS_PER_BUDGET_UNIT,
			GMT_BUDGET_CONTEXTS))
		return true;
	for (size_t cursor = 0; context &&
		gmt_accounting_next_block(accounting, GMT_ACCOUNTING_ALL_OF_CUDA, &cursor, &addressed);) {
		if (addressed.block.context != context)
			continue;
		struct gmt_addressed_block *slot = gmt_vec_push(&blocks);
		if (!slot) {
			done = false;
			break;
		}
		*slot = addressed;
	}
	for (size_t i = 0; i < blocks.count && done; i++) {
		const struct gmt_account_site *site = &accounting->sites.items[blocks.items[i].block.site];
		uint32_t ended_site;

		/* Remove all references at once. */
		for (uint32_t left = blocks.items[i].block.references; left && done; left--)
			done = gmt_interpret_free(interpreter, event,
				accounting->accounts.items[site->account].layer,
				(uint8_t)accounting->spaces.items[site->space].space, blocks.items[i].address, 0,
				&ended_site);
	}
	gmt_vec_fini(&blocks);
	return done;
}
