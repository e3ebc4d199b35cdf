/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRAPPERS_WRAPPER_H
#define GMT_WRAPPERS_WRAPPER_H

/*
 * What the files with wrappers share: CUDA's headers, and how a wrapper begins. For wrappers.c and
 * wrap_*.c alone. A row whose parameters differ from NVIDIA's prototype does not compile.
 */

/* Old forms and forms for per-thread streams are functions of their own: the header declares all. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "wrappers/call.h"
#include "wrappers/cuda_types.h"
#include "wrappers/describe.h"
#include "hooks/hooks.h"
#include "driver/pools.h"
#include "interpose/originals.h"

#define RESULT_CUDA CUresult
#define RESULT_CUDART cudaError_t

/* What a caller is told where no real function can be found: as before cuInit, never an abort. */
#define MISSING_CUDA CUDA_ERROR_NOT_INITIALIZED
#define MISSING_CUDART cudaErrorInitializationError

/* Whether the library's calls are events, or only name them. */
#define ROLE_CUDA GMT_CALL_DRIVER
#define ROLE_CUDART GMT_CALL_RUNTIME

/* Which of the two ways to the real function is the shorter one. */
#define REAL_CUDA gmt_original
#define REAL_CUDART gmt_original_for

/* A pointer or number as what events hold. */
#define N(value) ((uint64_t)(uintptr_t)(value))

/* Likewise, of the stream of a function for which none means the thread's own. */
#define OWN(stream) N((stream) ? (stream) : CU_STREAM_PER_THREAD)

/*
 * The wrapper has a private name, for interpose/, and the exported name as its alias. Function pointers
 * are loaded from a table, so the call is indirect; no compiler can mistake it for recursion.
 */
#define BEGIN_WRAPPER(library, symbol, parameters) \
	RESULT_##library gmt_wrap_##symbol parameters; \
	__attribute__((visibility("default"), alias("gmt_wrap_" #symbol))) RESULT_##library symbol parameters; \
	RESULT_##library gmt_wrap_##symbol parameters \
	{ \
		RESULT_##library (*real) parameters = \
			(RESULT_##library (*) parameters)REAL_##library(GMT_HOOK_##symbol, __builtin_return_address(0)); \
		if (!real) \
			return MISSING_##library;

#endif
