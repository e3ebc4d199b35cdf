/* SPDX-License-Identifier: MIT */
#include "render/phase_memory.h"

#include "reader/load/clock.h"
#include "render/memory_names.h"

void gmt_phase_memory_json(const struct gmt_phase_memory_phase *phase,
	const struct gmt_recording *recording, struct gmt_json *json)
{
	if (!phase->is_counted) {
		gmt_json_key(json, "memory");
		gmt_json_null(json);
		return;
	}
	gmt_json_key_array(json, "memory");
	for (size_t i = 0; i < phase->rows.count; i++) {
		const struct gmt_phase_memory_row *row = &phase->rows.items[i];

		gmt_json_begin_object(json);
		gmt_json_key_text(json, "layer",
			row->layer == GMT_PHASE_MEMORY_PROGRAM ? NULL : gmt_layer_name(row->layer));
		gmt_json_key_device(json, row->device);
		gmt_json_key_u64(json, "begin_bytes", row->begin_bytes);
		gmt_json_key_u64(json, "peak_bytes", row->peak_bytes);
		gmt_json_key_u64(json, "peak_ns", gmt_clock_time_ns(recording, row->peak_stamp));
		gmt_json_key_u64(json, "end_bytes", row->end_bytes);
		gmt_json_key_u64(json, "alloc_count", row->alloc_count);
		gmt_json_key_u64(json, "free_count", row->free_count);
		gmt_json_key_u64(json, "alloc_bytes", row->alloc_bytes);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}
