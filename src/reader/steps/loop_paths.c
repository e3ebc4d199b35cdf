/* SPDX-License-Identifier: MIT */
#include "reader/steps/loop_paths.h"

/* Values of `path_of`. FIRST_PATH + i: the stack has the path `paths[i]`. */
enum { NOT_EXAMINED = 0, NO_PATH, FIRST_PATH };

bool gmt_loop_paths_init(struct gmt_loop_paths *paths, const struct gmt_traces *traces)
{
	paths->traces = traces;
	for (uint32_t i = 0; i < traces->stacks.entries.count && !paths->has_python; i++)
		paths->has_python = gmt_traces_has_python(traces, i);
	/* The vector is all zeros, indexed by stack. Nothing is pushed to it. */
	return gmt_vec_reserve(&paths->path_of, traces->stacks.entries.count + 1);
}

/*
 * Finds the node of the function at `place`, called from the line parent->line of the node
 * parent->node (NULL: an outermost function). Adds a new node. Functions are equal if they have the
 * same name and file. Returns false when out of memory.
 */
static bool get_node(struct gmt_loop_paths *paths, const struct gmt_loop_level *parent,
	uint32_t place, uint32_t *ret_node)
{
	const struct gmt_place *row = gmt_traces_place(paths->traces, place);
	uint64_t parent_key = parent ? ((uint64_t)parent->node + 1) << 32 | parent->line : 0;
	uint64_t function_key = (uint64_t)row->file << 32 | row->function;
	uint64_t key = gmt_hash_u64(gmt_hash_u64(parent_key) ^ function_key), index;

	if (!gmt_map_find(&paths->node_ids, key, &index)) {
		struct gmt_loop_node *node = gmt_vec_push(&paths->nodes);

		index = paths->nodes.count - 1;
		if (!node || !gmt_map_put(&paths->node_ids, key, index))
			return false;
		*node = (struct gmt_loop_node){
			.parent_plus_1 = parent ? parent->node + 1 : 0,
			.place = place,
			.depth = parent ? paths->nodes.items[parent->node].depth + 1 : 0,
		};
	}
	*ret_node = (uint32_t)index;
	return true;
}

/*
 * Finds the path with these levels, or adds it. A node knows its parents, so the last level
 * identifies the path. Returns false when out of memory.
 */
static bool intern_path(struct gmt_loop_paths *paths, const struct gmt_loop_level *levels,
	uint32_t count, uint32_t *ret_path)
{
	const struct gmt_loop_level *leaf = &levels[count - 1];
	uint64_t key = (uint64_t)leaf->node << 32 | leaf->line, index;
	struct gmt_loop_path *path;

	if (!gmt_map_find(&paths->path_ids, key, &index)) {
		path = gmt_vec_push(&paths->paths);
		index = paths->paths.count - 1;
		if (!path || !gmt_vec_reserve(&paths->levels, count) ||
			!gmt_map_put(&paths->path_ids, key, index))
			return false;
		*path = (struct gmt_loop_path){ .first = paths->levels.count, .count = count };
		for (uint32_t i = 0; i < count; i++)
			paths->levels.items[paths->levels.count++] = levels[i];
	}
	*ret_path = (uint32_t)index;
	return true;
}

/* Gets the entry of a stack in `path_of`. Returns false when out of memory. */
static bool make_path(struct gmt_loop_paths *paths, uint32_t stack, uint32_t *ret_entry)
{
	const struct gmt_traces *traces = paths->traces;
	struct gmt_loop_level levels[GMT_LOOP_LEVELS];
	uint32_t count, depth = 0, path;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);

	*ret_entry = NO_PATH;
	if (traces->stack_frame_kinds.items[stack] & GMT_FRAME_KIND_BIT(BACKWARD))
		return true;
	/*
	 * From the outermost frame inward, to the first call of a module: modules have their own loops.
	 */
	for (uint32_t i = count; i-- > 0 && depth < GMT_LOOP_LEVELS;) {
		const struct gmt_place *place = gmt_traces_place(traces, places[i]);

		if (traces->place_frame_kinds.items[places[i]] & GMT_FRAME_KIND_BIT(MODULE_CALL))
			break;
		if ((place->kind == GMT_PLACE_PYTHON) != paths->has_python)
			continue;
		if (!get_node(paths, depth ? &levels[depth - 1] : NULL, places[i], &levels[depth].node))
			return false;
		levels[depth++].line = place->line;
	}
	if (!depth)
		return true;
	if (!intern_path(paths, levels, depth, &path))
		return false;
	*ret_entry = FIRST_PATH + path;
	return true;
}

bool gmt_loop_paths_get(struct gmt_loop_paths *paths, uint32_t stack, uint32_t *ret_path_plus_1)
{
	uint32_t *entry = &paths->path_of.items[stack];

	if (*entry == NOT_EXAMINED && !make_path(paths, stack, entry))
		return false;
	*ret_path_plus_1 = *entry >= FIRST_PATH ? *entry - FIRST_PATH + 1 : 0;
	return true;
}

void gmt_loop_paths_sum(struct gmt_loop_paths *paths)
{
	for (size_t p = 0; p < paths->paths.count; p++) {
		const struct gmt_loop_path *path = &paths->paths.items[p];
		const struct gmt_loop_level *levels = &paths->levels.items[path->first];

		for (uint32_t i = 0; i < path->count; i++)
			paths->nodes.items[levels[i].node].allocs += path->allocs;
	}
	for (uint32_t i = 0; i < paths->nodes.count; i++) {
		const struct gmt_loop_node *node = &paths->nodes.items[i];
		uint32_t *best = node->parent_plus_1
			? &paths->nodes.items[node->parent_plus_1 - 1].best_plus_1
			: &paths->best_plus_1;

		if (!*best || node->allocs > paths->nodes.items[*best - 1].allocs)
			*best = i + 1;
	}
}

void gmt_loop_paths_fini(struct gmt_loop_paths *paths)
{
	gmt_vec_fini(&paths->path_of);
	gmt_map_fini(&paths->node_ids);
	gmt_map_fini(&paths->path_ids);
	gmt_vec_fini(&paths->nodes);
	gmt_vec_fini(&paths->levels);
	gmt_vec_fini(&paths->paths);
}
