/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_TENSOR_HOLDERS_H
#define GMT_MARKS_TENSOR_HOLDERS_H

/*
 * Finds PyTorch's root modules (modules inside no other module) and its optimizers among the
 * objects of Python's garbage collector. Part of marks/tensor_roles. All functions need the GIL,
 * with the collector off. Runs no Python code.
 */

#include <stdbool.h>
#include <stddef.h>

enum gmt_tensor_holder_kind {
	GMT_TENSOR_HOLDER_NONE,
	GMT_TENSOR_HOLDER_MODULE,
	GMT_TENSOR_HOLDER_OPTIMIZER,
};

struct gmt_tensor_holder {
	void *reference; /* a weak reference */
	enum gmt_tensor_holder_kind kind;
	/* Owned by the caller; zero at first. */
	/* number of a model whose tensors were named, from 1; 0: not a model, or not yet named */
	unsigned number;
	bool has_prefix; /* the names of its tensors begin with the model */
};

/*
 * Finds and remembers the holders that exist. Asks the collector, which takes as long as a
 * collection. Therefore the number of searches is limited.
 */
void gmt_tensor_holders_search(void *module_type);

bool gmt_tensor_holders_were_searched(void);

void gmt_tensor_holders_remember(void *object, enum gmt_tensor_holder_kind kind);

/* Return the number of remembered holders, and one of them. */
size_t gmt_tensor_holders_count(void);
struct gmt_tensor_holder *gmt_tensor_holders_at(size_t index);

/* Returns the object of a holder as a new reference, or NULL if the object is gone. */
void *gmt_tensor_holder_object(const struct gmt_tensor_holder *holder);

#endif
