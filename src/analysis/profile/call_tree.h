/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_PROFILE_CALL_TREE_H
#define GMT_ANALYSIS_PROFILE_CALL_TREE_H

/*
 * The stacks of a profile as one tree of calls for each device: the outermost frames are below the
 * root. A node has one number of the profile: the sum over all stacks that begin with its path. If
 * the profile has groups, they are below the root, and the outermost frames below them.
 */

#include "analysis/profile/profile.h"

enum {
	GMT_CALL_TREE_NO_PLACE = -1, /* the place of stacks without frames */
	GMT_CALL_TREE_GROUP = -2,    /* the place of a group of the profile */
};

struct gmt_call_node {
	int64_t place;  /* id in traces, or one of the constants above; of a root: none */
	uint32_t group; /* of the profile, for GMT_CALL_TREE_GROUP */
	int32_t device; /* GMT_DEVICE_HOST: host memory */
	uint32_t parent; /* index of the parent; of a root: its own index */
	uint32_t depth;  /* 0: a root */
	uint32_t first_child, child_count; /* in `order`: indexes of nodes, the largest number first */
	uint64_t value; /* bytes or blocks, with those of its children */
	uint64_t own_value; /* of the stacks that end here */
};

struct gmt_call_tree {
	const struct gmt_profile_groups *groups; /* borrowed; NULL: none */
	GMT_VEC(struct gmt_call_node) nodes; /* a parent comes before its children */
	GMT_VEC(uint32_t) order;
	GMT_VEC(uint32_t) roots; /* in order of devices */
};

/*
 * Makes the trees of the profile's number `value`. Fails only when out of memory. The caller owns
 * `ret_tree` (zeroed) and ends it with gmt_call_tree_fini.
 */
enum gmt_status gmt_call_tree_compute(struct gmt_call_tree *ret_tree,
	const struct gmt_profile *profile, enum gmt_profile_value value,
	const struct gmt_traces *traces, struct gmt_error *error);

/* Returns child number `index` of a node. */
static inline const struct gmt_call_node *gmt_call_tree_child(const struct gmt_call_tree *tree,
	const struct gmt_call_node *node, uint32_t index)
{
	return &tree->nodes.items[tree->order.items[node->first_child + index]];
}

void gmt_call_tree_fini(struct gmt_call_tree *tree);

#endif
