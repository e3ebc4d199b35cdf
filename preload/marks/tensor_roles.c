/* SPDX-License-Identifier: MIT */
#include "marks/tensor_roles.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "marks/interpreter.h"
#include "producer/mark.h"

enum {
	EVERY = 16,             /* steps 1, 2, 16, 256, ... */
	MOST_TENSORS = 20000,   /* that are told at a time */
	MOST_MODULES = 100000,
	MOST_DEPTH = 64,        /* of modules in modules */
	MOST_STATE_DEPTH = 3,   /* of lists and dictionaries in an optimizer's state */
	MOST_OBJECTS = 4000000, /* of Python's, that are looked at for modules and optimizers */
	MOST_SEARCHES = 8,
	MOST_HOLDERS = 256,     /* that are remembered */
	LONGEST_NAME = 200,
};

/* How a type of Python's is treated; found once for each. */
enum type_kind {
	TYPE_OTHER,
	TYPE_MODULE,
	TYPE_OPTIMIZER,
};

/* A module that is in no other one, or an optimizer. */
struct holder {
	void *reference; /* weak */
	enum type_kind kind;
};

/* One round of asking. */
struct round {
	void *module_type, *optimizer_type;   /* torch.nn.Module, torch.optim.Optimizer */
	void *tensor_type, *parameter_type;   /* torch.Tensor, torch.nn.Parameter */
	void *distributed_type;               /* torch.distributed.tensor.DTensor; NULL: not imported */
	void *true_object;
	struct gmt_map types;                 /* address of a type to enum type_kind */
	struct gmt_map children;              /* modules that are in another one */
	GMT_VEC(void *) found;                /* modules and optimizers */
	struct gmt_map told;                  /* addresses of memory */
	struct gmt_map names;                 /* address of a parameter to where its name begins in texts */
	GMT_VEC(char) texts;                  /* each ends with a NUL */
	size_t tensors, visited;
	bool has_memory;                      /* for these tables */
};

static const struct gmt_interpreter *const py = &gmt_interpreter;

/* With the GIL. A forked child knows what its parent knew. */
static struct holder holders[MOST_HOLDERS];
static size_t holder_count;
static unsigned searches;

/* The attribute of a module that has been imported; NULL: it has not, or has no such. */
static void *imported(const char *module, const char *name)
{
	return gmt_interpreter_attribute(py->dict_find(py->modules(), module), name);
}

static bool has_type(void *object, void *type)
{
	void *its_type = object ? py->type_of(object) : NULL;

	gmt_interpreter_release(its_type);
	return its_type && its_type == type;
}

static bool is_a(void *object, void *type)
{
	void *its_type = object && type ? py->type_of(object) : NULL;
	bool is = its_type && py->is_subtype(its_type, type);

	gmt_interpreter_release(its_type);
	return is;
}

/* What an object keeps of its own, without a line of its class's code; borrowed, NULL: nothing. */
static void *own_value(void *object, const char *name)
{
	void *dictionary = py->generic_dict(object, NULL);
	void *value = dictionary && is_a(dictionary, py->dict_type) ? py->dict_find(dictionary, name) : NULL;

	py->clear_error();
	gmt_interpreter_release(dictionary); /* the object keeps it */
	return value;
}

/* The result of a method of the tensor's or its storage's, which are C; a new reference. */
static void *result_of(void *object, const char *method)
{
	void *function = gmt_interpreter_attribute(object, method);
	void *result = function ? py->call(function, NULL) : NULL;

	py->clear_error();
	gmt_interpreter_release(function);
	return result;
}

/* Whether this is one of PyTorch's own tensors; others may run Python when they are asked. */
static bool is_plain(const struct round *round, void *tensor)
{
	return has_type(tensor, round->tensor_type) || has_type(tensor, round->parameter_type);
}

/* Where a tensor's memory begins; 0: it is on no GPU, or has none. */
static uint64_t memory_of(const struct round *round, void *tensor)
{
	void *is_cuda = gmt_interpreter_attribute(tensor, "is_cuda");
	void *storage = is_cuda == round->true_object ? result_of(tensor, "untyped_storage") : NULL;
	void *number = storage ? result_of(storage, "data_ptr") : NULL;
	uint64_t address = number ? (uint64_t)(uintptr_t)py->address_of_int(number) : 0;

	py->clear_error();
	gmt_interpreter_release(number);
	gmt_interpreter_release(storage);
	gmt_interpreter_release(is_cuda);
	return address;
}

static void tell_local(struct round *round, enum gmt_mark_kind kind, void *tensor, const char *name)
{
	uint64_t address, unused;

	if (!is_plain(round, tensor))
		return;
	address = memory_of(round, tensor);
	if (!address || gmt_map_find(&round->told, address, &unused) || round->tensors >= MOST_TENSORS)
		return;
	round->tensors++;
	round->has_memory &= gmt_map_put(&round->told, address, 0);
	gmt_mark(kind, GMT_MARK_SOURCE_INTERPRETER, name, name ? strlen(name) : 0, address);
}

static void tell(struct round *round, enum gmt_mark_kind kind, void *tensor, const char *name)
{
	void *local = is_a(tensor, round->distributed_type) ? gmt_interpreter_attribute(tensor, "_local_tensor") : NULL;

	tell_local(round, kind, local ? local : tensor, name);
	gmt_interpreter_release(local);
}

static const char *name_of(const struct round *round, void *parameter)
{
	uint64_t at;

	return gmt_map_find(&round->names, (uint64_t)(uintptr_t)parameter, &at) ? round->texts.items + at : NULL;
}

static void keep_name(struct round *round, void *parameter, const char *name)
{
	size_t length = strlen(name) + 1;

	if (!gmt_vec_reserve(&round->texts, length) ||
		!gmt_map_put(&round->names, (uint64_t)(uintptr_t)parameter, round->texts.count)) {
		round->has_memory = false;
		return;
	}
	memcpy(round->texts.items + round->texts.count, name, length);
	round->texts.count += length;
}

static void tell_parameter(struct round *round, void *parameter, const char *name)
{
	void *gradient;

	tell(round, GMT_MARK_KIND_PARAMETER, parameter, name);
	if (!is_plain(round, parameter) && !is_a(parameter, round->distributed_type))
		return;
	gradient = gmt_interpreter_attribute(parameter, "grad");
	if (gradient && gradient != py->none)
		tell(round, GMT_MARK_KIND_GRADIENT, gradient, name);
	gmt_interpreter_release(gradient);
}

/* "layers.3" and "weight"; false when there is no room for it. */
static bool join(char *to, const char *prefix, void *key)
{
	const char *text = is_a(key, py->text_type) ? py->text_of(key, NULL) : NULL;
	size_t length = strlen(prefix), more = text ? strlen(text) : 0;

	py->clear_error();
	if (!text || length + 1 + more >= LONGEST_NAME)
		return false;
	memcpy(to, prefix, length);
	if (length)
		to[length++] = '.';
	memcpy(to + length, text, more + 1);
	return true;
}

static void tell_tensors_of(struct round *round, void *dictionary, enum gmt_mark_kind kind, const char *prefix)
{
	char name[LONGEST_NAME];
	void *key, *tensor;

	if (!is_a(dictionary, py->dict_type))
		return;
	for (intptr_t at = 0; py->dict_next(dictionary, &at, &key, &tensor);) {
		if (tensor == py->none || !join(name, prefix, key))
			continue;
		if (kind == GMT_MARK_KIND_PARAMETER) {
			keep_name(round, tensor, name);
			tell_parameter(round, tensor, name);
		} else {
			tell(round, kind, tensor, name);
		}
	}
}

static void tell_module(struct round *round, void *module, const char *prefix, int depth)
{
	char name[LONGEST_NAME];
	void *modules = own_value(module, "_modules"), *key, *child;

	if (round->visited++ >= MOST_MODULES || depth > MOST_DEPTH || !round->has_memory)
		return;
	tell_tensors_of(round, own_value(module, "_parameters"), GMT_MARK_KIND_PARAMETER, prefix);
	tell_tensors_of(round, own_value(module, "_buffers"), GMT_MARK_KIND_BUFFER, prefix);
	if (!is_a(modules, py->dict_type))
		return;
	for (intptr_t at = 0; py->dict_next(modules, &at, &key, &child);)
		if (is_a(child, round->module_type) && join(name, prefix, key))
			tell_module(round, child, name, depth + 1);
}

/* Tensors of an optimizer's state for one parameter, in lists and dictionaries too. */
static void tell_state(struct round *round, void *state, const char *name, int depth)
{
	void *key, *value;

	if (is_a(state, py->dict_type) && depth < MOST_STATE_DEPTH) {
		for (intptr_t at = 0; py->dict_next(state, &at, &key, &value);)
			tell_state(round, value, name, depth + 1);
	} else if (is_a(state, py->list_type) && depth < MOST_STATE_DEPTH) {
		for (intptr_t i = 0; i < py->list_size(state); i++)
			tell_state(round, py->list_item(state, i), name, depth + 1);
	} else {
		tell(round, GMT_MARK_KIND_OPTIMIZER_STATE, state, name);
	}
}

static void tell_optimizer(struct round *round, void *optimizer)
{
	void *groups = own_value(optimizer, "param_groups"), *state = own_value(optimizer, "state"), *key, *value;

	if (is_a(groups, py->list_type))
		for (intptr_t i = 0; i < py->list_size(groups); i++) {
			void *group = py->list_item(groups, i);
			void *parameters = is_a(group, py->dict_type) ? py->dict_find(group, "params") : NULL;

			if (!is_a(parameters, py->list_type))
				continue;
			for (intptr_t j = 0; j < py->list_size(parameters); j++) {
				void *parameter = py->list_item(parameters, j);

				tell_parameter(round, parameter, name_of(round, parameter));
			}
		}
	if (!is_a(state, py->dict_type))
		return;
	for (intptr_t at = 0; py->dict_next(state, &at, &key, &value);)
		tell_state(round, value, name_of(round, key), 0);
}

static enum type_kind kind_of(struct round *round, void *object)
{
	void *type = py->type_of(object);
	uint64_t kind;

	if (!gmt_map_find(&round->types, (uint64_t)(uintptr_t)type, &kind)) {
		kind = py->is_subtype(type, round->module_type) ? TYPE_MODULE :
			round->optimizer_type && py->is_subtype(type, round->optimizer_type) ? TYPE_OPTIMIZER : TYPE_OTHER;
		round->has_memory &= gmt_map_put(&round->types, (uint64_t)(uintptr_t)type, kind);
	}
	gmt_interpreter_release(type); /* the object keeps it */
	return (enum type_kind)kind;
}

static void note_children(struct round *round, void *module)
{
	void *modules = own_value(module, "_modules"), *key, *child;

	if (is_a(modules, py->dict_type))
		for (intptr_t at = 0; py->dict_next(modules, &at, &key, &child);)
			round->has_memory &= gmt_map_put(&round->children, (uint64_t)(uintptr_t)child, 0);
}

/* The object that a holder still is; a new reference, NULL: it is gone. */
static void *object_of(const struct holder *holder)
{
	void *object = py->call(holder->reference, NULL);

	py->clear_error();
	if (object == py->none) {
		py->dec_ref(object);
		return NULL;
	}
	return object;
}

/* Takes the place of one that is gone, if there is such. */
static void remember(void *object, enum type_kind kind)
{
	size_t place = holder_count;
	void *reference;

	for (size_t i = 0; i < holder_count; i++) {
		void *known = object_of(&holders[i]);

		gmt_interpreter_release(known);
		if (known == object)
			return;
		if (!known)
			place = i;
	}
	reference = place < MOST_HOLDERS ? py->weak_reference(object, NULL) : NULL;
	py->clear_error();
	if (!reference)
		return;
	if (place < holder_count)
		py->dec_ref(holders[place].reference);
	else
		holder_count++;
	holders[place] = (struct holder){ reference, kind };
}

/* Notes modules and optimizers among all objects of Python's, which `objects` keeps alive. */
static void find_holders(struct round *round, void *objects)
{
	intptr_t count = is_a(objects, py->list_type) ? py->list_size(objects) : 0;

	for (intptr_t i = 0; i < count && count <= MOST_OBJECTS && round->has_memory; i++) {
		void *object = py->list_item(objects, i), **found;
		enum type_kind kind = kind_of(round, object);

		if (kind == TYPE_OTHER)
			continue;
		if (kind == TYPE_MODULE)
			note_children(round, object);
		found = gmt_vec_push(&round->found);
		if (found)
			*found = object;
		round->has_memory &= found != NULL;
	}
}

static void remember_found(struct round *round)
{
	uint64_t unused;

	for (size_t i = 0; i < round->found.count; i++)
		if (!gmt_map_find(&round->children, (uint64_t)(uintptr_t)round->found.items[i], &unused))
			remember(round->found.items[i], kind_of(round, round->found.items[i]));
}

/* Asks the collector, which takes as long as a collection does: not often. */
static void search(struct round *round)
{
	void *get_objects = searches < MOST_SEARCHES ? imported("gc", "get_objects") : NULL;
	void *objects = get_objects ? py->call(get_objects, NULL) : NULL;

	py->clear_error();
	searches++;
	if (objects)
		find_holders(round, objects);
	remember_found(round);
	gmt_interpreter_release(objects);
	gmt_interpreter_release(get_objects);
}

/* Modules first: they know the parameters' names. */
static void tell_all(struct round *round)
{
	for (enum type_kind kind = TYPE_MODULE; kind <= TYPE_OPTIMIZER; kind++)
		for (size_t i = 0; i < holder_count; i++) {
			void *object = holders[i].kind == kind ? object_of(&holders[i]) : NULL;

			if (object && kind == TYPE_MODULE)
				tell_module(round, object, "", 0);
			else if (object)
				tell_optimizer(round, object);
			gmt_interpreter_release(object);
		}
	if (round->tensors)
		gmt_mark(GMT_MARK_KIND_ROLES, GMT_MARK_SOURCE_INTERPRETER, NULL, 0, round->tensors);
}

/* Subclasses of tensors and modes of the program's would be called otherwise; both methods are C. */
static void tell_without_overrides(struct round *round)
{
	void *guard_type = imported("torch._C", "DisableTorchFunction");
	void *guard = guard_type ? py->call(guard_type, NULL) : NULL;
	void *entered = guard ? result_of(guard, "__enter__") : NULL;

	if (entered) {
		void *leave = gmt_interpreter_attribute(guard, "__exit__");

		tell_all(round);
		gmt_interpreter_release(leave ? py->call(leave, py->none, py->none, py->none, NULL) : NULL);
		py->clear_error();
		gmt_interpreter_release(leave);
	}
	gmt_interpreter_release(entered);
	gmt_interpreter_release(guard);
	gmt_interpreter_release(guard_type);
}

static void ask(void *optimizer, bool is_new)
{
	struct round round = {
		.module_type = imported("torch.nn.modules.module", "Module"),
		.optimizer_type = imported("torch.optim.optimizer", "Optimizer"),
		.tensor_type = imported("torch", "Tensor"),
		.parameter_type = imported("torch.nn.parameter", "Parameter"),
		.distributed_type = imported("torch.distributed.tensor", "DTensor"),
		.true_object = imported("builtins", "True"),
		.has_memory = true,
	};

	if (round.module_type && round.tensor_type && round.parameter_type && round.true_object) {
		if (is_new)
			search(&round);
		if (optimizer)
			remember(optimizer, TYPE_OPTIMIZER);
		tell_without_overrides(&round);
	}
	gmt_map_fini(&round.types);
	gmt_map_fini(&round.children);
	gmt_vec_fini(&round.found);
	gmt_map_fini(&round.told);
	gmt_map_fini(&round.names);
	gmt_vec_fini(&round.texts);
	gmt_interpreter_release(round.true_object);
	gmt_interpreter_release(round.distributed_type);
	gmt_interpreter_release(round.parameter_type);
	gmt_interpreter_release(round.tensor_type);
	gmt_interpreter_release(round.optimizer_type);
	gmt_interpreter_release(round.module_type);
}

static void ask_unseen(void *optimizer, bool is_new)
{
	void *type, *value, *traceback;
	int collected;

	if (!py->gc_disable || !py->gc_enable)
		return;
	collected = py->gc_disable();
	py->fetch_error(&type, &value, &traceback);
	ask(optimizer, is_new);
	py->restore_error(type, value, traceback);
	if (collected)
		py->gc_enable();
}

void gmt_tensor_roles_see_step(void *optimizer, uint64_t step)
{
	uint64_t rest = step;

	while (rest >= EVERY && rest % EVERY == 0)
		rest /= EVERY;
	/* At the second: some things take the place of others after the first one, as buckets of distributed data parallel do. */
	if (rest == 1 || step == 2)
		ask_unseen(optimizer, step == 1);
}

void gmt_tensor_roles_see_end(void)
{
	ask_unseen(NULL, !searches);
}
