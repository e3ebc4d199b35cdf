/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_CALL_TREE_H
#define GMT_RENDER_CALL_TREE_H

/* The trees of calls of a recording (analysis/profile/call_tree.h) on a terminal. */

#include "analysis/profile/call_tree.h"
#include "base/text.h"
#include "render/console.h"
#include "render/json.h"

/* What the renderers show. They borrow everything. */
struct gmt_call_tree_view {
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	const struct gmt_call_tree *tree;
	const char *title; /* of the number: "peak memory" */
	const char *layer;
	bool is_bytes; /* otherwise a number of blocks or allocations */
	/* Nodes with a smaller share of their root are omitted. They count in their parents. */
	double least_percent;
	size_t columns; /* width of the terminal */
	bool is_utf8;
};

/* Writes a tree for each device, a line for each node: its number, its share, its place. */
void gmt_call_tree_text(const struct gmt_call_tree_view *view, const struct gmt_console *console);

/*
 * Writes a flame graph for each device: a line for each depth, from the outermost frame down. A
 * box is as wide as its share.
 */
void gmt_flame_graph_text(const struct gmt_call_tree_view *view, const struct gmt_console *console);

/* Writes the nodes as a list: each with its id and that of its parent. */
void gmt_call_tree_json(const struct gmt_call_tree_view *view, struct gmt_json *json);

/* Returns "1.50 GiB", or "1,234" for a count. */
static inline struct gmt_text gmt_call_tree_number(const struct gmt_call_tree_view *view,
	uint64_t value)
{
	return view->is_bytes ? gmt_text_size(value) : gmt_text_count(value);
}

/* Returns whether a node is large enough to be shown. */
static inline bool gmt_call_tree_shows(const struct gmt_call_tree_view *view,
	const struct gmt_call_node *root, const struct gmt_call_node *node)
{
	return 100 * (double)node->value >= view->least_percent * (double)root->value;
}

/* Writes the name of a node, except a root: its group, or its frame. Writes no line break. */
void gmt_call_tree_name(const struct gmt_call_tree_view *view, const struct gmt_console *console,
	const struct gmt_call_node *node);

/* Writes the heading of a tree: "peak memory, torch, GPU 0: 8.25 MiB". */
void gmt_call_tree_heading(const struct gmt_call_tree_view *view, const struct gmt_console *console,
	const struct gmt_call_node *root);

#endif
