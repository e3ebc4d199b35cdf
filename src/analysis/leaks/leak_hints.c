/* SPDX-License-Identifier: MIT */
/*
 * The usual causes of a leak as hints to the user, each with the evidence that it needs. The first
 * cause that fits is reported.
 */
#include <stddef.h>
#include <string.h>

#include "analysis/leaks/leak_graph.h"
#include "analysis/leaks/leak_groups.h"
#include "reader/stacks/frame_kinds.h"

/* How the memory of a finding's lines ends. */
enum ending {
	NEVER_FREED,
	/*
	 * All blocks lived to the end of the program's work. Some were freed before the recording
	 * ended.
	 */
	FREED_AT_EXIT,
	PARTLY_FREED,  /* the program freed some blocks */
	ALL_FREED,     /* the program freed all blocks before the end of its work */
	/*
	 * The recording was compacted after the end of the work, so only the blocks at the end of the
	 * recording are known.
	 */
	NOT_KNOWN,
};

/* What is known about a finding. */
struct evidence {
	const struct gmt_leak *leak;
	uint32_t frame_kinds;       /* frame kinds of the stack that stands for the finding */
	uint32_t allocating_frame_kinds;     /* frame kinds of all stacks that left blocks */
	bool has_graph;           /* a graph holds blocks of the finding */
	bool is_growth;
	bool is_torch;            /* PyTorch's blocks */
	bool is_framework;        /* blocks of a library with its own allocators */
	bool is_evaluation;       /* the steps are calls of a module, not steps of an optimizer */
	bool is_within_module;    /* the own line is in the code of a module */
	bool are_results_kept;    /* this or another finding is about results of a model */
	enum ending ending;       /* set only for blocks that are not PyTorch's */
	uint64_t bytes_per_block;
};

enum { SCALAR_BYTES = 512 }; /* smallest block of PyTorch's allocator */

#define HAS(evidence, NAME) ((evidence)->frame_kinds & GMT_FRAME_KIND_BIT(NAME))
#define ALLOCATING_STACKS_HAVE(evidence, NAME) \
	((evidence)->allocating_frame_kinds & GMT_FRAME_KIND_BIT(NAME))

static bool is_category(const struct evidence *evidence, enum gmt_category category)
{
	return evidence->is_torch && evidence->leak->category == category;
}

static bool is_joined(const struct evidence *evidence)
{
	return evidence->leak->replaced && ALLOCATING_STACKS_HAVE(evidence, CAT);
}

static bool is_replaced(const struct evidence *evidence)
{
	return evidence->leak->replaced;
}

static bool is_pinned(const struct evidence *evidence)
{
	return evidence->is_growth && evidence->leak->device == GMT_DEVICE_HOST &&
		ALLOCATING_STACKS_HAVE(evidence, HOST_CACHE);
}

static bool is_of_heap(const struct evidence *evidence)
{
	return evidence->leak->layer == GMT_LAYER_CUSTOM && evidence->ending == NEVER_FREED;
}

static bool is_partly_of_heap(const struct evidence *evidence)
{
	return evidence->leak->layer == GMT_LAYER_CUSTOM && evidence->ending == PARTLY_FREED;
}

/*
 * Returns whether the program, or a library without its own allocator, got this memory from the
 * driver.
 */
static bool is_driver(const struct evidence *evidence)
{
	return !evidence->is_torch && !evidence->is_framework &&
		evidence->leak->layer != GMT_LAYER_CUSTOM &&
		!ALLOCATING_STACKS_HAVE(evidence, HOST_CACHE) && !ALLOCATING_STACKS_HAVE(evidence, CACHE) &&
		!ALLOCATING_STACKS_HAVE(evidence, LIBRARY);
}

static bool is_never_freed(const struct evidence *evidence)
{
	return is_driver(evidence) && evidence->ending == NEVER_FREED;
}

static bool is_freed_at_exit(const struct evidence *evidence)
{
	return is_driver(evidence) && evidence->ending == FREED_AT_EXIT;
}

static bool is_partly_freed(const struct evidence *evidence)
{
	return is_driver(evidence) && evidence->ending == PARTLY_FREED;
}

static bool is_freed_late(const struct evidence *evidence)
{
	return is_driver(evidence) && evidence->ending == ALL_FREED;
}

static bool is_parameters(const struct evidence *evidence)
{
	return is_category(evidence, GMT_CATEGORY_PARAMETERS) ||
		is_category(evidence, GMT_CATEGORY_BUFFERS);
}

static bool is_gradients(const struct evidence *evidence)
{
	return (is_category(evidence, GMT_CATEGORY_GRADIENTS) ||
			   is_category(evidence, GMT_CATEGORY_BACKWARD_RESULTS) ||
			   is_category(evidence, GMT_CATEGORY_TEMPORARIES)) &&
		!HAS(evidence, CHECKPOINT);
}

static bool is_optimizer_state(const struct evidence *evidence)
{
	return is_category(evidence, GMT_CATEGORY_OPTIMIZER);
}

static bool is_checkpoint(const struct evidence *evidence)
{
	return evidence->is_torch && HAS(evidence, CHECKPOINT);
}

static bool is_recurrent(const struct evidence *evidence)
{
	return evidence->is_torch && HAS(evidence, RECURRENT) && !evidence->is_evaluation;
}

static bool is_recurrent_graph(const struct evidence *evidence)
{
	return evidence->has_graph && is_recurrent(evidence);
}

static bool is_call(const struct evidence *evidence)
{
	return evidence->is_torch && ALLOCATING_STACKS_HAVE(evidence, MODULE_CALL);
}

static bool is_call_after_phase(const struct evidence *evidence)
{
	return evidence->leak->definition == GMT_LEAK_PHASE && is_call(evidence);
}

static bool is_graph_after_phase(const struct evidence *evidence)
{
	return evidence->has_graph && is_call_after_phase(evidence);
}

static bool is_graph_of_evaluation(const struct evidence *evidence)
{
	return evidence->has_graph && evidence->is_evaluation && is_call(evidence);
}

static bool is_loss(const struct evidence *evidence)
{
	return evidence->is_torch && HAS(evidence, LOSS);
}

static bool is_graph_of_loss(const struct evidence *evidence)
{
	return evidence->has_graph && is_loss(evidence);
}

static bool is_scalar_loss(const struct evidence *evidence)
{
	return is_loss(evidence) && evidence->bytes_per_block <= SCALAR_BYTES;
}

static bool is_activations(const struct evidence *evidence)
{
	return is_category(evidence, GMT_CATEGORY_ACTIVATIONS);
}

/* Returns whether the blocks are small results of operators, of either category. */
static bool is_scalar(const struct evidence *evidence)
{
	bool is_result = is_activations(evidence) ||
		(is_category(evidence, GMT_CATEGORY_INPUTS) && !HAS(evidence, FACTORY));

	return is_result && HAS(evidence, OPERATOR) && evidence->bytes_per_block <= SCALAR_BYTES;
}

static bool is_graph_of_call(const struct evidence *evidence)
{
	return evidence->has_graph && is_call(evidence);
}

static bool is_within_module(const struct evidence *evidence)
{
	return is_activations(evidence) && is_call(evidence) && evidence->is_within_module;
}

static bool is_result_of_call(const struct evidence *evidence)
{
	return is_activations(evidence) && is_call(evidence);
}

static bool is_inputs(const struct evidence *evidence)
{
	return is_category(evidence, GMT_CATEGORY_INPUTS);
}

static bool is_inputs_next_to_results(const struct evidence *evidence)
{
	return is_inputs(evidence) && evidence->are_results_kept;
}

static const struct {
	bool (*fits)(const struct evidence *evidence);
	const char *text;
} causes[] = {
	{ is_joined,
		"a larger block replaces a smaller one repeatedly: "
		"the program probably appends to a tensor (x = torch.cat([x, ...]))" },
	{ is_replaced,
		"a larger block replaces a smaller one repeatedly: "
		"the program probably copies a buffer or a cache to a larger one" },
	{ is_pinned,
		"PyTorch's pinned host memory is kept: look for a list or a queue that holds tensors "
		"created with pin_memory" },
	{ is_of_heap,
		"blocks of the program's own pool are not returned to it: "
		"add the missing call, or let the pool report its frees (gpumemtrace_subfree)" },
	{ is_partly_of_heap,
		"some blocks that this line took from the program's own pool are not returned to it: "
		"look for the code path that keeps them" },
	{ is_never_freed,
		"memory from the CUDA driver (not from PyTorch) is never freed: add the missing free" },
	{ is_freed_at_exit,
		"memory from the CUDA driver (not from PyTorch) is freed only after the end of the "
		"program's work" },
	{ is_partly_freed,
		"some of the memory that this line got from the CUDA driver is not freed: "
		"look for the code path that does not free it" },
	{ is_freed_late,
		"memory from the CUDA driver (not from PyTorch) is kept from step to step and freed late: "
		"free it earlier" },
	{ is_checkpoint,
		"allocated inside a checkpointed function and kept: "
		"look for a list, a cache or a hook in that function that holds it" },
	{ is_recurrent_graph,
		"allocated in a recurrent network and kept with its graph across steps: "
		"detach() the hidden state between steps" },
	{ is_recurrent,
		"allocated in a recurrent network and kept across steps: "
		"look for a hidden state without detach(), or for a list of outputs" },
	{ is_parameters,
		"modules are created, copied or moved repeatedly, and kept: "
		"look for references to the earlier ones" },
	{ is_gradients,
		"allocated in a backward pass and kept: look for a list or a hook that holds gradients, "
		"or for references to tensors and modules of earlier steps" },
	{ is_optimizer_state,
		"allocated in an optimizer's step and kept: "
		"look for parameters that are added repeatedly, or for references to earlier optimizers" },
	{ is_graph_after_phase,
		"results of a model are kept with their graph after the phase: "
		"evaluate under torch.no_grad(), and keep results as numbers or on the CPU" },
	{ is_call_after_phase,
		"results of a model are kept after the phase: keep them as numbers or on the CPU" },
	{ is_graph_of_evaluation,
		"outputs are kept with their graph, and no backward pass follows: "
		"evaluate under torch.no_grad(), and keep results as numbers or on the CPU" },
	{ is_graph_of_loss,
		"the loss is kept as a tensor, together with the graph that made it: "
		"keep loss.item() or loss.detach() instead" },
	{ is_scalar_loss,
		"the loss is kept as a tensor on the device: keep it as a number (loss.item()) or on the "
		"CPU" },
	{ is_loss, "loss values are kept on the device: keep them as numbers or on the CPU" },
	{ is_graph_of_call,
		"results of a model are kept from step to step, together with the graph that made them: "
		"detach() them, or keep them as numbers or on the CPU" },
	{ is_scalar,
		"small tensors are kept from step to step: keep them as numbers (.item()) or on the CPU" },
	{ is_within_module,
		"allocated in a module's own code and kept from step to step: "
		"look for a list, a cache or a hook that holds it, or for a later result kept without "
		"detach()" },
	{ is_result_of_call,
		"results of a model are kept from step to step: look for a list, a cache or a hook that "
		"holds them" },
	{ is_activations,
		"results of operators are kept from step to step: look for a list, a cache or a hook that "
		"holds them" },
	{ is_inputs_next_to_results,
		"tensors that the program created or copied to the device are kept from step to step: "
		"look for a list or a cache of them, or for results of a model kept without detach()" },
	{ is_inputs,
		"tensors that the program created or copied to the device are kept from step to step: "
		"look for a list or a cache of them" },
};

/* Data that the hints of all findings share. */
struct hints {
	struct gmt_leak_builder *builder;
	GMT_VEC(uint64_t) alloc_counts; /* by group: number of allocations at all its sites */
	bool has_backward;      /* a backward pass was recorded */
	bool are_results_kept;
};

/* Returns whether a library passes each request of the program on to the driver. */
static bool is_binding(const char *owner)
{
	static const char *const bindings[] = { "cuda-python", "Numba", "PyCUDA" };

	for (size_t i = 0; i < sizeof(bindings) / sizeof(*bindings); i++)
		if (strcmp(owner, bindings[i]) == 0)
			return true;
	return false;
}

/*
 * Returns whether the rules of owners know the owner of a finding's memory by name. Such a library
 * may keep memory for reuse.
 */
static bool is_of_framework(const struct gmt_leak_builder *builder, const struct gmt_leak *leak)
{
	const struct gmt_owners *owners = &builder->traces->owners;
	const char *name =
		gmt_owners_name(owners, gmt_owners_find(owners, leak->stack, leak->layer, leak->device));

	for (size_t i = 0; i < owners->rules->rows.count && !is_binding(name); i++)
		if (owners->rules->rows.items[i].action != GMT_OWNER_SKIP &&
			strcmp(owners->rules->rows.items[i].name, name) == 0)
			return true;
	return false;
}

static bool is_still_there(const struct gmt_leak_builder *builder,
	const struct gmt_history_block *block)
{
	const struct gmt_accounting *accounting = &builder->replay->accounting;
	uint8_t space =
		(uint8_t)accounting->spaces.items[accounting->sites.items[block->site].space].space;
	const struct gmt_account_block *live =
		gmt_accounting_find(accounting, block->layer, space, block->address);

	return live && live->stamp == block->stamp;
}

/* Returns how the blocks of a finding's lines ended. */
static enum ending ending_of(const struct hints *hints, const struct gmt_leak *leak)
{
	size_t count;
	const struct gmt_history_block *blocks =
		gmt_leak_blocks(hints->builder, GMT_HISTORY_AT_WORK_END, leak->group, &count);

	if (!hints->builder->history->captures[GMT_HISTORY_AT_WORK_END].taken ||
		(hints->builder->recording->compacted.exists &&
			hints->builder->recording->compacted.cut_stamp > hints->builder->timeline->work_end))
		return NOT_KNOWN;
	if (!count)
		return ALL_FREED;
	if (hints->alloc_counts.items[leak->group] > count)
		return PARTLY_FREED;
	for (size_t i = 0; i < count; i++)
		if (!is_still_there(hints->builder, &blocks[i]))
			return FREED_AT_EXIT;
	return NEVER_FREED;
}

/* Returns whether a module calls the own line of a stack. */
static bool is_line_within_module(const struct gmt_leak_builder *builder,
	const struct gmt_leak *leak)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(builder->traces, leak->stack, &count);

	for (uint32_t i = leak->own_line + 1; i < count; i++)
		if (builder->traces->place_frame_kinds.items[places[i]] & GMT_FRAME_KIND_BIT(MODULE_CALL))
			return true;
	return false;
}

static const char *hint_of(const struct hints *hints, const struct gmt_leak *leak)
{
	const struct gmt_leak_builder *builder = hints->builder;
	struct gmt_leak_stacks_summary allocating_stacks = gmt_leak_allocating_stacks(builder, leak);
	struct evidence evidence = {
		.leak = leak,
		.frame_kinds = builder->traces->stack_frame_kinds.items[leak->stack],
		.allocating_frame_kinds = allocating_stacks.frame_kinds,
		.has_graph = allocating_stacks.has_graph,
		.is_torch = builder->groups.items[leak->group].is_torch,
		.is_growth = leak->definition == GMT_LEAK_GROWTH,
		.is_evaluation = leak->definition == GMT_LEAK_GROWTH &&
			gmt_steps_are_inferred(builder->timeline->series[leak->series].source) &&
			/* In training without an optimizer, calls of modules are the steps too. */
			(builder->timeline->series_count > 1 || !hints->has_backward),
		.is_within_module = is_line_within_module(builder, leak),
		.are_results_kept = hints->are_results_kept,
		.bytes_per_block = leak->blocks ? leak->bytes / leak->blocks : UINT64_MAX,
	};

	/*
	 * Many correct programs hold blocks until they end. So PyTorch's blocks get a hint only by
	 * growth and phase.
	 */
	if (evidence.is_torch && !evidence.is_growth && leak->definition != GMT_LEAK_PHASE)
		return NULL;
	if (!evidence.is_torch) {
		evidence.is_framework = is_of_framework(builder, leak);
		evidence.ending = ending_of(hints, leak);
	}
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		if (causes[i].fits(&evidence))
			return causes[i].text;
	return NULL;
}

static bool prepare_hints(struct hints *hints)
{
	const struct gmt_leak_builder *builder = hints->builder;

	/* The reserved memory is zeroed. One extra entry, because there may be no group. */
	if (!gmt_vec_reserve(&hints->alloc_counts, builder->groups.count + 1))
		return false;
	for (uint32_t site = 0; site < builder->replay->accounting.sites.count; site++)
		if (builder->group_plus_1_of.items[site])
			hints->alloc_counts.items[builder->group_plus_1_of.items[site] - 1] +=
				builder->replay->accounting.sites.items[site].alloc_count;
	for (size_t i = 0; i < builder->traces->stack_frame_kinds.count && !hints->has_backward; i++)
		hints->has_backward =
			builder->traces->stack_frame_kinds.items[i] & GMT_FRAME_KIND_BIT(BACKWARD);
	for (size_t i = 0; i < builder->leaks->rows.count && !hints->are_results_kept; i++) {
		const struct gmt_leak *leak = &builder->leaks->rows.items[i];

		hints->are_results_kept = leak->stack != GMT_LEAK_NO_STACK &&
			leak->category == GMT_CATEGORY_ACTIVATIONS &&
			builder->traces->stack_frame_kinds.items[leak->stack] & GMT_FRAME_KIND_BIT(MODULE_CALL);
	}
	return true;
}

bool gmt_leak_add_hints(struct gmt_leak_builder *builder)
{
	struct hints hints = { .builder = builder };
	bool done = prepare_hints(&hints);

	for (size_t i = 0; done && i < builder->leaks->rows.count; i++) {
		struct gmt_leak *leak = &builder->leaks->rows.items[i];

		if (leak->stack != GMT_LEAK_NO_STACK)
			leak->hint = hint_of(&hints, leak);
	}
	gmt_vec_fini(&hints.alloc_counts);
	return done;
}
