/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_TABLES_STACK_NAMES_H
#define GMT_ANALYSIS_TABLES_STACK_NAMES_H

/* What a stack belongs to, told from its frames. Names are cut to `size` bytes; "" when there is none. */

#include <stddef.h>

#include "reader/stacks/traces.h"

/* The outermost operator of PyTorch in it: "aten::mm". */
void gmt_stack_operator(const struct gmt_traces *traces, uint32_t stack, char *ret_name, size_t size);

/* The modules whose calls it is in, outermost first: "Model > Layer > Linear"; cut at the front. */
void gmt_stack_module(const struct gmt_traces *traces, uint32_t stack, char *ret_name, size_t size);

/*
 * The library that asked for the memory: the innermost that is neither CUDA's runtime nor PyTorch's
 * allocator and core, before the first Python frame; "libtorch_cuda.so".
 */
void gmt_stack_library(const struct gmt_traces *traces, uint32_t stack, char *ret_name, size_t size);

#endif
