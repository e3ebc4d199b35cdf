/* SPDX-License-Identifier: MIT */
#include "compaction/compact_internal.h"

#include <stddef.h>

struct gmt_compact_device *gmt_compact_find_device(const struct gmt_compactor *compactor,
	int16_t device)
{
	uint64_t index;

	return gmt_map_find(&compactor->device_ids, (uint16_t)device, &index)
		? &compactor->devices.items[index]
		: NULL;
}

struct gmt_compact_device *gmt_compact_intern_device(struct gmt_compactor *compactor,
	int16_t device)
{
	struct gmt_compact_device *row = gmt_compact_find_device(compactor, device);

	if (row)
		return row;
	if (!gmt_vec_reserve(&compactor->devices, 1) ||
		!gmt_map_put(&compactor->device_ids, (uint16_t)device, compactor->devices.count))
		return NULL;
	row = gmt_vec_push(&compactor->devices);
	row->device = device; /* The other fields are zero: the device has no history. */
	return row;
}
