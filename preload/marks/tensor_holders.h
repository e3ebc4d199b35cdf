/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_TENSOR_HOLDERS_H
#define GMT_MARKS_TENSOR_HOLDERS_H

/*
 * PyTorch's modules that are in no other one, and its optimizers, found among the objects of Python's collector. Part of
 * observe/tensor_roles: all with the GIL, and with the collector off. Runs no Python code.
 */

#include <stdbool.h>
#include <stddef.h>

enum gmt_tensor_holder_kind {
	GMT_TENSOR_HOLDER_NONE,
	GMT_TENSOR_HOLDER_MODULE,
	GMT_TENSOR_HOLDER_OPTIMIZER,
};

struct gmt_tensor_holder {
	void *reference; /* weak */
	enum gmt_tensor_holder_kind kind;
	/* The caller's; zero at first. */
	unsigned number; /* of a model whose tensors were named, from 1; 0: of none */
	bool has_prefix; /* its names say so */
};

/* Remembers what is there. Asks the collector, which takes as long as a collection does: only so many times. */
void gmt_tensor_holders_search(void *module_type);

bool gmt_tensor_holders_were_searched(void);

void gmt_tensor_holders_remember(void *object, enum gmt_tensor_holder_kind kind);

/* How many are remembered, and one of them. */
size_t gmt_tensor_holders_count(void);
struct gmt_tensor_holder *gmt_tensor_holders_at(size_t index);

/* The object that a holder still is; a new reference, NULL: it is gone. */
void *gmt_tensor_holder_object(const struct gmt_tensor_holder *holder);

#endif
