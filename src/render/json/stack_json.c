/* SPDX-License-Identifier: MIT */
#include "render/stack_json.h"

void gmt_frame_json(const struct gmt_traces *traces, uint32_t place_id, struct gmt_json *json)
{
	const struct gmt_place *place = gmt_traces_place(traces, place_id);
	const char *file = gmt_traces_string(traces, place->file);
	const char *module = gmt_traces_string(traces, place->module);

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "kind", place->kind == GMT_PLACE_PYTHON ? "python" : "native");
	gmt_json_key_text(json, "function", gmt_traces_string(traces, place->function));
	gmt_json_key_text(json, "file", *file ? file : NULL);
	gmt_json_key(json, "line");
	if (place->line)
		gmt_json_u64(json, place->line);
	else
		gmt_json_null(json);
	gmt_json_key_text(json, "module", *module ? module : NULL);
	gmt_json_end_object(json);
}

void gmt_stack_json(const struct gmt_traces *traces, uint32_t stack, struct gmt_json *json)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);

	gmt_json_key_array(json, "stack");
	for (uint32_t i = 0; i < count && !gmt_json_is_full(json); i++)
		gmt_frame_json(traces, places[i], json);
	gmt_json_end_array(json);
}

void gmt_owner_json(const struct gmt_traces *traces, uint32_t stack, uint32_t layer, int32_t device,
	struct gmt_json *json)
{
	gmt_json_key_text(json, "owner",
		gmt_owners_name(&traces->owners, gmt_owners_find(&traces->owners, stack, layer, device)));
}
