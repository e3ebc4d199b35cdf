/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRAPPERS_WRAPPER_H
#define GMT_WRAPPERS_WRAPPER_H

/*
 * CUDA's headers, and the beginning of a wrapper. Only for wrappers.c and wrap_*.c. A row of
 * hooks.def whose parameters differ from NVIDIA's prototype does not compile.
 */

/*
 * With this macro, cuda.h declares all forms of a function: old forms, and those for per-thread
 * streams.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "wrappers/call.h"
#include "wrappers/missing_cuda_types.h"
#include "wrappers/call_arguments.h"
#include "hooks/hooks.h"
#include "driver/known_pools.h"
#include "interpose/originals.h"

#define RESULT_CUDA CUresult
#define RESULT_CUDART cudaError_t

/* The result if no original function is found: the same as before cuInit, never an abort. */
#define MISSING_CUDA CUDA_ERROR_NOT_INITIALIZED
#define MISSING_CUDART cudaErrorInitializationError

/* The role of a call of the library: it makes events, or gives its name to events. */
#define ROLE_CUDA GMT_CALL_DRIVER
#define ROLE_CUDART GMT_CALL_RUNTIME

/* The faster function that finds the original functions of the library. */
#define ORIGINAL_CUDA gmt_original
#define ORIGINAL_CUDART gmt_original_outside_driver

/* Converts a pointer or a number to the integer that events hold. */
#define U64(value) ((uint64_t)(uintptr_t)(value))

/* Same as U64, for a function that takes a null stream as the thread's own stream. */
#define PER_THREAD(stream) U64((stream) ? (stream) : CU_STREAM_PER_THREAD)

/*
 * Begins a wrapper: its prototypes, and the look-up of `original`. The wrapper has a private name
 * for interpose/. The exported name is its alias.
 */
#define BEGIN_WRAPPER(library, symbol, parameters) \
	RESULT_##library gmt_wrap_##symbol parameters; \
	__attribute__((visibility("default"), \
		alias("gmt_wrap_" #symbol))) RESULT_##library symbol parameters; \
	RESULT_##library gmt_wrap_##symbol parameters \
	{ \
		RESULT_##library(*original) parameters = (RESULT_##library(*) \
				parameters)ORIGINAL_##library(GMT_HOOK_##symbol, __builtin_return_address(0)); \
		if (!original) \
			return MISSING_##library;

#endif
