/* SPDX-License-Identifier: MIT */
#include "path.h"

enum { PASSES_SHIFT = 32 };

struct tracee_stop path_record(struct tracee *tracee, struct path *path)
{
	struct tracee_stop stop;

	while ((stop = tracee_step(tracee)).event == TRACEE_STEPPED) {
		if (!tracee_is_in_shim(tracee, stop.ip))
			continue;

		uint64_t *address = gmt_vec_push(&path->addresses);

		if (!address)
			return (struct tracee_stop){ .event = TRACEE_FAILED };
		*address = stop.ip;
	}
	return stop;
}

void path_fini(struct path *path)
{
	gmt_vec_fini(&path->addresses);
}

/* Counts how often each address is in the path. */
static bool count_passes(const struct path *path, struct gmt_map *passes)
{
	for (size_t i = 0; i < path->addresses.count; i++) {
		uint64_t count = 0;

		gmt_map_find(passes, path->addresses.items[i], &count);
		if (!gmt_map_put(passes, path->addresses.items[i], count + 1))
			return false;
	}
	return true;
}

/* Returns the position with this key. Makes it if there is none. NULL: out of memory. */
static struct position *position_of(struct positions *positions, uint64_t key,
	const struct position *model)
{
	struct position *position;
	uint64_t index;

	if (gmt_map_find(&positions->known, key, &index))
		return &positions->items.items[index];
	position = gmt_vec_push(&positions->items);
	if (!position || !gmt_map_put(&positions->known, key, positions->items.count - 1))
		return NULL;
	*position = *model;
	return position;
}

bool positions_add(struct positions *positions, const struct path *path, uint64_t shim_base,
	bool each_step)
{
	struct gmt_map totals = { 0 }, passes = { 0 };
	bool is_done = count_passes(path, &totals);
	size_t anchor = 0;

	positions->paths++;
	for (size_t i = 0; is_done && i < path->addresses.count; i++) {
		uint64_t address = path->addresses.items[i], pass = 0, total = 0;

		gmt_map_find(&passes, address, &pass);
		gmt_map_find(&totals, address, &total);
		is_done = gmt_map_put(&passes, address, ++pass);
		/* The anchor is an address whose first pass a breakpoint can find. */
		if (pass == 1 && (total == 1 || !each_step))
			anchor = i;
		if (!is_done || (pass > 1 && !each_step))
			continue;

		const struct position model = { address - shim_base,
			path->addresses.items[anchor] - shim_base, i - anchor, (uint32_t)pass, 0, 0 };
		struct position *position =
			position_of(positions, model.offset << PASSES_SHIFT | pass, &model);

		is_done = position != NULL;
		if (position && position->last_path != positions->paths) {
			position->last_path = positions->paths;
			position->paths++;
		}
	}
	gmt_map_fini(&totals);
	gmt_map_fini(&passes);
	return is_done;
}

size_t positions_keep(struct positions *positions, uint32_t min_paths, uint32_t max_paths)
{
	size_t kept = 0, count = positions->items.count;

	for (size_t i = 0; i < count; i++)
		if (positions->items.items[i].paths >= min_paths &&
			positions->items.items[i].paths <= max_paths)
			positions->items.items[kept++] = positions->items.items[i];
	positions->items.count = kept;
	/* The indexes in `known` are not valid any more. */
	gmt_map_fini(&positions->known);
	return count - kept;
}

void positions_fini(struct positions *positions)
{
	gmt_vec_fini(&positions->items);
	gmt_map_fini(&positions->known);
}

size_t positions_count_instructions(const struct positions *positions)
{
	size_t count = 0;

	for (size_t i = 0; i < positions->items.count; i++)
		count += positions->items.items[i].pass == 1;
	return count;
}

struct tracee_stop path_go_to(struct tracee *tracee, const struct position *position)
{
	struct tracee_stop stop = { .event = TRACEE_FAILED };

	if (!tracee_set_breakpoint(tracee, tracee->shim_base + position->anchor))
		return stop;
	stop = tracee_run(tracee, 0);
	for (uint64_t steps = position->steps;
		steps && (stop.event == TRACEE_BREAK || stop.event == TRACEE_STEPPED);) {
		stop = tracee_step(tracee);
		steps -= stop.event == TRACEE_STEPPED && tracee_is_in_shim(tracee, stop.ip);
	}
	if (stop.event == TRACEE_STEPPED)
		stop.event = TRACEE_BREAK;
	if (stop.event == TRACEE_BREAK || stop.event == TRACEE_GATE)
		tracee_set_breakpoint(tracee, 0);
	/* The call took another way through the recorder than the recorded path. */
	if (stop.event == TRACEE_BREAK && stop.ip - tracee->shim_base != position->offset)
		return tracee_run(tracee, 0);
	return stop;
}
