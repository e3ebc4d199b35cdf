/* SPDX-License-Identifier: MIT */
#include "containers/intervals.h"

#include <stddef.h>

/* Exceeds the height of any tree with 2^32 nodes: 1.44 times 32. */
enum { MAX_HEIGHT = 48 };

static struct gmt_interval *node_of(const struct gmt_intervals *intervals, uint32_t node)
{
	return node ? &intervals->nodes.items[node - 1] : NULL;
}

static int32_t height_of(const struct gmt_intervals *intervals, uint32_t node)
{
	return node ? node_of(intervals, node)->height : 0;
}

static uint64_t furthest_of(const struct gmt_intervals *intervals, uint32_t node)
{
	return node ? node_of(intervals, node)->furthest_end : 0;
}

/* Sets a node's height and furthest end from its children. */
static void update(const struct gmt_intervals *intervals, uint32_t node)
{
	struct gmt_interval *at = node_of(intervals, node);
	int32_t left = height_of(intervals, at->left), right = height_of(intervals, at->right);
	uint64_t left_end = furthest_of(intervals, at->left),
			 right_end = furthest_of(intervals, at->right);

	at->height = 1 + (left > right ? left : right);
	at->furthest_end = left_end > at->end ? left_end : at->end;
	if (right_end > at->furthest_end)
		at->furthest_end = right_end;
}

/* Rotates the left child above its parent. Returns the child. */
static uint32_t rotate_right(const struct gmt_intervals *intervals, uint32_t node)
{
	struct gmt_interval *at = node_of(intervals, node);
	uint32_t top = at->left;

	at->left = node_of(intervals, top)->right;
	node_of(intervals, top)->right = node;
	update(intervals, node);
	update(intervals, top);
	return top;
}

static uint32_t rotate_left(const struct gmt_intervals *intervals, uint32_t node)
{
	struct gmt_interval *at = node_of(intervals, node);
	uint32_t top = at->right;

	at->right = node_of(intervals, top)->left;
	node_of(intervals, top)->left = node;
	update(intervals, node);
	update(intervals, top);
	return top;
}

/* Rebalances a node after a change below it. Returns the node that is now in its place. */
static uint32_t balance(const struct gmt_intervals *intervals, uint32_t node)
{
	struct gmt_interval *at = node_of(intervals, node);
	int32_t balance_factor = height_of(intervals, at->left) - height_of(intervals, at->right);

	if (balance_factor > 1) {
		const struct gmt_interval *left = node_of(intervals, at->left);

		if (height_of(intervals, left->left) < height_of(intervals, left->right))
			at->left = rotate_left(intervals, at->left);
		return rotate_right(intervals, node);
	}
	if (balance_factor < -1) {
		const struct gmt_interval *right = node_of(intervals, at->right);

		if (height_of(intervals, right->right) < height_of(intervals, right->left))
			at->right = rotate_right(intervals, at->right);
		return rotate_left(intervals, node);
	}
	update(intervals, node);
	return node;
}

/* The links from the root to a place in the tree. The last link is the place. */
struct path {
	uint32_t *links[MAX_HEIGHT];
	unsigned count;
};

/* Finds the path to the node that begins at `first`, or to the place where it belongs. */
static void find_path(struct gmt_intervals *intervals, uint64_t first, struct path *path)
{
	uint32_t *link = &intervals->root;

	path->links[path->count++] = link;
	while (*link && node_of(intervals, *link)->first != first) {
		struct gmt_interval *at = node_of(intervals, *link);

		link = first < at->first ? &at->left : &at->right;
		path->links[path->count++] = link;
	}
}

/* Rebalances the nodes of the path, from its end up to the root. */
static void balance_path(const struct gmt_intervals *intervals, struct path *path)
{
	while (path->count--)
		if (*path->links[path->count])
			*path->links[path->count] = balance(intervals, *path->links[path->count]);
}

bool gmt_intervals_put(struct gmt_intervals *intervals, uint64_t first, uint64_t end)
{
	struct path path = { .count = 0 };
	uint32_t *place, node;

	/* Reserve first: the nodes may move, and the path holds their addresses. */
	if (!gmt_vec_reserve(&intervals->nodes, 1) || intervals->nodes.count >= UINT32_MAX - 1)
		return false;
	find_path(intervals, first, &path);
	place = path.links[path.count - 1];
	node = *place;
	if (!node) {
		node =
			intervals->free_plus_1 ? intervals->free_plus_1 : (uint32_t)intervals->nodes.count + 1;
		if (intervals->free_plus_1)
			intervals->free_plus_1 = node_of(intervals, node)->left;
		else
			intervals->nodes.count++;
		*node_of(intervals, node) = (struct gmt_interval){ .first = first };
		*place = node;
	}
	node_of(intervals, node)->end = end;
	balance_path(intervals, &path);
	return true;
}

void gmt_intervals_remove(struct gmt_intervals *intervals, uint64_t first)
{
	struct path path = { .count = 0 };
	uint32_t *place, node;

	find_path(intervals, first, &path);
	place = path.links[path.count - 1];
	node = *place;
	if (!node)
		return;

	struct gmt_interval *at = node_of(intervals, node);
	if (at->left && at->right) {
		/* The next range replaces it: the leftmost node of its right subtree. */
		uint32_t *link = &at->right;

		path.links[path.count++] = link;
		while (node_of(intervals, *link)->left) {
			link = &node_of(intervals, *link)->left;
			path.links[path.count++] = link;
		}

		struct gmt_interval *next = node_of(intervals, *link);
		uint32_t freed = *link;

		at->first = next->first;
		at->end = next->end;
		*link = next->right;
		node = freed;
		at = next;
	} else {
		*place = at->left ? at->left : at->right;
	}
	at->left = intervals->free_plus_1;
	intervals->free_plus_1 = node;
	balance_path(intervals, &path);
}

bool gmt_intervals_find(const struct gmt_intervals *intervals, uint64_t address,
	uint64_t *ret_first)
{
	/* nodes that begin at or before the address, with unvisited left subtrees */
	uint32_t candidates[MAX_HEIGHT];
	unsigned count = 0;
	uint32_t node = intervals->root;

	for (;;) {
		const struct gmt_interval *at;

		/* Visit the right side first: its ranges begin later. */
		while (node && furthest_of(intervals, node) > address) {
			at = node_of(intervals, node);
			if (at->first <= address) {
				candidates[count++] = node;
				node = at->right;
			} else {
				node = at->left;
			}
		}
		if (!count)
			return false;
		at = node_of(intervals, candidates[--count]);
		if (at->end > address) {
			*ret_first = at->first;
			return true;
		}
		node = at->left;
	}
}

bool gmt_intervals_next(const struct gmt_intervals *intervals, uint64_t address,
	uint64_t *ret_first)
{
	bool found = false;

	for (uint32_t node = intervals->root; node;) {
		const struct gmt_interval *at = node_of(intervals, node);

		if (at->first >= address) {
			*ret_first = at->first;
			found = true;
			node = at->left;
		} else {
			node = at->right;
		}
	}
	return found;
}

void gmt_intervals_fini(struct gmt_intervals *intervals)
{
	gmt_vec_fini(&intervals->nodes);
	intervals->root = intervals->free_plus_1 = 0;
}
