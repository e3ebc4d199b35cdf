/* SPDX-License-Identifier: MIT */
#include "render/call_tree.h"
#include "render/stack_json.h"

static void write_node(const struct gmt_call_tree_view *view, uint32_t index, struct gmt_json *json)
{
	const struct gmt_call_node *node = &view->tree->nodes.items[index];

	gmt_json_begin_object(json);
	gmt_json_key_u64(json, "id", index);
	gmt_json_key_known(json, "parent", node->depth, node->parent);
	gmt_json_key_u64(json, "depth", node->depth);
	gmt_json_key_known(json, "device", node->device >= 0, (uint32_t)node->device);
	gmt_json_key_u64(json, "value", node->value);
	gmt_json_key_u64(json, "own_value", node->own_value);
	gmt_json_key_text(json, "group",
		node->depth && node->place == GMT_CALL_TREE_GROUP
			? gmt_profile_groups_name(view->tree->groups, node->group)
			: NULL);
	gmt_json_key(json, "frame");
	if (node->depth && node->place >= 0)
		gmt_frame_json(view->traces, (uint32_t)node->place, json);
	else
		gmt_json_null(json);
	gmt_json_end_object(json);
}

void gmt_call_tree_json(const struct gmt_call_tree_view *view, struct gmt_json *json)
{
	gmt_json_begin_object(json);
	gmt_json_key_text(json, "schema", "gpumemtrace.tree/1");
	gmt_json_key_text(json, "file", view->recording->path);
	gmt_json_key_text(json, "layer", view->layer);
	gmt_json_key_text(json, "number", view->title);
	gmt_json_key_text(json, "unit", view->is_bytes ? "bytes" : "count");
	gmt_json_key_array(json, "nodes");
	/* A parent comes before its children. A device without a child has a root alone. */
	for (uint32_t i = 0; i < view->tree->nodes.count && !gmt_json_is_full(json); i++)
		write_node(view, i, json);
	gmt_json_end_array(json);
	gmt_json_end_object(json);
}
