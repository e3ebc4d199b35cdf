/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_TABLES_STACK_NAMES_H
#define GMT_ANALYSIS_TABLES_STACK_NAMES_H

/*
 * Finds what a stack belongs to, from its frames. Names are cut to `size` bytes. "": there is no
 * name.
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
