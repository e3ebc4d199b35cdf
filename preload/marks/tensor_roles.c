/* SPDX-License-Identifier: MIT */
#include "marks/tensor_roles.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "containers/map.h"
#include "containers/vec.h"
#include "marks/interpreter.h"
#include "marks/tensor_holders.h"
#include "producer/mark.h"

enum {
	INTERVAL_FACTOR = 16,  /* scan at steps 1, 2, 16, 256, ... */
	MAX_TENSORS = 20000,   /* recorded per scan */
	MAX_STATE_DEPTH = 3,   /* nesting of lists and dictionaries in an optimizer's state */
	MAX_NAME_BYTES = 250,
	MAX_CLASS_BYTES = 60,  /* of a class's name */
};

/* One scan: all holders are searched, and their tensors recorded. */
struct scan {
	void *module_type;                    /* torch.nn.Module */
	void *tensor_type, *parameter_type;   /* torch.Tensor, torch.nn.Parameter */
	void *distributed_type; /* torch.distributed.tensor.DTensor; NULL: not imported */
	void *true_object, *type_type; /* True, type: the class of most classes */
	/* start address of a tensor's memory -> key of the last mark recorded for it (mark_key_of) */
	struct gmt_map recorded;
	/* address of a parameter or buffer -> offset of its name in `texts` */
	struct gmt_map names;
	GMT_VEC(char) texts; /* each name ends with a NUL */
	size_t recorded_tensors, visited_modules;
	uint32_t holder; /* index of the holder that is being searched */
	struct gmt_map stepped; /* addresses of the parameters of the optimizer whose step has ended */
	bool is_only_thread; /* no other thread runs Python code */
	bool has_several_models;
	bool has_memory; /* false: an allocation for these tables failed */
};

static const struct gmt_interpreter *const py = &gmt_interpreter;

/* Protected by the GIL. The child of a fork keeps its parent's data. */
static unsigned model_count; /* number of models that have a number */

/*
 * Returns whether the object is a torch.Tensor or a torch.nn.Parameter, not a subclass. Reading the
 * attributes of a subclass may run Python code.
 */
static bool is_torch_tensor(const struct scan *scan, void *tensor)
{
	return gmt_interpreter_has_type(tensor, scan->tensor_type) ||
		gmt_interpreter_has_type(tensor, scan->parameter_type);
}

/* Returns the start address of a tensor's memory; 0: it is not on a GPU, or has no memory. */
static uint64_t memory_of(const struct scan *scan, void *tensor)
{
	void *is_cuda = gmt_interpreter_attribute(tensor, "is_cuda");
	void *storage = is_cuda == scan->true_object
		? gmt_interpreter_call_method(tensor, "untyped_storage")
		: NULL;
	void *number = storage ? gmt_interpreter_call_method(storage, "data_ptr") : NULL;
	uint64_t address = number ? (uint64_t)(uintptr_t)py->address_of_int(number) : 0;

	py->clear_error();
	gmt_interpreter_release(number);
	gmt_interpreter_release(storage);
	gmt_interpreter_release(is_cuda);
	return address;
}

/* Returns a key for a mark: the holder, the kind and 32 bits of the name's hash. */
static uint64_t mark_key_of(const struct scan *scan, enum gmt_mark_kind kind, const char *name)
{
	return (uint64_t)scan->holder << 40 | (uint64_t)kind << 32 |
		(name ? gmt_hash_bytes(name, strlen(name)) & UINT32_MAX : 0);
}

/*
 * Returns whether to record a mark for the memory at `address`. In general, only the first mark of
 * an address is recorded. But several tensors of one holder and one kind may share the memory: for
 * example, all gradients are in one buffer.
 */
static bool is_new_mark(const struct scan *scan, uint64_t address, uint64_t mark_key)
{
	uint64_t last_key;

	return !gmt_map_find(&scan->recorded, address, &last_key) ||
		(last_key >> 32 == mark_key >> 32 && last_key != mark_key);
}

static void record_local_tensor(struct scan *scan, enum gmt_mark_kind kind, void *tensor,
	const char *name)
{
	uint64_t address, mark_key = mark_key_of(scan, kind, name);

	if (!is_torch_tensor(scan, tensor))
		return;
	address = memory_of(scan, tensor);
	if (!address || !is_new_mark(scan, address, mark_key) || scan->recorded_tensors >= MAX_TENSORS)
		return;
	scan->recorded_tensors++;
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

/*
 * Returns whether the gradient of a parameter may be read. PyTorch writes gradients without the GIL
 * while another thread is in `backward()`, and a read at that time crashes. The gradients of the
 * optimizer whose step has ended are safe: the step has just read them itself, in this thread.
 */
static bool is_gradient_readable(const struct scan *scan, void *parameter)
{
	uint64_t unused;

	return scan->is_only_thread ||
		gmt_map_find(&scan->stepped, (uint64_t)(uintptr_t)parameter, &unused);
}

static void record_parameter(struct scan *scan, void *parameter, const char *name)
{
	void *gradient;

	record_tensor(scan, GMT_MARK_KIND_PARAMETER, parameter, name);
	if (!is_torch_tensor(scan, parameter) &&
		!gmt_interpreter_is_a(parameter, scan->distributed_type))
		return;
	if (!is_gradient_readable(scan, parameter))
		return;
	gradient = gmt_interpreter_attribute(parameter, "grad");
	if (gradient && gradient != py->none)
		record_tensor(scan, GMT_MARK_KIND_GRADIENT, gradient, name);
	gmt_interpreter_release(gradient);
}

/* Joins "layers.3" and "weight". Returns false if the name is too long. */
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
	void *modules = gmt_interpreter_dict_value(module, "_modules"), *key, *child;

	if (scan->visited_modules++ >= GMT_TENSOR_HOLDER_MAX_MODULES ||
		depth > GMT_TENSOR_HOLDER_MAX_DEPTH || !scan->has_memory)
		return;
	record_tensors_of(scan, gmt_interpreter_dict_value(module, "_parameters"),
		GMT_MARK_KIND_PARAMETER, prefix);
	record_tensors_of(scan, gmt_interpreter_dict_value(module, "_buffers"), GMT_MARK_KIND_BUFFER,
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

static void call_for_parameters(struct scan *scan, void *optimizer,
	void (*work)(struct scan *scan, void *parameter))
{
	void *groups = gmt_interpreter_dict_value(optimizer, "param_groups");

	if (!gmt_interpreter_is_a(groups, py->list_type))
		return;
	for (intptr_t i = 0; i < py->list_size(groups); i++) {
		void *group = py->list_item(groups, i);
		void *parameters =
			gmt_interpreter_is_a(group, py->dict_type) ? py->dict_find(group, "params") : NULL;

		if (!gmt_interpreter_is_a(parameters, py->list_type))
			continue;
		for (intptr_t j = 0; j < py->list_size(parameters); j++)
			work(scan, py->list_item(parameters, j));
	}
}

static void note_stepped(struct scan *scan, void *parameter)
{
	scan->has_memory &= gmt_map_put(&scan->stepped, (uint64_t)(uintptr_t)parameter, 0);
}

/* A parameter with a name was already recorded with its module. */
static void record_unnamed(struct scan *scan, void *parameter)
{
	if (!name_of(scan, parameter))
		record_parameter(scan, parameter, NULL);
}

static void record_optimizer(struct scan *scan, void *optimizer)
{
	void *state = gmt_interpreter_dict_value(optimizer, "state"), *key, *value;

	call_for_parameters(scan, optimizer, record_unnamed);
	if (!gmt_interpreter_is_a(state, py->dict_type))
		return;
	for (intptr_t at = 0; py->dict_next(state, &at, &key, &value);)
		record_state(scan, value, name_of(scan, key), 0);
}

/*
 * Writes a prefix of tensor names, such as "model 2 (Judge)" or "Accuracy", into `ret_prefix`
 * (MAX_NAME_BYTES). Does not read the name of a class with a metaclass of the program, because that
 * may run code of the program. `number` is the model's, from 1; 0: not a model.
 */
static void write_prefix(const struct scan *scan, void *module, unsigned number, char *ret_prefix)
{
	void *type = py->type_of(module);
	void *name = gmt_interpreter_has_type(type, scan->type_type)
		? gmt_interpreter_attribute(type, "__name__")
		: NULL;
	const char *text = name ? py->text_of(name, NULL) : NULL;
	int length;

	py->clear_error();
	if (!text)
		text = "unnamed class";
	length = (int)gmt_text_cut_length(text, strlen(text), MAX_CLASS_BYTES);
	if (number)
		snprintf(ret_prefix, MAX_NAME_BYTES, "model %u (%.*s)", number, length, text);
	else
		snprintf(ret_prefix, MAX_NAME_BYTES, "%.*s", length, text);
	gmt_interpreter_release(name);
	gmt_interpreter_release(type);
}

static void count_models(struct scan *scan)
{
	int count = 0;

	for (size_t i = 0; i < gmt_tensor_holders_count() && count < 2; i++) {
		struct gmt_tensor_holder *holder = gmt_tensor_holders_at(i);
		void *object =
			holder->kind == GMT_TENSOR_HOLDER_MODULE ? gmt_tensor_holder_object(holder) : NULL;

		count += object && gmt_tensor_holder_is_model(object, scan->module_type);
		gmt_interpreter_release(object);
	}
	scan->has_several_models = count > 1;
}

/*
 * Records the tensors of a root module. If a model was the only model at its first scan, its
 * tensors have PyTorch's own names. The tensors of other models have the model as a prefix, in all
 * later scans too. The tensors of other modules have the module's class as a prefix.
 */
static void record_root_module(struct scan *scan, struct gmt_tensor_holder *holder, void *module)
{
	char prefix[MAX_NAME_BYTES] = "";

	if (!holder->number && gmt_tensor_holder_is_model(module, scan->module_type)) {
		holder->has_prefix = scan->has_several_models || model_count;
		holder->number = ++model_count;
	}
	if (holder->has_prefix || !holder->number)
		write_prefix(scan, module, holder->number, prefix);
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
	if (scan->recorded_tensors)
		gmt_mark(GMT_MARK_KIND_ROLES, GMT_MARK_SOURCE_INTERPRETER, NULL, 0, scan->recorded_tensors);
}

/*
 * Disables __torch_function__: otherwise tensor subclasses and modes of the program would be
 * called. Both methods are written in C.
 */
static void record_without_overrides(struct scan *scan)
{
	void *guard_type = gmt_interpreter_module_attribute("torch._C", "DisableTorchFunction");
	void *guard = guard_type ? py->call(guard_type, NULL) : NULL;
	void *entered = guard ? gmt_interpreter_call_method(guard, "__enter__") : NULL;

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

/* Returns whether no other thread is in Python code. */
static bool is_only_python_thread(void)
{
	void *ask = py->system_object("_current_frames");
	void *frames = ask ? py->call(ask, NULL) : NULL;
	bool is_only = frames && py->size_of(frames) <= 1;

	py->clear_error();
	gmt_interpreter_release(frames);
	return is_only;
}

/* `optimizer` may be NULL. `is_search_due`: first look for holders among all Python objects. */
static void scan_holders(void *optimizer, bool is_search_due)
{
	struct scan scan = {
		.module_type = gmt_interpreter_module_attribute("torch.nn.modules.module", "Module"),
		.tensor_type = gmt_interpreter_module_attribute("torch", "Tensor"),
		.parameter_type = gmt_interpreter_module_attribute("torch.nn.parameter", "Parameter"),
		.distributed_type = gmt_interpreter_module_attribute("torch.distributed.tensor", "DTensor"),
		.true_object = gmt_interpreter_module_attribute("builtins", "True"),
		.type_type = gmt_interpreter_module_attribute("builtins", "type"),
		.is_only_thread = is_only_python_thread(),
		.has_memory = true,
	};

	if (scan.module_type && scan.tensor_type && scan.parameter_type && scan.true_object) {
		if (is_search_due)
			gmt_tensor_holders_search(scan.module_type);
		if (optimizer) {
			gmt_tensor_holders_remember(optimizer, GMT_TENSOR_HOLDER_OPTIMIZER);
			call_for_parameters(&scan, optimizer, note_stepped);
		}
		record_without_overrides(&scan);
	}
	gmt_map_fini(&scan.recorded);
	gmt_map_fini(&scan.names);
	gmt_map_fini(&scan.stepped);
	gmt_vec_fini(&scan.texts);
	gmt_interpreter_release(scan.type_type);
	gmt_interpreter_release(scan.true_object);
	gmt_interpreter_release(scan.distributed_type);
	gmt_interpreter_release(scan.parameter_type);
	gmt_interpreter_release(scan.tensor_type);
	gmt_interpreter_release(scan.module_type);
}

/* Scans with the garbage collector off. Keeps the program's current exception. */
static void scan_undisturbed(void *optimizer, bool is_search_due)
{
	void *type, *value, *traceback;
	int was_enabled; /* the garbage collector */

	if (!py->gc_disable || !py->gc_enable)
		return;
	was_enabled = py->gc_disable();
	py->fetch_error(&type, &value, &traceback);
	scan_holders(optimizer, is_search_due);
	py->restore_error(type, value, traceback);
	if (was_enabled)
		py->gc_enable();
}

void gmt_tensor_roles_on_step(void *optimizer, uint64_t step)
{
	uint64_t factor = step; /* 1 if `step` is a power of INTERVAL_FACTOR */

	while (factor >= INTERVAL_FACTOR && factor % INTERVAL_FACTOR == 0)
		factor /= INTERVAL_FACTOR;
	/*
	 * Also at step 2: some tensors are replaced after the first step, for example by the buckets of
	 * DistributedDataParallel.
	 */
	if (factor == 1 || step == 2)
		scan_undisturbed(optimizer, step == 1);
}

void gmt_tensor_roles_on_end(void)
{
	scan_undisturbed(NULL, !gmt_tensor_holders_were_searched());
}
