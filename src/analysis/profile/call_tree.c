/* SPDX-License-Identifier: MIT */
#include "analysis/profile/call_tree.h"

#include <stdlib.h>

#include "containers/map.h"

/* A tree that grows. */
struct growth {
	struct gmt_call_tree *tree;
	struct gmt_map children; /* from a parent and a place to a node */
};

static bool add_node(struct growth *growth, const struct gmt_call_node *node, uint32_t *ret_index)
{
	struct gmt_call_node *slot = gmt_vec_push(&growth->tree->nodes);

	if (!slot)
		return false;
	*slot = *node;
	*ret_index = (uint32_t)(growth->tree->nodes.count - 1);
	return true;
}

/* Finds or adds the child of a node for a place. */
static bool get_child(struct growth *growth, uint32_t parent, int64_t place, uint32_t *ret_child)
{
	const struct gmt_call_node *above = &growth->tree->nodes.items[parent];
	uint64_t key = (uint64_t)parent << 32 | (uint32_t)(place + 1), found;
	struct gmt_call_node node = {
		.place = place, .device = above->device, .parent = parent, .depth = above->depth + 1
	};

	if (gmt_map_find(&growth->children, key, &found)) {
		*ret_child = (uint32_t)found;
		return true;
	}
	return add_node(growth, &node, ret_child) && gmt_map_put(&growth->children, key, *ret_child);
}

/* Adds a number to a node. */
static void add_value(struct gmt_call_tree *tree, uint32_t index, uint64_t value)
{
	tree->nodes.items[index].value = gmt_saturating_add_u64(tree->nodes.items[index].value, value);
}

/* Adds the numbers of a stack below a root or a group. */
static bool add_stack(struct growth *growth, uint32_t node, const uint32_t *places, uint32_t count,
	uint64_t value)
{
	add_value(growth->tree, node, value);
	for (uint32_t i = count; i-- > 0;) {
		if (!get_child(growth, node, places[i], &node))
			return false;
		add_value(growth->tree, node, value);
	}
	if (!count) {
		if (!get_child(growth, node, GMT_CALL_TREE_NO_PLACE, &node))
			return false;
		add_value(growth->tree, node, value);
	}
	growth->tree->nodes.items[node].own_value =
		gmt_saturating_add_u64(growth->tree->nodes.items[node].own_value, value);
	return true;
}

static bool add_root(struct growth *growth, int32_t device, uint32_t *ret_root)
{
	struct gmt_call_node root = { .device = device };
	uint32_t *slot;

	root.parent = (uint32_t)growth->tree->nodes.count;
	if (!add_node(growth, &root, ret_root) || !(slot = gmt_vec_push(&growth->tree->roots)))
		return false;
	*slot = *ret_root;
	return true;
}

static bool add_group(struct growth *growth, uint32_t root, uint32_t group, uint32_t *ret_node)
{
	struct gmt_call_node node = {
		.place = GMT_CALL_TREE_GROUP,
		.group = group,
		.device = growth->tree->nodes.items[root].device,
		.parent = root,
		.depth = 1,
	};

	return add_node(growth, &node, ret_node);
}

static bool grow(struct growth *growth, const struct gmt_profile *profile,
	enum gmt_profile_value value, const struct gmt_traces *traces)
{
	const struct gmt_call_tree *tree = growth->tree;
	uint32_t root = 0, group = 0;

	for (size_t i = 0; i < profile->rows.count; i++) {
		const struct gmt_profile_row *row = &profile->rows.items[i];
		uint32_t count;
		const uint32_t *places = gmt_traces_stack(traces, row->stack, &count);

		if (!row->values[value])
			continue;
		if (!tree->roots.count || tree->nodes.items[root].device != row->device) {
			if (!add_root(growth, row->device, &root))
				return false;
			group = root;
		}
		if (profile->groups) {
			if ((group == root || tree->nodes.items[group].group != row->group) &&
				!add_group(growth, root, row->group, &group))
				return false;
			add_value(growth->tree, root, row->values[value]);
		}
		if (!add_stack(growth, group, places, count, row->values[value]))
			return false;
	}
	return true;
}

/* A node, for sorting by parent, then by the number. */
struct sorted {
	uint32_t index, parent;
	uint64_t value;
};

static int compare(const void *left, const void *right)
{
	const struct sorted *a = left, *b = right;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

/* Lists the children of each node. */
static bool sort_children(struct gmt_call_tree *tree)
{
	size_t count = 0;
	struct sorted *sorted = calloc(tree->nodes.count + 1, sizeof(*sorted));

	if (!sorted || !gmt_vec_reserve(&tree->order, tree->nodes.count)) {
		free(sorted);
		return false;
	}
	for (uint32_t i = 0; i < tree->nodes.count; i++)
		if (tree->nodes.items[i].depth)
			sorted[count++] =
				(struct sorted){ i, tree->nodes.items[i].parent, tree->nodes.items[i].value };
	qsort(sorted, count, sizeof(*sorted), compare);
	for (size_t i = 0; i < count; i++) {
		struct gmt_call_node *parent = &tree->nodes.items[sorted[i].parent];

		if (!parent->child_count++)
			parent->first_child = (uint32_t)i;
		tree->order.items[tree->order.count++] = sorted[i].index;
	}
	free(sorted);
	return true;
}

enum gmt_status gmt_call_tree_compute(struct gmt_call_tree *ret_tree,
	const struct gmt_profile *profile, enum gmt_profile_value value,
	const struct gmt_traces *traces, struct gmt_error *error)
{
	struct growth growth = { .tree = ret_tree };
	bool done;

	ret_tree->groups = profile->groups;
	done = grow(&growth, profile, value, traces) && sort_children(ret_tree);
	gmt_map_fini(&growth.children);
	return done ? GMT_OK : gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

void gmt_call_tree_fini(struct gmt_call_tree *tree)
{
	gmt_vec_fini(&tree->nodes);
	gmt_vec_fini(&tree->order);
	gmt_vec_fini(&tree->roots);
}
