/* SPDX-License-Identifier: MIT */
#include "analysis/leaks/leak_graph.h"

#include <string.h>

#include "base/budget.h"
#include "reader/stacks/frame_kinds.h"

enum {
	MAX_SITES = 32,      /* most sites of a finding that are compared with each other */
	/* With fewer blocks, a site may hold only blocks of the last calls, which are in use. */
	MIN_BLOCKS = 3,
	/* Longest path or function name that is searched. torch.nn has no longer names. */
	MAX_NAME_BYTES = 1024,
	/*
	 * A recurrent network returns three tensors: output, hidden state, cell state. A fourth is from
	 * its graph.
	 */
	RECURRENT_SITES = 4,
};

/* A site of a finding. */
struct site {
	uint32_t id;
	size_t blocks;
};

struct sites {
	struct site items[MAX_SITES];
	size_t count;
};

struct stack {
	const uint32_t *places; /* leaf first */
	uint32_t count;
};

static enum gmt_history_moment moment_of(const struct gmt_leak *leak)
{
	if (leak->definition == GMT_LEAK_PHASE)
		return GMT_HISTORY_AT_LAST_PHASE;
	if (leak->definition != GMT_LEAK_GROWTH)
		return GMT_HISTORY_AT_WORK_END;
	return leak->series ? GMT_HISTORY_AT_LAST_STEP_2 : GMT_HISTORY_AT_LAST_STEP;
}

static void count_block(struct sites *sites, uint32_t id)
{
	for (size_t i = 0; i < sites->count; i++)
		if (sites->items[i].id == id) {
			sites->items[i].blocks++;
			return;
		}
	if (sites->count < MAX_SITES)
		sites->items[sites->count++] = (struct site){ id, 1 };
}

/* Finds the sites of a group's blocks. Leaves out sites that left only a few blocks. */
static void find_sites(const struct gmt_leak_builder *builder, const struct gmt_leak *leak,
	struct sites *ret_sites)
{
	const struct gmt_history_block *blocks;
	size_t count = 0, max = 0, kept = 0;

	ret_sites->count = 0;
	blocks = gmt_leak_blocks(builder, moment_of(leak), leak->group, &count);
	for (size_t i = 0; i < count; i++)
		count_block(ret_sites, blocks[i].site);
	for (size_t i = 0; i < ret_sites->count; i++)
		max = ret_sites->items[i].blocks > max ? ret_sites->items[i].blocks : max;
	for (size_t i = 0; i < ret_sites->count; i++)
		if (ret_sites->items[i].blocks >= MIN_BLOCKS && ret_sites->items[i].blocks >= max / 4)
			ret_sites->items[kept++] = ret_sites->items[i];
	ret_sites->count = kept;
}

static struct stack stack_of(const struct gmt_leak_builder *builder, const struct site *site)
{
	struct stack stack;

	stack.places = gmt_traces_stack(builder->traces, builder->replay->site_stacks.items[site->id],
		&stack.count);
	return stack;
}

static bool is_python(const struct gmt_leak_builder *builder, uint32_t place)
{
	return gmt_traces_place(builder->traces, place)->kind == GMT_PLACE_PYTHON;
}

static const char *file_of(const struct gmt_leak_builder *builder, uint32_t place)
{
	return gmt_traces_string(builder->traces, gmt_traces_place(builder->traces, place)->file);
}

static const char *function_of(const struct gmt_leak_builder *builder, uint32_t place)
{
	return gmt_traces_string(builder->traces, gmt_traces_place(builder->traces, place)->function);
}

static bool is_call(const struct gmt_leak_builder *builder, uint32_t place)
{
	const char *file = file_of(builder, place);

	return is_python(builder, place) && strnlen(file, MAX_NAME_BYTES) < MAX_NAME_BYTES &&
		strstr(file, "/torch/nn/modules/module.py");
}

static bool is_call_with_hooks(const struct gmt_leak_builder *builder, uint32_t place)
{
	return is_call(builder, place) && strstr(function_of(builder, place), "inner");
}

/* Returns whether a place is a function of torch.nn that returns one tensor. */
static bool is_of_network(const struct gmt_leak_builder *builder, uint32_t place)
{
	const char *file = file_of(builder, place);

	if (!is_python(builder, place) || strnlen(file, MAX_NAME_BYTES) == MAX_NAME_BYTES ||
		strnlen(function_of(builder, place), MAX_NAME_BYTES) == MAX_NAME_BYTES)
		return false;
	return (strstr(file, "/torch/nn/modules/") || strstr(file, "/torch/nn/functional.py")) &&
		!strstr(file, "/torch/nn/modules/rnn.py") && !strstr(function_of(builder, place), "ulti") &&
		!strstr(function_of(builder, place), "_with_indices");
}

/*
 * Returns whether the Python frames of a stack, from its leaf up to frame `end`, belong to torch.nn
 * and to no module with hooks.
 */
static bool is_plain(const struct gmt_leak_builder *builder, const struct stack *stack,
	uint32_t end)
{
	for (uint32_t i = 0; i < end; i++) {
		uint32_t place = stack->places[i];

		if (!is_python(builder, place))
			continue;
		if (is_call(builder, place) ? is_call_with_hooks(builder, place)
									: !is_of_network(builder, place))
			return false;
	}
	return true;
}

/* Returns how many of the outermost frames two stacks share. */
static uint32_t shared_frames(const struct stack *a, const struct stack *b)
{
	uint32_t shared = 0;

	while (shared < a->count && shared < b->count &&
		a->places[a->count - 1 - shared] == b->places[b->count - 1 - shared])
		shared++;
	return shared;
}

/*
 * Returns the innermost of the shared Python frames that does not call a module. Returns UINT32_MAX
 * if there is no such frame, or if a hook sees the tensors made in deeper calls.
 */
static uint32_t common_function(const struct gmt_leak_builder *builder, const struct stack *stack,
	uint32_t shared)
{
	for (uint32_t i = stack->count - shared; i < stack->count; i++) {
		if (is_call_with_hooks(builder, stack->places[i]))
			return UINT32_MAX;
		if (is_python(builder, stack->places[i]) && !is_call(builder, stack->places[i]))
			return stack->places[i];
	}
	return UINT32_MAX;
}

/*
 * Returns whether two stacks diverge within one call of a function of torch.nn, or at two lines of
 * it.
 */
static bool is_one_call(const struct gmt_leak_builder *builder, const struct stack *a,
	const struct stack *b)
{
	uint32_t shared, inner_a, inner_b, function;

	if (!gmt_budget_spend_work((uint64_t)a->count + b->count, GMT_BUDGET_GRAPHS))
		return false;
	shared = shared_frames(a, b);
	inner_a = a->count - shared;
	inner_b = b->count - shared;

	if (!inner_a || !inner_b || !is_plain(builder, a, inner_a) || !is_plain(builder, b, inner_b))
		return false;
	function = common_function(builder, a, shared);
	if (function != UINT32_MAX && is_of_network(builder, function))
		return true;
	/* The same function at another line. The Python frames of both stacks are contiguous. */
	return is_of_network(builder, a->places[inner_a - 1]) &&
		is_of_network(builder, b->places[inner_b - 1]) &&
		strcmp(file_of(builder, a->places[inner_a - 1]),
			file_of(builder, b->places[inner_b - 1])) == 0 &&
		strcmp(function_of(builder, a->places[inner_a - 1]),
			function_of(builder, b->places[inner_b - 1])) == 0;
}

static uint32_t frame_kinds_of(const struct gmt_leak_builder *builder, const struct site *site)
{
	return builder->traces->stack_frame_kinds.items[builder->replay->site_stacks.items[site->id]];
}

/* Returns whether a recurrent network left more tensors than it returns. */
static bool is_recurrent_graph(const struct gmt_leak_builder *builder, const struct sites *sites)
{
	size_t count = 0;

	for (size_t i = 0; i < sites->count; i++)
		count += (frame_kinds_of(builder, &sites->items[i]) & GMT_FRAME_KIND_BIT(RECURRENT)) != 0;
	return count >= RECURRENT_SITES;
}

static bool are_of_graph(const struct gmt_leak_builder *builder, const struct sites *sites)
{
	for (size_t i = 0; i < sites->count; i++)
		for (size_t j = i + 1; j < sites->count; j++) {
			struct stack a = stack_of(builder, &sites->items[i]),
						 b = stack_of(builder, &sites->items[j]);

			if (is_one_call(builder, &a, &b))
				return true;
		}
	return is_recurrent_graph(builder, sites);
}

struct gmt_leak_stacks_summary gmt_leak_allocating_stacks(const struct gmt_leak_builder *builder,
	const struct gmt_leak *leak)
{
	struct gmt_leak_stacks_summary allocating_stacks = {
		.frame_kinds = builder->traces->stack_frame_kinds.items[leak->stack]
	};
	struct sites sites;

	if (leak->sites < 2)
		return allocating_stacks;
	find_sites(builder, leak, &sites);
	for (size_t i = 0; i < sites.count; i++)
		allocating_stacks.frame_kinds |= frame_kinds_of(builder, &sites.items[i]);
	allocating_stacks.has_graph = are_of_graph(builder, &sites);
	return allocating_stacks;
}
