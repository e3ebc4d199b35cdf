/* SPDX-License-Identifier: MIT */
#include "accounting/interpret_internal.h"

/*
 * Notifies the owner of the ended block. The event may name something else: an unmap names a
 * mapping, and ends the memory that only this mapping kept alive.
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
		return GMT_REPORT(interpreter, ended, event, &accounting->ended);
	of_block = *event;
	of_block.layer = layer;
	of_block.space = space;
	of_block.address = address;
	return GMT_REPORT(interpreter, ended, &of_block, &accounting->ended);
}

bool gmt_interpret_get_site(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint32_t group_plus_1, uint32_t *ret_site)
{
	int16_t device =
		gmt_space_side(event->space) == GMT_SIDE_HOST ? GMT_DEVICE_HOST : event->device;
	/* A heap group has one layer, space and device, so stack and group are enough for a key. */
	uint64_t key = (uint64_t)event->stack << 32 |
		(group_plus_1
				? group_plus_1
				: (uint64_t)event->layer << 24 | (uint64_t)event->space << 16 | (uint16_t)device);
	struct gmt_map *ids = group_plus_1 ? &interpreter->heap_site_ids : &interpreter->site_ids;
	uint64_t site;

	if (gmt_map_find(ids, key, &site)) {
		*ret_site = (uint32_t)site;
		return true;
	}
	if (!gmt_accounting_add_site(interpreter->accounting, event->layer, device, event->space,
			ret_site))
		return false;
	if (group_plus_1)
		gmt_accounting_put_in_heap(interpreter->accounting, *ret_site, group_plus_1 - 1);
	return GMT_REPORT(interpreter, made_site, event, *ret_site) && gmt_map_put(ids, key, *ret_site);
}

bool gmt_interpret_reported_totals(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, int16_t device)
{
	if (!event->has_totals || device < 0)
		return true;
	return gmt_accounting_set_reported_totals(interpreter->accounting, event->layer, device,
		event->allocated_bytes, event->reserved_bytes);
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
	const struct gmt_interpret_event *event, uint32_t group_plus_1)
{
	struct gmt_accounting *accounting = interpreter->accounting;
	uint32_t site;

	if (!gmt_interpret_get_site(interpreter, event, group_plus_1, &site) ||
		!GMT_REPORT(interpreter, requested, event, site))
		return false;
	if (!gmt_accounting_alloc(accounting, site, event->address, event->size_bytes, event->stamp) ||
		!notify_ended(interpreter, event, event->address) ||
		!gmt_interpret_reported_totals(interpreter, event, event->device))
		return false;
	if (!accounting->new_block_plus_1)
		return true;
	if (event->context && ends_with_context(event))
		gmt_accounting_bind(accounting, event->context);
	return GMT_REPORT(interpreter, began, event, site);
}

bool gmt_interpret_alloc(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	return account_alloc(interpreter, event, 0);
}

bool gmt_interpret_alloc_in_heap(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint32_t group)
{
	return account_alloc(interpreter, event, group + 1);
}

bool gmt_interpret_free(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint8_t layer, uint8_t space, uint64_t address,
	uint64_t size_bytes, uint32_t *ret_site)
{
	*ret_site = gmt_accounting_free(interpreter->accounting, layer, space, address, size_bytes);
	return notify_ended(interpreter, event, address);
}
