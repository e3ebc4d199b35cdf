/* SPDX-License-Identifier: MIT */
#include "compaction/compact_internal.h"

bool gmt_compact_intern_trace(struct gmt_compactor *compactor, uint32_t stack, uint32_t frames,
	uint32_t caller, uint32_t *ret_trace)
{
	struct gmt_map *ids = &compactor->trace_ids;
	uint64_t id, key = (uint64_t)stack << 32 | frames;

	if (caller) {
		uint32_t callerless;

		if (!gmt_compact_intern_trace(compactor, stack, frames, 0, &callerless))
			return false;
		ids = &compactor->caller_trace_ids;
		key = (uint64_t)callerless << 32 | caller;
	}
	if (!gmt_map_find(ids, key, &id)) {
		id = compactor->traces.count;
		if (!gmt_vec_reserve(&compactor->traces, 1) || !gmt_map_put(ids, key, id))
			return false;
		*gmt_vec_push(&compactor->traces) = (struct gmt_compact_trace){ stack, frames, caller };
	}
	*ret_trace = (uint32_t)id;
	return true;
}
