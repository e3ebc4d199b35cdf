/* SPDX-License-Identifier: MIT */
/*
 * The typed wrappers, one per row of hooks.def. The only file that includes CUDA's headers: a row
 * whose parameters differ from NVIDIA's prototype does not compile.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "call.h"
#include "hooks.h"
#include "record/clock.h"
#include "routes/real.h"

/* The header renames these to their newest form; rows name the exact symbols. */
#undef cuMemAlloc
#undef cuMemAllocPitch
#undef cuMemFree
#undef cuMemAllocHost

#define RESULT_CUDA CUresult
#define RESULT_CUDART cudaError_t

/* What a caller is told where no real function can be found: as before cuInit, never an abort. */
#define MISSING_CUDA CUDA_ERROR_NOT_INITIALIZED
#define MISSING_CUDART cudaErrorInitializationError

/*
 * The wrapper has a private name, for routes/, and the exported name as its alias. Function pointers
 * are loaded from a table, so the call is indirect; no compiler can mistake it for recursion.
 */
#define BEGIN_WRAPPER(library, symbol, parameters) \
	RESULT_##library gmt_wrap_##symbol parameters; \
	__attribute__((visibility("default"), alias("gmt_wrap_" #symbol))) RESULT_##library symbol parameters; \
	RESULT_##library gmt_wrap_##symbol parameters \
	{ \
		RESULT_##library (*real) parameters = \
			(RESULT_##library (*) parameters)gmt_real(GMT_HOOK_##symbol, __builtin_return_address(0)); \
		if (!real) \
			return MISSING_##library;

#define GMT_HOOK_ALLOC(library, symbol, base, since, mode, parameters, arguments, space, address, size, stream) \
	BEGIN_WRAPPER(library, symbol, parameters) \
		bool outermost = gmt_call_begin(); \
		RESULT_##library result = real arguments; \
		bool failed = result != 0; \
		(void)failed; \
		if (outermost) \
			gmt_call_alloc(GMT_HOOK_##symbol, (uint32_t)result, GMT_SPACE_##space, \
				failed ? 0 : (uint64_t)(address), (uint64_t)(size), (uint64_t)(stream)); \
		gmt_call_end(); \
		return result; \
	}

#define GMT_HOOK_FREE(library, symbol, base, since, mode, parameters, arguments, space, address, stream) \
	BEGIN_WRAPPER(library, symbol, parameters) \
		bool outermost = gmt_call_begin(); \
		uint64_t stamp = outermost ? gmt_clock_stamp() : 0; \
		RESULT_##library result = real arguments; \
		if (outermost) \
			gmt_call_free(GMT_HOOK_##symbol, (uint32_t)result, GMT_SPACE_##space, \
				(uint64_t)(address), (uint64_t)(stream), stamp); \
		gmt_call_end(); \
		return result; \
	}

#define GMT_HOOK_ROUTE(...)

#include "hooks.def"
