/* SPDX-License-Identifier: MIT */
#include "accounting/interpret.h"

/* Calls a callback of the owner, if the owner has set it. */
#define NOTIFY(interpreter, function, ...) \
	(!(interpreter)->owner.function || \
		(interpreter)->owner.function((interpreter)->owner.user, __VA_ARGS__))

/*
 * Reports the ended block. It may differ from what the event names, e.g. memory whose last mapping
 * has gone.
 */
static bool notify_ended(const struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint64_t address)
{
	const struct gmt_accounting *accounting = interpreter->accounting;
	const struct gmt_account_site *site;
	struct gmt_interpret_event of_block;
	uint8_t layer, space;

	if (!accounting->has_ended)
		return true;
	site = &accounting->sites.items[accounting->ended.site];
	layer = accounting->accounts.items[site->account].layer;
	space = (uint8_t)accounting->spaces.items[site->space].space;
	if (layer == event->layer && space == event->space && address == event->address)
		return NOTIFY(interpreter, ended, event, &accounting->ended);
	of_block = *event;
	of_block.layer = layer;
	of_block.space = space;
	of_block.address = address;
	return NOTIFY(interpreter, ended, &of_block, &accounting->ended);
}

bool gmt_interpret_get_site(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint32_t row_plus_1, uint32_t *ret_site)
{
	int16_t device =
		gmt_space_side(event->space) == GMT_SIDE_HOST ? GMT_DEVICE_HOST : event->device;
	/* A heap has one layer, space and device, so place and row are enough for a key. */
	uint64_t key = (uint64_t)event->place << 32 |
		(row_plus_1
				? row_plus_1
				: (uint64_t)event->layer << 24 | (uint64_t)event->space << 16 | (uint16_t)device);
	struct gmt_map *ids = row_plus_1 ? &interpreter->pool_site_ids : &interpreter->site_ids;
	uint64_t site;

	if (gmt_map_find(ids, key, &site)) {
		*ret_site = (uint32_t)site;
		return true;
	}
	if (!gmt_accounting_add_site(interpreter->accounting, event->layer, device, event->space,
			ret_site))
		return false;
	if (row_plus_1)
		gmt_accounting_put_in_heap(interpreter->accounting, *ret_site, row_plus_1 - 1);
	return NOTIFY(interpreter, made_site, event, *ret_site) && gmt_map_put(ids, key, *ret_site);
}

static bool interpret_totals(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, int16_t device)
{
	if (!event->has_totals || device < 0)
		return true;
	return gmt_account_totals(interpreter->accounting, event->layer, device, event->allocated_bytes,
		event->reserved_bytes);
}

/*
 * Memory that another process exported and this process opened ends with the context. Memory from
 * that process's pool (`object` is set) does not.
 */
static bool ends_with_context(const struct gmt_interpret_event *event)
{
	enum gmt_life life = gmt_space_life(event->space);

	return life == GMT_LIFE_CONTEXT || (life == GMT_LIFE_COUNTED && !event->object);
}

static bool account_alloc(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint32_t row_plus_1)
{
	struct gmt_accounting *accounting = interpreter->accounting;
	uint32_t site;

	if (!gmt_interpret_get_site(interpreter, event, row_plus_1, &site) ||
		!NOTIFY(interpreter, asked, event, site))
		return false;
	if (!gmt_accounting_alloc(accounting, site, event->address, event->size_bytes, event->stamp) ||
		!notify_ended(interpreter, event, event->address) ||
		!interpret_totals(interpreter, event, event->device))
		return false;
	if (!accounting->made_plus_1)
		return true;
	if (event->context && ends_with_context(event))
		gmt_accounting_bind(accounting, event->context);
	return NOTIFY(interpreter, began, event, site);
}

bool gmt_interpret_alloc(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	return account_alloc(interpreter, event, 0);
}

bool gmt_interpret_alloc_in_heap(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint32_t row)
{
	return account_alloc(interpreter, event, row + 1);
}

bool gmt_interpret_free(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint8_t layer, uint8_t space, uint64_t address,
	uint64_t size_bytes, uint32_t *ret_site)
{
	*ret_site = gmt_accounting_free(interpreter->accounting, layer, space, address, size_bytes);
	return notify_ended(interpreter, event, address);
}

static bool interpret_alloc(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	if (gmt_layer_family(event->layer) == GMT_FAMILY_CUDA &&
		gmt_space_realm(event->space) == GMT_REALM_HANDLE)
		return gmt_interpret_create_memory(interpreter, event);
	return gmt_interpret_alloc(interpreter, event);
}

static bool interpret_free(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	const struct gmt_accounting *accounting = interpreter->accounting;
	bool is_cuda = gmt_layer_family(event->layer) == GMT_FAMILY_CUDA;
	uint32_t site;

	if (is_cuda && gmt_space_realm(event->space) == GMT_REALM_HANDLE)
		return gmt_interpret_release_memory(interpreter, event);
	/*
	 * A library outlives contexts, but the memory that it took in a context ends with that context.
	 */
	if (is_cuda && event->space == GMT_SPACE_MODULE &&
		!gmt_accounting_find(accounting, event->layer, event->space, event->address))
		return true;
	if (!gmt_interpret_free(interpreter, event, event->layer, event->space, event->address,
			event->size_bytes, &site))
		return false;
	if (is_cuda && event->space == GMT_SPACE_CONTEXT)
		return gmt_interpret_end_context(interpreter, event);
	/* The event of a free may lack the device. The block has it. */
	return interpret_totals(interpreter, event,
		site == UINT32_MAX
			? event->device
			: accounting->accounts.items[accounting->sites.items[site].account].device);
}

static bool interpret_refusal(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	uint32_t site;

	if (!gmt_interpret_get_site(interpreter, event, 0, &site))
		return false;
	gmt_accounting_refuse(interpreter->accounting, site);
	return NOTIFY(interpreter, refused, event, site) &&
		interpret_totals(interpreter, event, event->device);
}

static bool interpret_refused_free(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	bool is_handle = gmt_layer_family(event->layer) == GMT_FAMILY_CUDA &&
		gmt_space_realm(event->space) == GMT_REALM_HANDLE;

	interpreter->accounting->anomalies.refused_frees++;
	return NOTIFY(interpreter, refused_free, event,
		is_handle ? gmt_physical_find(&interpreter->physical, event->address) != GMT_PHYSICAL_NONE
				  : gmt_accounting_find(interpreter->accounting, event->layer, event->space,
						event->address) != NULL);
}

bool gmt_interpret(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	if (gmt_layer_family(event->layer) == GMT_FAMILY_CUSTOM)
		return gmt_interpret_heap_event(interpreter, event);
	switch ((enum gmt_kind)event->kind) {
	case GMT_KIND_ALLOC:
		return interpret_alloc(interpreter, event);
	case GMT_KIND_FREE:
		return interpret_free(interpreter, event);
	case GMT_KIND_ALLOC_FAILED:
		return interpret_refusal(interpreter, event);
	case GMT_KIND_FREE_FAILED:
		return interpret_refused_free(interpreter, event);
	case GMT_KIND_CREATE:
		return event->space != GMT_SPACE_GRAPH || gmt_interpret_instantiate(interpreter, event);
	case GMT_KIND_RETAIN:
		return gmt_interpret_retain(interpreter, event);
	case GMT_KIND_MAP:
		return gmt_interpret_map(interpreter, event);
	case GMT_KIND_UNMAP:
		return gmt_interpret_unmap(interpreter, event);
	case GMT_KIND_BIND:
	case GMT_KIND_BIND_ADDRESS:
		return gmt_interpret_bind(interpreter, event);
	case GMT_KIND_UNBIND:
		return gmt_interpret_unbind(interpreter, event);
	case GMT_KIND_NODE_ALLOC:
	case GMT_KIND_NODE_FREE:
		return gmt_interpret_add_node(interpreter, event);
	case GMT_KIND_LAUNCH:
		return gmt_interpret_launch(interpreter, event);
	case GMT_KIND_SET:
		return event->space != GMT_SPACE_LIMIT || gmt_interpret_set_limit(interpreter, event);
	case GMT_KIND_DESTROY:
		if (interpreter->forgets && event->space == GMT_SPACE_GRAPH)
			gmt_interpret_forget_graph(interpreter, event);
		return true;
	case GMT_KIND_EXPORT:
	case GMT_KIND_TRIM:
	case GMT_KIND_RESET:
	case GMT_KIND_RESIZE:
		return true;
	}
	return true;
}

void gmt_event_interpreter_finish(struct gmt_event_interpreter *interpreter)
{
	interpreter->accounting->anomalies.unknown_frees += interpreter->physical.unknown_handles;
}

void gmt_event_interpreter_fini(struct gmt_event_interpreter *interpreter)
{
	gmt_map_fini(&interpreter->site_ids);
	gmt_physical_fini(&interpreter->physical);
	gmt_interpret_forget_graphs(interpreter);
	gmt_interpret_forget_heaps(interpreter);
}
