/* SPDX-License-Identifier: MIT */
#include "driver.h"

/* Lists all live objects for tests. Each file lists the objects that it keeps. */

void sim_list_add(struct sim_list *list, struct simcuda_item item)
{
	bool is_counted = item.kind == SIMCUDA_KIND_PHYSICAL ||
		item.kind == SIMCUDA_KIND_IMPORTED_PHYSICAL || item.kind == SIMCUDA_KIND_MULTICAST;

	if (item.references == 0 && !is_counted)
		item.references = 1;
	if (list->count < list->capacity)
		list->items[list->count] = item;
	list->count++;
}

int sim_ordinal_of(const struct sim_device *device)
{
	return device ? device->ordinal : -1;
}

size_t simcuda_list(struct simcuda_item *items, size_t capacity)
{
	struct sim_list list = { items, capacity, 0 };

	sim_lock();
	sim_blocks_list(&list);
	sim_arrays_list(&list);
	sim_physicals_list(&list);
	sim_vmm_list(&list);
	sim_pools_list(&list);
	sim_external_list(&list);
	sim_graphics_list(&list);
	sim_contexts_list(&list);
	sim_greens_list(&list);
	sim_modules_list(&list);
	sim_graph_memory_list(&list);
	sim_unlock();
	return list.count;
}
