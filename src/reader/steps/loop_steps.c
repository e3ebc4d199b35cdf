/* SPDX-License-Identifier: MIT */
#include "reader/steps/loop_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/steps/loop_paths.h"
#include "reader/steps/period.h"
#include "reader/steps/allocation_sequence.h"

enum {
	MANY_PASSES = 16, /* tried first, because an inner loop has many passes ... */
	MIN_PASSES = 10, /* ... where the outermost loop has few */
	/* at least one in SECOND_HALF_SHARE passes begins in the second half of the recording */
	SECOND_HALF_SHARE = 4,
	MAX_PARTS = 8, /* maximum number of parts of a pass, if lines decrease within an expression */
	SAME_STACK_NUMERATOR = 9,
	SAME_STACK_DENOMINATOR = 10, /* at least 9 of 10 passes begin with the same stack */
	MIN_ONCE = 3, /* at least one in MIN_ONCE passes has that stack exactly once */
	MANY_TIMES_DIVISOR = 50, /* at most one in MANY_TIMES_DIVISOR passes has it more than twice */
};

/* How often a function went back from one line to another. */
struct edge {
	uint32_t node;
	uint32_t to, from; /* lines */
	uint32_t second_half_count; /* part of `count`: in the second half of the recording */
	uint64_t count;
};

/* A thread, with the path of its last allocation. */
struct thread {
	uint32_t path_plus_1;
};

/*
 * The chosen loop, in function `node`. Its lines are from `first` to `last`. A pass begins at a
 * line from `first` to `begin`.
 */
struct loop {
	uint32_t node;
	uint32_t first, begin, last;
};

struct pass {
	uint64_t stamp;
	uint32_t stack;
};

struct finder {
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	uint64_t work_end;
	struct gmt_events_reader reader;
	struct gmt_loop_paths paths;
	struct gmt_map thread_ids;
	GMT_VEC(struct thread) threads;
	struct gmt_map last_lines; /* the last line, by thread and node */
	struct gmt_map edge_ids; /* from the hash of an edge to its index */
	GMT_VEC(struct edge) edges;
	uint64_t allocs;
	bool is_second_half;
	uint64_t min_passes;
	bool is_chosen; /* false: the events give edges; true: they give passes */
	struct loop loop;
	GMT_VEC(struct pass) passes;
	uint64_t last_stamp; /* of the last allocation in the loop */
	uint64_t loop_allocs, loop_frees; /* since the loop's first pass began */
};

static bool add_edge(struct finder *finder, uint32_t node, uint32_t to, uint32_t from)
{
	uint64_t key = gmt_hash_u64((uint64_t)node << 32 | to) ^ from, index;

	if (!gmt_map_find(&finder->edge_ids, key, &index)) {
		struct edge *edge = gmt_vec_push(&finder->edges);

		index = finder->edges.count - 1;
		if (!edge || !gmt_map_put(&finder->edge_ids, key, index))
			return false;
		*edge = (struct edge){ .node = node, .to = to, .from = from };
	}
	finder->edges.items[index].count++;
	finder->edges.items[index].second_half_count += finder->is_second_half;
	return true;
}

/*
 * Notes a pass of the chosen loop. It begins with the loop's first allocation, and each time the
 * line goes back to the beginning of the loop.
 */
static bool note_pass(struct finder *finder, uint32_t line, bool went_back, uint64_t stamp,
	uint32_t stack)
{
	const struct loop *loop = &finder->loop;
	struct pass *pass;

	if (line < loop->first || line > loop->last ||
		(finder->passes.count && (!went_back || line > loop->begin)))
		return true;
	pass = gmt_vec_push(&finder->passes);
	if (pass)
		*pass = (struct pass){ stamp, stack };
	return pass;
}

/* Notes that the thread's function at this level reached another line. */
static bool visit(struct finder *finder, uint32_t thread, const struct gmt_loop_level *level,
	uint64_t stamp, uint32_t stack)
{
	uint64_t key = (uint64_t)thread << 32 | level->node, last;
	struct gmt_map_slot *slot = gmt_map_slot_with_room(&finder->last_lines, key);
	bool went_back;

	if (!slot)
		return false;
	went_back = slot->value_plus_1 && level->line < slot->value_plus_1 - 1;
	last = went_back ? slot->value_plus_1 - 1 : 0;
	gmt_map_fill(&finder->last_lines, slot, key, level->line);
	if (!finder->is_chosen && went_back &&
		!add_edge(finder, level->node, level->line, (uint32_t)last))
		return false;
	return !finder->is_chosen || level->node != finder->loop.node ||
		note_pass(finder, level->line, went_back, stamp, stack);
}

/* Returns whether a path goes through a loop. */
static bool is_in_loop(const struct finder *finder, const struct gmt_loop_path *path,
	const struct loop *loop)
{
	const struct gmt_loop_level *levels = gmt_vec_at(&finder->paths.levels, path->first);
	uint32_t depth = finder->paths.nodes.items[loop->node].depth;

	return depth < path->count && levels[depth].node == loop->node &&
		levels[depth].line >= loop->first && levels[depth].line <= loop->last;
}

/* Compares the path of an allocation with the previous path of its thread. */
static bool follow(struct finder *finder, uint32_t thread, uint32_t path_plus_1, uint64_t stamp,
	uint32_t stack)
{
	const struct gmt_loop_path *path = &finder->paths.paths.items[path_plus_1 - 1], *before = NULL;
	const struct gmt_loop_level *levels = gmt_vec_at(&finder->paths.levels, path->first),
								*old = NULL;
	uint64_t index;
	uint32_t level = 0;

	if (!gmt_map_find(&finder->thread_ids, thread, &index)) {
		struct thread *row = gmt_vec_push(&finder->threads);

		index = finder->threads.count - 1;
		if (!row || !gmt_map_put(&finder->thread_ids, thread, index))
			return false;
		*row = (struct thread){ 0 };
	}
	if (finder->threads.items[index].path_plus_1 == path_plus_1)
		return true;
	if (finder->threads.items[index].path_plus_1) {
		before = &finder->paths.paths.items[finder->threads.items[index].path_plus_1 - 1];
		old = gmt_vec_at(&finder->paths.levels, before->first);
	}
	while (before && level < path->count && level < before->count &&
		levels[level].node == old[level].node && levels[level].line == old[level].line)
		level++;
	for (; level < path->count; level++)
		if (!visit(finder, (uint32_t)index, &levels[level], stamp, stack))
			return false;
	finder->threads.items[index].path_plus_1 = path_plus_1;
	return true;
}

static bool visit_alloc(struct finder *finder, const struct gmt_recording_event *event)
{
	uint32_t stack = finder->traces->stack_of_trace[event->trace], path_plus_1;
	struct gmt_loop_path *path;

	if (!gmt_loop_paths_get(&finder->paths, stack, &path_plus_1))
		return false;
	if (!path_plus_1)
		return true;
	path = &finder->paths.paths.items[path_plus_1 - 1];
	if (!finder->is_chosen) {
		path->allocs++;
		finder->allocs++;
	}
	if (!follow(finder, event->thread, path_plus_1, event->stamp, stack))
		return false;
	if (finder->is_chosen && finder->passes.count && is_in_loop(finder, path, &finder->loop)) {
		finder->loop_allocs++;
		finder->last_stamp = event->stamp;
	}
	return true;
}

/* Visits all events: notes edges, or the passes of the chosen loop. */
static bool scan_events(struct finder *finder)
{
	size_t first = finder->recording->compacted_events, count = finder->recording->events.count;

	for (size_t i = first; i < count; i++) {
		const struct gmt_recording_event *event = gmt_events_at(&finder->reader, i);

		if (!gmt_allocation_sequence_includes(finder->recording, event, finder->work_end))
			continue;
		finder->is_second_half = i - first >= (count - first) / 2;
		finder->loop_frees += event->kind == GMT_KIND_FREE && finder->passes.count;
		if (event->kind == GMT_KIND_ALLOC && !visit_alloc(finder, event))
			return false;
	}
	return true;
}

static int by_node_and_line(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return (a->from > b->from) - (a->from < b->from);
}

static int by_node(const void *key, const void *item)
{
	uint32_t node = *(const uint32_t *)key;
	const struct edge *edge = item;

	return (node > edge->node) - (node < edge->node);
}

/* Returns the first of a node's edges, and their number in *ret_count. */
static const struct edge *edges_of(const struct finder *finder, uint32_t node, size_t *ret_count)
{
	const struct edge *edges = finder->edges.items, *end = edges + finder->edges.count, *first,
					  *last;

	*ret_count = 0;
	if (!finder->edges.count ||
		!(first = bsearch(&node, edges, finder->edges.count, sizeof(*edges), by_node)))
		return NULL;
	for (last = first + 1; last < end && last->node == node; last++)
		;
	while (first > edges && first[-1].node == node)
		first--;
	*ret_count = (size_t)(last - first);
	return first;
}

/*
 * Finds the first line at or before which enough passes begin. Returns false if there is no such
 * line.
 */
static bool find_begin(const struct finder *finder, const struct edge *edges, size_t count,
	struct loop *loop)
{
	uint64_t passes = 1, second_half_passes = 0;

	for (size_t i = 0; i < count; i++) {
		passes += edges[i].count;
		second_half_passes += edges[i].second_half_count;
		loop->begin = edges[i].to;
		if ((i + 1 == count || edges[i + 1].to != edges[i].to) && passes >= finder->min_passes &&
			second_half_passes * SECOND_HALF_SHARE >= passes)
			return true;
	}
	return false;
}

/* Returns whether a loop has at least half of all allocations. */
static bool has_half(const struct finder *finder, const struct loop *loop)
{
	uint64_t allocs = 0;

	for (size_t p = 0; p < finder->paths.paths.count; p++)
		allocs += is_in_loop(finder, &finder->paths.paths.items[p], loop)
			? finder->paths.paths.items[p].allocs
			: 0;
	return allocs >= finder->allocs / 2;
}

/*
 * Returns the first line of a function such that half of all allocations lie at or before it. A
 * loop with more than half of the allocations contains this line.
 */
static uint32_t middle_line(const struct finder *finder, uint32_t node)
{
	uint32_t low = 0, high = UINT32_MAX;
	struct loop loop = { .node = node };

	while (low < high) {
		loop.last = low + (high - low) / 2;
		if (has_half(finder, &loop))
			high = loop.last;
		else
			low = loop.last + 1;
	}
	return low;
}

/*
 * Chooses, among the loops of a function that do not overlap, the loop with at least half of all
 * allocations.
 */
static bool choose_in(struct finder *finder, uint32_t node)
{
	size_t count, first = 0;
	const struct edge *edges = edges_of(finder, node, &count);
	uint32_t middle = count ? middle_line(finder, node) : 0;

	while (first < count) {
		struct loop loop = { .node = node, .first = edges[first].to, .last = edges[first].from };
		size_t end = first + 1;

		for (; end < count && edges[end].to <= loop.last; end++)
			loop.last = edges[end].from > loop.last ? edges[end].from : loop.last;
		if (loop.first <= middle && middle <= loop.last) {
			finder->loop = loop;
			return find_begin(finder, edges + first, end - first, &finder->loop) &&
				has_half(finder, &loop);
		}
		first = end;
	}
	return false;
}

/* Searches from the outermost function inward, always in the callee with most allocations. */
static bool choose(struct finder *finder, uint64_t min_passes)
{
	const struct gmt_loop_node *nodes = finder->paths.nodes.items;

	finder->min_passes = min_passes;
	for (uint32_t at = finder->paths.best_plus_1; at && nodes[at - 1].allocs >= finder->allocs / 2;
		at = nodes[at - 1].best_plus_1)
		if (choose_in(finder, at - 1))
			return true;
	return false;
}

/*
 * Joins the parts of a pass, if an expression of several lines makes lines decrease within a pass.
 * Then the stacks at which parts begin repeat with a period, and a period is one pass. Returns
 * false when out of memory.
 */
static bool join_passes(struct finder *finder)
{
	size_t passes = finder->passes.count, period, length, kept = 0;
	GMT_VEC(uint64_t) stacks = { 0 };
	bool done = gmt_vec_reserve(&stacks, passes);

	for (size_t i = 0; done && i < passes; i++)
		stacks.items[i] = finder->passes.items[i].stack;
	done = done && gmt_period_find(stacks.items, passes, &period, &length);
	gmt_vec_fini(&stacks);
	if (!done || period < 2 || period > MAX_PARTS ||
		length * SAME_STACK_DENOMINATOR < passes * SAME_STACK_NUMERATOR)
		return done;
	for (size_t i = (passes - length) % period; i < passes; i += period)
		finder->passes.items[kept++] = finder->passes.items[i];
	finder->passes.count = kept;
	return true;
}

/*
 * Adds passes that were missed. If the program leaves a pass early, it does not reach later lines,
 * so the next pass begins at an equal line. If passes begin with the same stack, and contain it
 * once or twice, each allocation with that stack begins a pass.
 */
static bool add_repeats(struct finder *finder)
{
	uint32_t stack = finder->passes.items[0].stack;
	size_t count = finder->passes.count, pass = 0, begin_with = 0, once = 0, many_times = 0,
		   in_pass = 0;
	GMT_VEC(struct pass) all = { 0 };
	bool done = true;

	for (size_t i = 0; i < count; i++)
		begin_with += finder->passes.items[i].stack == stack;
	if (begin_with * SAME_STACK_DENOMINATOR < count * SAME_STACK_NUMERATOR)
		return true;
	for (size_t i = finder->recording->compacted_events;
		done && i < finder->recording->events.count; i++) {
		const struct gmt_recording_event *event = gmt_events_at(&finder->reader, i);

		if (event->kind != GMT_KIND_ALLOC ||
			!gmt_allocation_sequence_includes(finder->recording, event, finder->work_end) ||
			finder->traces->stack_of_trace[event->trace] != stack ||
			event->stamp < finder->passes.items[0].stamp)
			continue;
		for (; pass < count && finder->passes.items[pass].stamp <= event->stamp; pass++) {
			once += in_pass == 1;
			many_times += in_pass > 2;
			in_pass = 0;
		}
		in_pass++;

		struct pass *row = gmt_vec_push(&all);
		done = row;
		if (done)
			*row = (struct pass){ event->stamp, stack };
	}
	if (done && once * MIN_ONCE >= count && many_times * MANY_TIMES_DIVISOR <= count &&
		all.count > count) {
		gmt_vec_fini(&finder->passes);
		finder->passes.items = all.items;
		finder->passes.count = all.count;
		finder->passes.capacity = all.capacity;
	} else {
		gmt_vec_fini(&all);
	}
	return done;
}

static void name_loop(const struct finder *finder, char *name, size_t size)
{
	const struct gmt_place *place =
		gmt_traces_place(finder->traces, finder->paths.nodes.items[finder->loop.node].place);
	const char *file = gmt_traces_string(finder->traces, place->file), *slash = strrchr(file, '/');

	snprintf(name, size, "%s:%u",
		slash       ? slash + 1
			: *file ? file
					: gmt_traces_string(finder->traces, place->function),
		finder->loop.begin);
}

static bool make_steps(const struct finder *finder, struct gmt_step_series *series)
{
	for (size_t i = 0; i < finder->passes.count; i++) {
		uint64_t begin = finder->passes.items[i].stamp - (finder->passes.items[i].stamp != 0);
		struct gmt_step *before = series->steps.count
			? &series->steps.items[series->steps.count - 1]
			: NULL,
						*step;

		if (before && begin <= before->begin)
			continue;
		if (before)
			before->end = begin;
		step = gmt_vec_push(&series->steps);
		if (!step)
			return false;
		*step = (struct gmt_step){ .begin = begin, .end = finder->last_stamp };
	}
	series->source = GMT_STEPS_LOOP;
	return true;
}

static bool find(struct finder *finder, struct gmt_timeline *timeline,
	struct gmt_step_series *series)
{
	if (!scan_events(finder))
		return false;
	gmt_loop_paths_sum(&finder->paths);
	if (finder->edges.count)
		qsort(finder->edges.items, finder->edges.count, sizeof(*finder->edges.items),
			by_node_and_line);
	finder->is_chosen = choose(finder, MANY_PASSES) || choose(finder, MIN_PASSES);
	if (!finder->is_chosen)
		return true;
	finder->threads.count = 0;
	gmt_map_fini(&finder->thread_ids);
	gmt_map_fini(&finder->last_lines);
	if (!scan_events(finder))
		return false;
	if (!join_passes(finder) || (finder->passes.count && !add_repeats(finder)))
		return false;
	if (finder->passes.count < MIN_PASSES ||
		!gmt_allocation_sequence_frees_enough(finder->loop_frees, finder->loop_allocs))
		return true;
	name_loop(finder, timeline->name_text, sizeof(timeline->name_text));
	series->name = timeline->name_text;
	series->frees_itself = !finder->paths.has_python;
	return make_steps(finder, series);
}

bool gmt_loop_steps_find(const struct gmt_recording *recording, const struct gmt_traces *traces,
	struct gmt_timeline *timeline, struct gmt_step_series *ret_series)
{
	struct finder finder = {
		.recording = recording, .traces = traces, .work_end = timeline->work_end
	};
	bool done = gmt_events_reader_init(&finder.reader, &recording->events,
					GMT_EVENTS_STAMP | GMT_EVENTS_TRACE) &&
		gmt_loop_paths_init(&finder.paths, traces) && find(&finder, timeline, ret_series);

	gmt_events_reader_fini(&finder.reader);
	gmt_loop_paths_fini(&finder.paths);
	gmt_map_fini(&finder.thread_ids);
	gmt_vec_fini(&finder.threads);
	gmt_map_fini(&finder.last_lines);
	gmt_map_fini(&finder.edge_ids);
	gmt_vec_fini(&finder.edges);
	gmt_vec_fini(&finder.passes);
	return done;
}
