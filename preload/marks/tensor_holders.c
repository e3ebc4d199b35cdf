/* SPDX-License-Identifier: MIT */
#include "marks/tensor_holders.h"

#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "marks/interpreter.h"

enum {
	MAX_OBJECTS = 4000000, /* Python objects examined per search */
	MAX_SEARCHES = 8,
	MAX_HOLDERS = 256,     /* remembered */
};

struct search {
	void *module_type, *optimizer_type; /* torch.nn.Module, torch.optim.Optimizer */
	struct gmt_map types;    /* address of a type -> enum gmt_tensor_holder_kind */
	struct gmt_map children; /* modules that are inside another module */
	GMT_VEC(void *) found;   /* modules and optimizers */
	bool has_memory;         /* false: an allocation for these tables failed */
};

static const struct gmt_interpreter *const py = &gmt_interpreter;

static struct {
	/* Protected by the GIL. The child of a fork keeps its parent's data. */
	struct gmt_tensor_holder holders[MAX_HOLDERS];
	size_t holder_count;
	unsigned searches;
} holders;

static enum gmt_tensor_holder_kind kind_of(struct search *search, void *object)
{
	void *type = py->type_of(object);
	uint64_t kind;

	if (!gmt_map_find(&search->types, (uint64_t)(uintptr_t)type, &kind)) {
		kind = GMT_TENSOR_HOLDER_NONE;
		if (py->is_subtype(type, search->module_type))
			kind = GMT_TENSOR_HOLDER_MODULE;
		else if (search->optimizer_type && py->is_subtype(type, search->optimizer_type))
			kind = GMT_TENSOR_HOLDER_OPTIMIZER;
		search->has_memory &= gmt_map_put(&search->types, (uint64_t)(uintptr_t)type, kind);
	}
	gmt_interpreter_release(type); /* the object keeps it alive */
	return (enum gmt_tensor_holder_kind)kind;
}

static void note_children(struct search *search, void *module)
{
	void *modules = gmt_interpreter_dict_value(module, "_modules"), *key, *child;

	if (gmt_interpreter_is_a(modules, py->dict_type))
		for (intptr_t at = 0; py->dict_next(modules, &at, &key, &child);)
			search->has_memory &= gmt_map_put(&search->children, (uint64_t)(uintptr_t)child, 0);
}

void *gmt_tensor_holder_object(const struct gmt_tensor_holder *holder)
{
	void *object = py->call(holder->reference, NULL);

	py->clear_error();
	if (object == py->none) {
		py->dec_ref(object);
		return NULL;
	}
	return object;
}

/*
 * Returns whether the module or a module inside it has a parameter. Losses and metrics have no
 * parameters. `remaining` bounds the work: modules that share or contain each other have more paths
 * than modules.
 */
static bool has_parameter(void *module, void *module_type, int depth, unsigned *remaining)
{
	void *parameters = gmt_interpreter_dict_value(module, "_parameters");
	void *modules = gmt_interpreter_dict_value(module, "_modules"), *key, *value;

	if (gmt_interpreter_is_a(parameters, py->dict_type))
		for (intptr_t at = 0; py->dict_next(parameters, &at, &key, &value);)
			if (value != py->none)
				return true;
	if (!gmt_interpreter_is_a(modules, py->dict_type) || depth > GMT_TENSOR_HOLDER_MAX_DEPTH)
		return false;
	for (intptr_t at = 0; *remaining && py->dict_next(modules, &at, &key, &value);) {
		--*remaining;
		if (gmt_interpreter_is_a(value, module_type) &&
			has_parameter(value, module_type, depth + 1, remaining))
			return true;
	}
	return false;
}

bool gmt_tensor_holder_is_model(void *module, void *module_type)
{
	unsigned remaining = GMT_TENSOR_HOLDER_MAX_MODULES;

	return has_parameter(module, module_type, 0, &remaining);
}

/* Reuses the entry of a holder whose object is gone. */
void gmt_tensor_holders_remember(void *object, enum gmt_tensor_holder_kind kind)
{
	size_t index = holders.holder_count;
	void *reference;

	for (size_t i = 0; i < holders.holder_count; i++) {
		void *known = gmt_tensor_holder_object(&holders.holders[i]);

		gmt_interpreter_release(known);
		if (known == object)
			return;
		if (!known)
			index = i;
	}
	reference = index < MAX_HOLDERS ? py->weak_reference(object, NULL) : NULL;
	py->clear_error();
	if (!reference)
		return;
	if (index < holders.holder_count)
		py->dec_ref(holders.holders[index].reference);
	else
		holders.holder_count++;
	holders.holders[index] = (struct gmt_tensor_holder){ .reference = reference, .kind = kind };
}

/* Finds modules and optimizers among all Python objects. `objects` keeps them alive. */
static void find_holders(struct search *search, void *objects)
{
	intptr_t count = gmt_interpreter_is_a(objects, py->list_type) ? py->list_size(objects) : 0;

	for (intptr_t i = 0; i < count && count <= MAX_OBJECTS && search->has_memory; i++) {
		void *object = py->list_item(objects, i), **found;
		enum gmt_tensor_holder_kind kind = kind_of(search, object);

		if (kind == GMT_TENSOR_HOLDER_NONE)
			continue;
		if (kind == GMT_TENSOR_HOLDER_MODULE)
			note_children(search, object);
		found = gmt_vec_push(&search->found);
		if (found)
			*found = object;
		search->has_memory &= found != NULL;
	}
}

static void remember_found(struct search *search)
{
	uint64_t unused;

	for (size_t i = 0; i < search->found.count; i++)
		if (!gmt_map_find(&search->children, (uint64_t)(uintptr_t)search->found.items[i], &unused))
			gmt_tensor_holders_remember(search->found.items[i],
				kind_of(search, search->found.items[i]));
}

void gmt_tensor_holders_search(void *module_type)
{
	struct search search = {
		.module_type = module_type,
		.optimizer_type = gmt_interpreter_module_attribute("torch.optim.optimizer", "Optimizer"),
		.has_memory = true,
	};
	void *get_objects = holders.searches < MAX_SEARCHES
		? gmt_interpreter_module_attribute("gc", "get_objects")
		: NULL;
	void *objects = get_objects ? py->call(get_objects, NULL) : NULL;

	py->clear_error();
	holders.searches++;
	if (objects)
		find_holders(&search, objects);
	remember_found(&search);
	gmt_interpreter_release(objects);
	gmt_interpreter_release(get_objects);
	gmt_map_fini(&search.types);
	gmt_map_fini(&search.children);
	gmt_vec_fini(&search.found);
	gmt_interpreter_release(search.optimizer_type);
}

bool gmt_tensor_holders_were_searched(void)
{
	return holders.searches;
}

size_t gmt_tensor_holders_count(void)
{
	return holders.holder_count;
}

struct gmt_tensor_holder *gmt_tensor_holders_at(size_t index)
{
	return &holders.holders[index];
}
