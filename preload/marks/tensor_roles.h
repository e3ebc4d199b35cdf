/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_TENSOR_ROLES_H
#define GMT_MARKS_TENSOR_ROLES_H

#include <stdint.h>

/*
 * What tensors are for, asked of the modules and optimizers that hold them: a mark for each parameter, gradient, buffer and
 * tensor of an optimizer's state on a GPU, with the address of its memory and, where a module has it, its name; then one mark
 * that says that these are all. In the flow: optimizer_hook -> tensor_roles -> mark.
 *
 * Modules and optimizers are found among the objects of Python's collector at the first step of an optimizer, or at the end where
 * there was none. Runs no Python code, and asks no device for anything. With the GIL, in the main interpreter; lets no exception
 * out. Does nothing where Python is older than 3.10: the collector could not be kept from running the program's finalizers
 * meanwhile.
 */

/* An optimizer's step number `step`, from 1, is about to end; 0: it is not known which. Asks at 1, 2, 16, 256, 4,096, ... */
void gmt_tensor_roles_see_step(void *optimizer, uint64_t step);

/* The program's work is done. */
void gmt_tensor_roles_see_end(void);

#endif
