/* SPDX-License-Identifier: MIT */
#include "marks/tensor_roles.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "marks/interpreter.h"
#include "marks/tensor_holders.h"
#include "producer/mark.h"

enum {
	INTERVAL_FACTOR = 16,             /* search at steps 1, 2, 16, 256, ... */
	MAX_TENSORS = 20000,   /* recorded per round */
	MAX_MODULES = 100000,
	MAX_DEPTH = 64,        /* nesting of modules */
	MAX_STATE_DEPTH = 3,   /* nesting of lists and dictionaries in an optimizer's state */
	MAX_NAME_BYTES = 250,
};

/* One round: all holders are searched, and their tensors recorded. */
struct scan {
	void *module_type;                    /* torch.nn.Module */
	void *tensor_type, *parameter_type;   /* torch.Tensor, torch.nn.Parameter */
	void *distributed_type; /* torch.distributed.tensor.DTensor; NULL: not imported */
	void *true_object, *plain_type; /* True, type */
	/* address of memory -> last mark recorded for it; see mark_key_of */
	struct gmt_map recorded;
	/* address of a parameter or buffer -> offset of its name in `texts` */
	struct gmt_map names;
	GMT_VEC(char) texts; /* each name ends with a NUL */
	size_t tensors, visited;
	uint32_t holder; /* index of the holder that is being searched */
	bool has_several_models; /* more than one model */
	bool has_memory; /* for these tables */
};

static const struct gmt_interpreter *const py = &gmt_interpreter;

/* Protected by the GIL. The child of a fork keeps its parent's data. */
static unsigned model_count; /* number of models that have a number */

/*
 * Returns whether this is one of PyTorch's own tensor types. Other types may run Python code when
 * asked.
 */
static bool is_plain(const struct scan *scan, void *tensor)
{
	return gmt_interpreter_has_type(tensor, scan->tensor_type) ||
		gmt_interpreter_has_type(tensor, scan->parameter_type);
}

/* Returns the start address of a tensor's memory; 0: it is not on a GPU, or has no memory. */
static uint64_t memory_of(const struct scan *scan, void *tensor)
{
	void *is_cuda = gmt_interpreter_attribute(tensor, "is_cuda");
	void *storage =
		is_cuda == scan->true_object ? gmt_interpreter_result_of(tensor, "untyped_storage") : NULL;
	void *number = storage ? gmt_interpreter_result_of(storage, "data_ptr") : NULL;
	uint64_t address = number ? (uint64_t)(uintptr_t)py->address_of_int(number) : 0;

	py->clear_error();
	gmt_interpreter_release(number);
	gmt_interpreter_release(storage);
	gmt_interpreter_release(is_cuda);
	return address;
}

/* Returns a key for the mark of some memory: the holder, the kind and some bits of the name. */
static uint64_t mark_key_of(const struct scan *scan, enum gmt_mark_kind kind, const char *name)
{
	return (uint64_t)scan->holder << 40 | (uint64_t)kind << 32 |
		(name ? gmt_hash_bytes(name, strlen(name)) & UINT32_MAX : 0);
}

/*
 * Returns whether to record a mark for this memory. Only the first mark of some memory counts.
 * Exception: several tensors of one holder may share the memory, for example one buffer for all
 * gradients.
 */
static bool is_new_mark(const struct scan *scan, uint64_t address, uint64_t mark_key)
{
	uint64_t before;

	return !gmt_map_find(&scan->recorded, address, &before) ||
		(before >> 32 == mark_key >> 32 && before != mark_key);
}

static void record_local_tensor(struct scan *scan, enum gmt_mark_kind kind, void *tensor,
	const char *name)
{
	uint64_t address, mark_key = mark_key_of(scan, kind, name);

	if (!is_plain(scan, tensor))
		return;
	address = memory_of(scan, tensor);
	if (!address || !is_new_mark(scan, address, mark_key) || scan->tensors >= MAX_TENSORS)
		return;
	scan->tensors++;
	scan->has_memory &= gmt_map_put(&scan->recorded, address, mark_key);
	gmt_mark(kind, GMT_MARK_SOURCE_INTERPRETER, name, name ? strlen(name) : 0, address);
}

static void record_tensor(struct scan *scan, enum gmt_mark_kind kind, void *tensor,
	const char *name)
{
	void *local = gmt_interpreter_is_a(tensor, scan->distributed_type)
		? gmt_interpreter_attribute(tensor, "_local_tensor")
		: NULL;

	record_local_tensor(scan, kind, local ? local : tensor, name);
	gmt_interpreter_release(local);
}

static const char *name_of(const struct scan *scan, void *parameter)
{
	uint64_t at;

	return gmt_map_find(&scan->names, (uint64_t)(uintptr_t)parameter, &at) ? scan->texts.items + at
																		   : NULL;
}

static void keep_name(struct scan *scan, void *parameter, const char *name)
{
	size_t length = strlen(name) + 1;

	if (!gmt_vec_reserve(&scan->texts, length) ||
		!gmt_map_put(&scan->names, (uint64_t)(uintptr_t)parameter, scan->texts.count)) {
		scan->has_memory = false;
		return;
	}
	memcpy(scan->texts.items + scan->texts.count, name, length);
	scan->texts.count += length;
}

static void record_parameter(struct scan *scan, void *parameter, const char *name)
{
	void *gradient;

	record_tensor(scan, GMT_MARK_KIND_PARAMETER, parameter, name);
	if (!is_plain(scan, parameter) && !gmt_interpreter_is_a(parameter, scan->distributed_type))
		return;
	gradient = gmt_interpreter_attribute(parameter, "grad");
	if (gradient && gradient != py->none)
		record_tensor(scan, GMT_MARK_KIND_GRADIENT, gradient, name);
	gmt_interpreter_release(gradient);
}

/* Joins "layers.3" and "weight". Returns false if there is no room. */
static bool join(char *to, const char *prefix, void *key)
{
	const char *text = gmt_interpreter_is_a(key, py->text_type) ? py->text_of(key, NULL) : NULL;
	size_t length = strlen(prefix), more = text ? strlen(text) : 0;

	py->clear_error();
	if (!text || length + 1 + more >= MAX_NAME_BYTES)
		return false;
	memcpy(to, prefix, length);
	if (length)
		to[length++] = '.';
	memcpy(to + length, text, more + 1);
	return true;
}

static void record_tensors_of(struct scan *scan, void *dictionary, enum gmt_mark_kind kind,
	const char *prefix)
{
	char name[MAX_NAME_BYTES];
	void *key, *tensor;

	if (!gmt_interpreter_is_a(dictionary, py->dict_type))
		return;
	for (intptr_t at = 0; py->dict_next(dictionary, &at, &key, &tensor);) {
		/*
		 * A tensor that several modules share has its first name, as in PyTorch's
		 * named_parameters().
		 */
		if (tensor == py->none || name_of(scan, tensor) || !join(name, prefix, key))
			continue;
		keep_name(scan, tensor, name);
		if (kind == GMT_MARK_KIND_PARAMETER)
			record_parameter(scan, tensor, name);
		else
			record_tensor(scan, kind, tensor, name);
	}
}

static void record_module(struct scan *scan, void *module, const char *prefix, int depth)
{
	char name[MAX_NAME_BYTES];
	void *modules = gmt_interpreter_own_value(module, "_modules"), *key, *child;

	if (scan->visited++ >= MAX_MODULES || depth > MAX_DEPTH || !scan->has_memory)
		return;
	record_tensors_of(scan, gmt_interpreter_own_value(module, "_parameters"),
		GMT_MARK_KIND_PARAMETER, prefix);
	record_tensors_of(scan, gmt_interpreter_own_value(module, "_buffers"), GMT_MARK_KIND_BUFFER,
		prefix);
	if (!gmt_interpreter_is_a(modules, py->dict_type))
		return;
	for (intptr_t at = 0; py->dict_next(modules, &at, &key, &child);)
		if (gmt_interpreter_is_a(child, scan->module_type) && join(name, prefix, key))
			record_module(scan, child, name, depth + 1);
}

/*
 * Records the tensors of an optimizer's state for one parameter, also inside lists and
 * dictionaries.
 */
static void record_state(struct scan *scan, void *state, const char *name, int depth)
{
	void *key, *value;

	if (gmt_interpreter_is_a(state, py->dict_type) && depth < MAX_STATE_DEPTH) {
		for (intptr_t at = 0; py->dict_next(state, &at, &key, &value);)
			record_state(scan, value, name, depth + 1);
	} else if (gmt_interpreter_is_a(state, py->list_type) && depth < MAX_STATE_DEPTH) {
		for (intptr_t i = 0; i < py->list_size(state); i++)
			record_state(scan, py->list_item(state, i), name, depth + 1);
	} else {
		record_tensor(scan, GMT_MARK_KIND_OPTIMIZER_STATE, state, name);
	}
}

static void record_optimizer(struct scan *scan, void *optimizer)
{
	void *groups = gmt_interpreter_own_value(optimizer, "param_groups"),
		 *state = gmt_interpreter_own_value(optimizer, "state"), *key, *value;

	if (gmt_interpreter_is_a(groups, py->list_type))
		for (intptr_t i = 0; i < py->list_size(groups); i++) {
			void *group = py->list_item(groups, i);
			void *parameters =
				gmt_interpreter_is_a(group, py->dict_type) ? py->dict_find(group, "params") : NULL;

			if (!gmt_interpreter_is_a(parameters, py->list_type))
				continue;
			for (intptr_t j = 0; j < py->list_size(parameters); j++) {
				void *parameter = py->list_item(parameters, j);

				/* A parameter with a name was already recorded with its module. */
				if (!name_of(scan, parameter))
					record_parameter(scan, parameter, NULL);
			}
		}
	if (!gmt_interpreter_is_a(state, py->dict_type))
		return;
	for (intptr_t at = 0; py->dict_next(state, &at, &key, &value);)
		record_state(scan, value, name_of(scan, key), 0);
}

/*
 * Makes a prefix such as "model 2 (Judge)" or "Accuracy". Asks for the class's name only if that
 * runs no code of the program.
 */
static void prefix_of(const struct scan *scan, void *module, unsigned number, char *ret_prefix)
{
	void *type = py->type_of(module);
	void *name = gmt_interpreter_has_type(type, scan->plain_type)
		? gmt_interpreter_attribute(type, "__name__")
		: NULL;
	const char *text = name ? py->text_of(name, NULL) : NULL;

	py->clear_error();
	if (!text)
		text = "a class of its own";
	if (number)
		snprintf(ret_prefix, MAX_NAME_BYTES, "model %u (%.60s)", number, text);
	else
		snprintf(ret_prefix, MAX_NAME_BYTES, "%.60s", text);
	gmt_interpreter_release(name);
	gmt_interpreter_release(type);
}

/*
 * Returns whether the module or a module inside it has a parameter. Losses and metrics have no
 * parameters. `remaining` bounds the work: modules that share or contain each other have more paths
 * than modules.
 */
static bool has_parameter(const struct scan *scan, void *module, int depth, unsigned *remaining)
{
	void *parameters = gmt_interpreter_own_value(module, "_parameters");
	void *modules = gmt_interpreter_own_value(module, "_modules"), *key, *value;

	if (gmt_interpreter_is_a(parameters, py->dict_type))
		for (intptr_t at = 0; py->dict_next(parameters, &at, &key, &value);)
			if (value != py->none)
				return true;
	if (!gmt_interpreter_is_a(modules, py->dict_type) || depth > MAX_DEPTH)
		return false;
	for (intptr_t at = 0; *remaining && py->dict_next(modules, &at, &key, &value);) {
		--*remaining;
		if (gmt_interpreter_is_a(value, scan->module_type) &&
			has_parameter(scan, value, depth + 1, remaining))
			return true;
	}
	return false;
}

static bool is_model(const struct scan *scan, void *module)
{
	unsigned remaining = MAX_MODULES;

	return has_parameter(scan, module, 0, &remaining);
}

static void count_models(struct scan *scan)
{
	int count = 0;

	for (size_t i = 0; i < gmt_tensor_holders_count() && count < 2; i++) {
		struct gmt_tensor_holder *holder = gmt_tensor_holders_at(i);
		void *object =
			holder->kind == GMT_TENSOR_HOLDER_MODULE ? gmt_tensor_holder_object(holder) : NULL;

		count += object && is_model(scan, object);
		gmt_interpreter_release(object);
	}
	scan->has_several_models = count > 1;
}

/*
 * If a model was the only one when it was first searched, its tensors have PyTorch's own names. The
 * names of other models begin with the model, for its whole life. The names of other modules begin
 * with their class.
 */
static void record_root_module(struct scan *scan, struct gmt_tensor_holder *holder, void *module)
{
	char prefix[MAX_NAME_BYTES] = "";

	if (!holder->number && is_model(scan, module)) {
		holder->has_prefix = scan->has_several_models || model_count;
		holder->number = ++model_count;
	}
	if (holder->has_prefix || !holder->number)
		prefix_of(scan, module, holder->number, prefix);
	record_module(scan, module, prefix, 0);
}

/* Modules come first, because they know the parameters' names. */
static void record_all(struct scan *scan)
{
	count_models(scan);
	for (enum gmt_tensor_holder_kind kind = GMT_TENSOR_HOLDER_MODULE;
		kind <= GMT_TENSOR_HOLDER_OPTIMIZER; kind++)
		for (size_t i = 0; i < gmt_tensor_holders_count(); i++) {
			struct gmt_tensor_holder *holder = gmt_tensor_holders_at(i);
			void *object = holder->kind == kind ? gmt_tensor_holder_object(holder) : NULL;

			scan->holder = (uint32_t)i;
			if (object && kind == GMT_TENSOR_HOLDER_MODULE)
				record_root_module(scan, holder, object);
			else if (object)
				record_optimizer(scan, object);
			gmt_interpreter_release(object);
		}
	if (scan->tensors)
		gmt_mark(GMT_MARK_KIND_ROLES, GMT_MARK_SOURCE_INTERPRETER, NULL, 0, scan->tensors);
}

/*
 * Disables __torch_function__: otherwise tensor subclasses and modes of the program would be
 * called. Both methods are written in C.
 */
static void record_without_overrides(struct scan *scan)
{
	void *guard_type = gmt_interpreter_imported("torch._C", "DisableTorchFunction");
	void *guard = guard_type ? py->call(guard_type, NULL) : NULL;
	void *entered = guard ? gmt_interpreter_result_of(guard, "__enter__") : NULL;

	if (entered) {
		void *leave = gmt_interpreter_attribute(guard, "__exit__");

		record_all(scan);
		gmt_interpreter_release(leave ? py->call(leave, py->none, py->none, py->none, NULL) : NULL);
		py->clear_error();
		gmt_interpreter_release(leave);
	}
	gmt_interpreter_release(entered);
	gmt_interpreter_release(guard);
	gmt_interpreter_release(guard_type);
}

static void scan_holders(void *optimizer, bool is_new)
{
	struct scan scan = {
		.module_type = gmt_interpreter_imported("torch.nn.modules.module", "Module"),
		.tensor_type = gmt_interpreter_imported("torch", "Tensor"),
		.parameter_type = gmt_interpreter_imported("torch.nn.parameter", "Parameter"),
		.distributed_type = gmt_interpreter_imported("torch.distributed.tensor", "DTensor"),
		.true_object = gmt_interpreter_imported("builtins", "True"),
		.plain_type = gmt_interpreter_imported("builtins", "type"),
		.has_memory = true,
	};

	if (scan.module_type && scan.tensor_type && scan.parameter_type && scan.true_object) {
		if (is_new)
			gmt_tensor_holders_search(scan.module_type);
		if (optimizer)
			gmt_tensor_holders_remember(optimizer, GMT_TENSOR_HOLDER_OPTIMIZER);
		record_without_overrides(&scan);
	}
	gmt_map_fini(&scan.recorded);
	gmt_map_fini(&scan.names);
	gmt_vec_fini(&scan.texts);
	gmt_interpreter_release(scan.plain_type);
	gmt_interpreter_release(scan.true_object);
	gmt_interpreter_release(scan.distributed_type);
	gmt_interpreter_release(scan.parameter_type);
	gmt_interpreter_release(scan.tensor_type);
	gmt_interpreter_release(scan.module_type);
}

static void scan_undisturbed(void *optimizer, bool is_new)
{
	void *type, *value, *traceback;
	int collected;

	if (!py->gc_disable || !py->gc_enable)
		return;
	collected = py->gc_disable();
	py->fetch_error(&type, &value, &traceback);
	scan_holders(optimizer, is_new);
	py->restore_error(type, value, traceback);
	if (collected)
		py->gc_enable();
}

void gmt_tensor_roles_on_step(void *optimizer, uint64_t step)
{
	uint64_t rest = step;

	while (rest >= INTERVAL_FACTOR && rest % INTERVAL_FACTOR == 0)
		rest /= INTERVAL_FACTOR;
	/*
	 * Also at step 2: some tensors are replaced after the first step, for example by the buckets of
	 * DistributedDataParallel.
	 */
	if (rest == 1 || step == 2)
		scan_undisturbed(optimizer, step == 1);
}

void gmt_tensor_roles_on_end(void)
{
	scan_undisturbed(NULL, !gmt_tensor_holders_were_searched());
}
