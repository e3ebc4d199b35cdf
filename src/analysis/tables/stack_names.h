/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_TABLES_STACK_NAMES_H
#define GMT_ANALYSIS_TABLES_STACK_NAMES_H

/*
 * Finds the operator, the modules and the library of a stack in its frames. A name is cut to `size`
 * bytes. If the stack has no such name, `ret_name` is "".
 */

#include <stddef.h>

#include "reader/stacks/traces.h"

/* Finds the outermost PyTorch operator in the stack, for example "aten::mm". */
void gmt_stack_operator(const struct gmt_traces *traces, uint32_t stack, char *ret_name,
	size_t size);

/*
 * Finds the modules (torch.nn.Module) whose calls are in the stack, outermost first, for example
 * "Model > Layer > Linear". A list that does not fit loses its outermost modules.
 */
void gmt_stack_module(const struct gmt_traces *traces, uint32_t stack, char *ret_name, size_t size);

/*
 * Finds the library that asked for the memory, for example "libtorch_cuda.so": the innermost
 * library before the first Python frame. Skips CUDA's runtime and PyTorch's allocator and core.
 */
void gmt_stack_library(const struct gmt_traces *traces, uint32_t stack, char *ret_name,
	size_t size);

#endif
