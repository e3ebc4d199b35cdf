/* SPDX-License-Identifier: MIT */
/* Contexts, code, limits and questions about free memory. See snippets.h. */
#include "snippets.h"

#include <stdio.h>
#include <unistd.h>

size_t bytes_taken(void)
{
	static size_t before;
	size_t free_bytes, total_bytes, taken;

	OK(D(cuMemGetInfo_v2)(&free_bytes, &total_bytes));
	taken = free_bytes < before ? before - free_bytes : 0;
	before = free_bytes;
	return taken;
}

/*
 * --- contexts
 * -------------------------------------------------------------------------------------
 */

static void destroy_context(CUcontext context)
{
	OK(D(cuCtxDestroy_v2)(context));
	SAW(free, context, .api = "cuCtxDestroy_v2", .address = N(context));
}

static CUcontext make_second(void)
{
	CUcontext context = NULL;

	bytes_taken();
	OK(D(cuCtxCreate_v2)(&context, 0, 0));
	SAW(alloc, context, .api = "cuCtxCreate_v2", .address = N(context), .size = bytes_taken());
	return context;
}

/* Allocates blocks, pinned memory and arrays, which all end with their context. */
static void fill_context(void)
{
	CUmemGenericAllocationHandle handle;
	void *host;

	make_block(8000);
	OK(D(cuMemHostAlloc)(&host, 8100, 0));
	SAW(alloc, pinned, .api = "cuMemHostAlloc", .address = N(host), .size = 8100);
	/* This memory does not end with the context. */
	handle = make_memory();
	release_memory(handle);
}

#define MAKE(arguments) \
	CUcontext context; \
	bytes_taken(); \
	OK(call arguments); \
	SAW(alloc, context, .address = N(context), .size = bytes_taken()); \
	fill_context(); \
	destroy_context(context);

SNIPPET(cuCtxCreate){ MAKE((&context, 0, 0)) }

SNIPPET(cuCtxCreate_v2){ MAKE((&context, CU_CTX_SCHED_SPIN, 0)) }

SNIPPET(cuCtxCreate_v3){ MAKE((&context, NULL, 0, 0, 0)) }

SNIPPET(cuCtxCreate_v4){ MAKE((&context, NULL, 0, 0)) }

SNIPPET(cuCtxDestroy)
{
	CUcontext context = make_second();

	fill_context();
	OK(call(context));
	SAW(free, context, .address = N(context));
	AGAIN(context, call(context), .address = N(context));
}

SNIPPET(cuCtxDestroy_v2)
{
	CUcontext context = make_second();

	fill_context();
	OK(call(context));
	SAW(free, context, .address = N(context));
	AGAIN(context, call(context), .address = N(context));
}

SNIPPET(cuCtxAttach)
{
	CUcontext context = make_second(), attached;

	/* Causes no event: only one more reference. */
	OK(call(&attached, 0));
	OK(D(cuCtxDetach)(context));
	destroy_context(context);
}

SNIPPET(cuCtxDetach)
{
	CUcontext context = make_second();

	OK(call(context));
	SAW(free, context, .address = N(context));
}

/* Uses device 1, because no other snippet does. */
SNIPPET(cuDevicePrimaryCtxRetain)
{
	CUcontext context, again;

	OK(call(&context, 1));
	SAW(alloc, context, .address = N(context), .device = 1, .size = CONTEXT_BYTES);
	OK(call(&again, 1));
	OK(D(cuDevicePrimaryCtxRelease_v2)(1));
	OK(D(cuDevicePrimaryCtxRelease_v2)(1));
	SAW(free, context, .api = "cuDevicePrimaryCtxRelease_v2", .address = N(context));
}

static CUcontext retain(void)
{
	CUcontext context = NULL;

	OK(D(cuDevicePrimaryCtxRetain)(&context, 1));
	SAW(alloc, context, .api = "cuDevicePrimaryCtxRetain", .address = N(context), .device = 1,
		.size = CONTEXT_BYTES);
	return context;
}

static void release(CUresult (*call)(CUdevice))
{
	CUcontext context = retain();

	OK(D(cuDevicePrimaryCtxRetain)(&context, 1));
	OK(call(1));
	OK(call(1));
	SAW(free, context, .address = N(context));
}

SNIPPET(cuDevicePrimaryCtxRelease)
{
	release(call);
}

SNIPPET(cuDevicePrimaryCtxRelease_v2)
{
	release(call);
}

/* A reset ends all memory of the context, but releases no reference. */
static void reset(CUresult (*call)(CUdevice))
{
	CUcontext context = retain(), popped;

	OK(D(cuCtxPushCurrent_v2)(context));
	CUdeviceptr block;
	OK(D(cuMemAlloc_v2)(&block, 8200));
	SAW(alloc, device, .api = "cuMemAlloc_v2", .address = block, .size = 8200, .device = 1);
	OK(D(cuCtxPopCurrent_v2)(&popped));
	OK(call(1));
	SAW(free, context, .address = N(context));
	OK(D(cuDevicePrimaryCtxRelease_v2)(1));
}

SNIPPET(cuDevicePrimaryCtxReset)
{
	reset(call);
}

SNIPPET(cuDevicePrimaryCtxReset_v2)
{
	reset(call);
}

static CUdevResourceDesc some_multiprocessors(void)
{
	CUdevResourceDesc description = NULL;
	CUdevResource all;

	OK(D(cuDeviceGetDevResource)(0, &all, CU_DEV_RESOURCE_TYPE_SM));
	OK(D(cuDevResourceGenerateDesc)(&description, &all, 1));
	return description;
}

SNIPPET(cuGreenCtxCreate)
{
	CUdevResourceDesc description = some_multiprocessors();
	CUgreenCtx context;

	OK(call(&context, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
	SAW(alloc, context, .address = N(context));
	OK(D(cuGreenCtxDestroy)(context));
	SAW(free, context, .api = "cuGreenCtxDestroy", .address = N(context));
}

SNIPPET(cuGreenCtxDestroy)
{
	CUdevResourceDesc description = some_multiprocessors();
	CUgreenCtx context;

	OK(D(cuGreenCtxCreate)(&context, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
	SAW(alloc, context, .api = "cuGreenCtxCreate", .address = N(context));
	OK(call(context));
	SAW(free, context, .address = N(context));
	AGAIN(context, call(context), .address = N(context));
}

/*
 * --- limits
 * ---------------------------------------------------------------------------------------
 */

SNIPPET(cuCtxSetLimit)
{
	/* The memory of a limit ends with its context. */
	CUcontext context = make_second();

	bytes_taken();
	OK(call(CU_LIMIT_MALLOC_HEAP_SIZE, 64 * MIB));
	SAW(set, limit, .address = CU_LIMIT_MALLOC_HEAP_SIZE + 1, .object = 64 * MIB,
		.size = bytes_taken());
	OK(call(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 3));
	SAW(set, limit, .address = CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH + 1, .object = 3);
	destroy_context(context);
}

/*
 * --- code
 * -----------------------------------------------------------------------------------------
 */

static const char image[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .global .align 4 .b8 table[16][1024];\n.visible .entry kernel() { ret; }\n";

static const char *image_file(void)
{
	static const char path[] = "code.ptx";
	FILE *file = fopen(path, "w");

	if (file) {
		fputs(image, file);
		fclose(file);
	}
	return path;
}

static void unload(CUmodule module)
{
	OK(D(cuModuleUnload)(module));
	SAW(free, module, .api = "cuModuleUnload", .address = N(module));
}

static void unload_library(CUlibrary library)
{
	OK(D(cuLibraryUnload)(library));
	SAW(free, module, .api = "cuLibraryUnload", .address = N(library));
}

#define LOAD(type, arguments, end) \
	type code; \
	bytes_taken(); \
	OK(call arguments); \
	SAW(alloc, module, .address = N(code), .size = bytes_taken()); \
	end(code);

SNIPPET(cuModuleLoad)
{
	LOAD(CUmodule, (&code, image_file()), unload)
	unlink(image_file());
}

SNIPPET(cuModuleLoadData){ LOAD(CUmodule, (&code, image), unload) }

SNIPPET(cuModuleLoadDataEx){ LOAD(CUmodule, (&code, image, 0, NULL, NULL), unload) }

SNIPPET(cuModuleLoadFatBinary){ LOAD(CUmodule, (&code, image), unload) }

SNIPPET(cuLibraryLoadData){ LOAD(CUlibrary, (&code, image, NULL, NULL, 0, NULL, NULL, 0),
	unload_library) }

SNIPPET(cuLibraryLoadFromFile)
{
	LOAD(CUlibrary, (&code, image_file(), NULL, NULL, 0, NULL, NULL, 0), unload_library)
	unlink(image_file());
}

SNIPPET(cuModuleUnload)
{
	CUmodule module;

	bytes_taken();
	OK(D(cuModuleLoadData)(&module, image));
	SAW(alloc, module, .api = "cuModuleLoadData", .address = N(module), .size = bytes_taken());
	OK(call(module));
	SAW(free, module, .address = N(module));
	AGAIN(module, call(module), .address = N(module));
}

SNIPPET(cuLibraryUnload)
{
	CUlibrary library;

	bytes_taken();
	OK(D(cuLibraryLoadData)(&library, image, NULL, NULL, 0, NULL, NULL, 0));
	SAW(alloc, module, .api = "cuLibraryLoadData", .address = N(library), .size = bytes_taken());
	OK(call(library));
	SAW(free, module, .address = N(library));
	AGAIN(module, call(library), .address = N(library));
}

/*
 * --- questions
 * ------------------------------------------------------------------------------------
 */

SNIPPET(cuMemGetInfo_v2)
{
	size_t free_bytes, total_bytes;

	OK(call(&free_bytes, &total_bytes));
}
