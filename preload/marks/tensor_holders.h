/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_TENSOR_HOLDERS_H
#define GMT_MARKS_TENSOR_HOLDERS_H

/*
 * Finds PyTorch's root modules (modules that are in no other module) and its optimizers among the
 * objects of Python's garbage collector. Part of marks/tensor_roles. All functions need the GIL and
 * a disabled collector. They run no Python code.
 */

#include <stdbool.h>
#include <stddef.h>

/* Limits of a walk through a module and the modules in it. */
enum {
	GMT_TENSOR_HOLDER_MAX_MODULES = 100000,
	GMT_TENSOR_HOLDER_MAX_DEPTH = 64,
};

enum gmt_tensor_holder_kind {
	GMT_TENSOR_HOLDER_NONE,
	GMT_TENSOR_HOLDER_MODULE,
	GMT_TENSOR_HOLDER_OPTIMIZER,
};

struct gmt_tensor_holder {
	void *reference; /* a Python weak reference to the module or optimizer */
	enum gmt_tensor_holder_kind kind;
	/* The caller sets the two fields below. They are zero at first. */
	unsigned number; /* of a model, from 1; 0: not a model, or its tensors are not yet named */
	bool has_prefix; /* the names of its tensors begin with the model's class */
};

/*
 * Finds and remembers the holders that exist. `module_type` is torch.nn.Module. A search takes as
 * long as a garbage collection. Does nothing after 8 searches.
 */
void gmt_tensor_holders_search(void *module_type);

/* Returns whether gmt_tensor_holders_search was called. */
bool gmt_tensor_holders_were_searched(void);

/* Remembers a holder, by a weak reference. Does nothing if it, or 256 holders, are known. */
void gmt_tensor_holders_remember(void *object, enum gmt_tensor_holder_kind kind);

/* Returns the number of remembered holders. The object of a holder may be gone. */
size_t gmt_tensor_holders_count(void);

/* Returns a holder. `index` must be below the count. */
struct gmt_tensor_holder *gmt_tensor_holders_at(size_t index);

/* Returns the object of a holder as a new reference, or NULL if the object is gone. */
void *gmt_tensor_holder_object(const struct gmt_tensor_holder *holder);

/*
 * Returns whether a module has a parameter, itself or in a module inside it. `module_type` is
 * torch.nn.Module.
 */
bool gmt_tensor_holder_is_model(void *module, void *module_type);

#endif
