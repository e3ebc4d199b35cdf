/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_TABLES_STACK_NAMES_H
#define GMT_ANALYSIS_TABLES_STACK_NAMES_H

/*
 * Finds the operator, the modules and the library of a stack in its frames. A name is cut to `size`
 * bytes. If the stack has no such name, `ret_name` is "".
 */

#include <stddef.h>

#include "reader/stacks/traces.h"

/* Finds the outermost operator of PyTorch in the stack: "aten::mm". */
void gmt_stack_operator(const struct gmt_traces *traces, uint32_t stack, char *ret_name,
	size_t size);

/*
 * Finds the modules whose calls are in the stack, outermost first: "Model > Layer > Linear". A long
 * list is cut at the front.
 */
void gmt_stack_module(const struct gmt_traces *traces, uint32_t stack, char *ret_name, size_t size);

/*
 * Finds the library that asked for the memory: "libtorch_cuda.so". It is the innermost library
 * before the first Python frame, other than CUDA's runtime and PyTorch's allocator and core.
 */
void gmt_stack_library(const struct gmt_traces *traces, uint32_t stack, char *ret_name,
	size_t size);

#endif
