/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_TENSOR_ROLES_H
#define GMT_MARKS_TENSOR_ROLES_H

#include <stdint.h>

/*
 * Finds out the purpose of tensors from the modules and optimizers that hold them. It records a
 * mark for each parameter, gradient, buffer and optimizer-state tensor on a GPU. The mark has the
 * address of the tensor's memory and, if a module has one, the tensor's name. A last mark states
 * that the list is complete. In the flow: optimizer -> tensor_roles -> mark.
 *
 * Searches the objects of Python's garbage collector for modules and optimizers at the first step
 * of an optimizer, or at the end of the program if no optimizer made a step. Runs no Python code
 * and makes no device calls. Needs the GIL, in the main interpreter. Leaves no exception set. Does
 * nothing if Python is older than 3.10, whose collector could run the program's finalizers
 * meanwhile.
 */

/*
 * Call when step number `step` of an optimizer (from 1) is about to end; 0: the number is unknown.
 * Records the tensors at steps 1, 2, 16, 256, 4,096, ...
 */
void gmt_tensor_roles_on_step(void *optimizer, uint64_t step);

/* Call when the program's work is done. */
void gmt_tensor_roles_on_end(void);

#endif
