/* SPDX-License-Identifier: MIT */
/* The usual causes, in plain words, each with the evidence that it needs. The first that fits is told. */
#include <stddef.h>

#include "analysis/leak_groups.h"
#include "model/landmarks.h"

/* What is known about a finding. */
struct evidence {
	const struct gmt_leak *leak;
	uint32_t landmarks;       /* of the stack that stands for it */
	bool is_growth;
	bool is_torch;            /* a block of PyTorch's */
	bool is_evaluation;       /* counted in calls of a module, not in steps of an optimizer */
	bool replaced;            /* one block, that is larger from step to step */
	uint64_t bytes_per_block;
	uint32_t burst_blocks;
};

enum { SCALAR_BYTES = 512 }; /* the smallest block of PyTorch's allocator */

#define HAS(evidence, NAME) ((evidence)->landmarks & GMT_LANDMARK_BIT(NAME))

static bool is_category(const struct evidence *evidence, enum gmt_category category)
{
	return evidence->is_torch && evidence->leak->category == category;
}

static bool is_pinned(const struct evidence *evidence)
{
	return evidence->is_growth && evidence->leak->device == GMT_DEVICE_HOST;
}

static bool is_of_heap(const struct evidence *evidence)
{
	return evidence->leak->layer == GMT_LAYER_CUSTOM;
}

static bool is_driver(const struct evidence *evidence)
{
	return !evidence->is_torch;
}

static bool ends_in_bursts(const struct evidence *evidence)
{
	return evidence->burst_blocks >= 3;
}

static bool is_replaced(const struct evidence *evidence)
{
	return evidence->replaced;
}

static bool is_parameters(const struct evidence *evidence)
{
	return is_category(evidence, GMT_CATEGORY_PARAMETERS);
}

static bool is_gradients(const struct evidence *evidence)
{
	return is_category(evidence, GMT_CATEGORY_GRADIENTS) && !HAS(evidence, CHECKPOINT);
}

static bool is_optimizer_state(const struct evidence *evidence)
{
	return is_category(evidence, GMT_CATEGORY_OPTIMIZER);
}

static bool is_checkpoint(const struct evidence *evidence)
{
	return HAS(evidence, CHECKPOINT);
}

static bool is_recurrent(const struct evidence *evidence)
{
	return HAS(evidence, RECURRENT) && !evidence->is_evaluation;
}

static bool is_kept_in_evaluation(const struct evidence *evidence)
{
	return evidence->is_evaluation &&
		evidence->leak->landmarks & GMT_LANDMARK_BIT(MODULE_CALL);
}

static bool is_loss(const struct evidence *evidence)
{
	return HAS(evidence, LOSS);
}

static bool is_scalar(const struct evidence *evidence)
{
	return is_category(evidence, GMT_CATEGORY_ACTIVATIONS) && evidence->bytes_per_block <= SCALAR_BYTES;
}

static bool is_activations(const struct evidence *evidence)
{
	return is_category(evidence, GMT_CATEGORY_ACTIVATIONS);
}

/* A result that holds its graph holds the inputs too; together they are from the call of a module. */
static bool is_call_kept(const struct evidence *evidence)
{
	return evidence->is_torch && evidence->leak->landmarks & GMT_LANDMARK_BIT(MODULE_CALL);
}

static bool is_call_kept_after_phase(const struct evidence *evidence)
{
	return evidence->leak->definition == GMT_LEAK_PHASE && is_call_kept(evidence);
}

static bool is_inputs(const struct evidence *evidence)
{
	return is_category(evidence, GMT_CATEGORY_INPUTS);
}

static const struct {
	bool (*fits)(const struct evidence *evidence);
	const char *text;
} causes[] = {
	{ is_pinned, "pinned host memory is kept: buffers or batches made with pin_memory are held in a list or a "
		"queue that grows" },
	{ is_of_heap, "blocks of a pool of the program's own are not given back to it: look for the call that should, "
		"or for a pool that does not tell of it (gpumemtrace_subfree)" },
	{ is_driver, "memory that came from the CUDA driver without PyTorch is never freed: look for the call that "
		"should free it" },
	{ ends_in_bursts, "blocks of several steps ended at one go, with no allocation between: looks like a "
		"reference cycle that waits for Python's collector" },
	{ is_replaced, "one block is replaced by a larger one in each step: looks like a tensor that is appended to "
		"(torch.cat onto itself) or a cache that is copied" },
	{ is_checkpoint, "made inside a checkpointed function and kept outside of it: what checkpointing saves is "
		"held by another reference" },
	{ is_recurrent, "made in a recurrent network and kept over steps: looks like a hidden state that carries its "
		"graph along; detach() it between steps" },
	{ is_parameters, "modules are built or moved in each step and kept: look for a list, a closure or a hook that "
		"holds them" },
	{ is_gradients, "gradients of earlier steps are kept: the tensors or modules that they belong to are still "
		"referenced" },
	{ is_optimizer_state, "the optimizer holds state for parameters of earlier steps: new ones are given to it "
		"again and again" },
	{ is_call_kept_after_phase, "results of a model are kept after the phase that they were made in: evaluate under "
		"torch.no_grad(), and keep what is needed as numbers or on the CPU" },
	{ is_kept_in_evaluation, "kept from calls that no backward pass follows: outputs are kept with their graph; "
		"evaluate under torch.no_grad(), and keep what is needed as numbers or on the CPU" },
	{ is_loss, "the loss is kept as a tensor, and with it the graph that made it: keep loss.item() or "
		"loss.detach() instead" },
	{ is_scalar, "a small tensor of each step is kept, and with it the graph that made it: keep its .item() or "
		".detach()" },
	{ is_activations, "results of the model are kept from step to step: a list, a cache or a hook holds them, or a "
		"tensor that is kept holds the graph they were made in" },
	{ is_call_kept, "inputs and results of a model are kept from step to step: a result that is kept holds the "
		"graph it was made in, and all that went into it" },
	{ is_inputs, "tensors that the program made or copied to the device are kept from step to step: look for a "
		"list or a cache of them" },
};

const char *gmt_leak_hint(const struct gmt_leak_maker *maker, const struct gmt_leak *leak)
{
	struct evidence evidence;

	if (leak->stack == GMT_LEAK_NO_STACK)
		return NULL;
	evidence = (struct evidence){
		.leak = leak,
		.landmarks = maker->traces->stack_landmarks.items[leak->stack],
		.is_torch = leak->layer == GMT_LAYER_TORCH ||
			(leak->space == GMT_SPACE_POOL && leak->landmarks & GMT_LANDMARK_BIT(CACHE)),
		.is_growth = leak->definition == GMT_LEAK_GROWTH,
		.is_evaluation = leak->definition == GMT_LEAK_GROWTH &&
			maker->timeline->series[leak->series].source == GMT_STEPS_FORWARD &&
			/* In training without an optimizer, calls are steps too. */
			(maker->timeline->series_count > 1 || !maker->has_backward),
		.replaced = leak->replaced,
		.bytes_per_block = leak->bytes / leak->blocks,
		.burst_blocks = leak->burst_blocks,
	};

	/* What the driver holds is alive at the end of many sound programs. */
	if (!evidence.is_growth && leak->definition != GMT_LEAK_PHASE && !is_driver(&evidence))
		return NULL;
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		if (causes[i].fits(&evidence))
			return causes[i].text;
	return NULL;
}
