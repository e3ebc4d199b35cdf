/* SPDX-License-Identifier: MIT */
/*
 * snippets ROUTE SYMBOL: calls one hooked function, got by one route, and prints what the recorder
 * must have seen: "alloc SPACE BYTES ADDRESS", "free ADDRESS" or "refused".
 *
 * Routes: export (bound when the program was linked), dlsym, proc_address (driver only), handle
 * (dlsym in the handle of dlopen(NULL)).
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks.h"

#undef cuMemAlloc
#undef cuMemAllocPitch
#undef cuMemFree
#undef cuMemAllocHost
#undef cuGetProcAddress

/* Every symbol by its address alone; the headers do not declare all of them. */
#define GMT_HOOK_ANY(library, symbol, ...) extern void linked_##symbol(void) __asm__(#symbol);
#define GMT_HOOK_ROUTE(...)
#include "hooks.def"

static void *block;
static size_t pitch;
static unsigned old_block, old_pitch;
static struct cudaPitchedPtr place;
static void *function;

static void *driver(const char *symbol)
{
	static void *handle;

	if (!handle)
		handle = dlopen("libcuda.so.1", RTLD_NOW);
	return dlsym(handle, symbol);
}

static void *default_pool(void)
{
	void *pool = NULL;
	int device = 0;

	((int (*)(void **, int))driver("cuDeviceGetDefaultMemPool"))(&pool, device);
	return pool;
}

static void *runtime(const char *symbol)
{
	void *handle = dlopen("libcudart.so.13", RTLD_NOW);

	return dlsym(handle, symbol);
}

static void *by_proc_address(const char *base, int version, int flags)
{
	void *address = NULL;
	int (*get)(const char *, void **, int, uint64_t, int *) =
		(int (*)(const char *, void **, int, uint64_t, int *))driver("cuGetProcAddress_v2");

	return get(base, &address, version, (uint64_t)flags, NULL) ? NULL : address;
}

static void *by_route(const char *route, const char *symbol, const char *base, int since, int is_ptds,
	int is_driver, void *linked)
{
	if (strcmp(route, "export") == 0)
		return linked;
	if (strcmp(route, "dlsym") == 0)
		return is_driver ? driver(symbol) : runtime(symbol);
	if (strcmp(route, "handle") == 0)
		return dlsym(dlopen(NULL, RTLD_NOW), symbol);
	return by_proc_address(base, since, is_ptds ? 2 : 0);
}

#define LEGACY 0
#define PTDS 1
#define IS_CUDA 1
#define IS_CUDART 0
#define ROW(library, name, base, since, mode, ...) \
	if (strcmp(symbol, #name) == 0) \
		return by_route(route, #name, #base, since, mode, IS_##library, (void *)linked_##name);
static void *find(const char *route, const char *symbol)
{
#define GMT_HOOK_ANY(...) ROW(__VA_ARGS__)
#define GMT_HOOK_ROUTE(...)
#include "hooks.def"
	return NULL;
}

#define CALL(types, arguments) (((int (*) types)function) arguments)
#define CALL3D(types, arguments) \
	(result = CALL(types, arguments), block = place.ptr, pitch = place.pitch, result)

/* One of each row: a hook without a snippet is an undeclared name below. */
enum snippet {
#define SNIPPET_ALLOC(library, symbol, ...) SNIPPET_##symbol,
#define SNIPPET_FREE(library, symbol, ...) SNIPPET_##symbol,
#define SNIPPET_OLD(library, symbol, ...) SNIPPET_##symbol,
#include "snippets.def"
#undef SNIPPET_ALLOC
#undef SNIPPET_FREE
#undef SNIPPET_OLD
	SNIPPET_COUNT
};

static int run(const char *symbol)
{
	int result;

#define SNIPPET_ALLOC(library, name, space, bytes, call) \
	if (strcmp(symbol, #name) == 0) { \
		result = call; \
		printf("alloc %s %zu %" PRIu64 "\n", #space, (size_t)(bytes), (uint64_t)block); \
		return result; \
	}
#define SNIPPET_FREE(library, name, maker, call) \
	if (strcmp(symbol, #name) == 0) { \
		result = call; \
		printf("free %" PRIu64 "\n", (uint64_t)block); \
		return result; \
	}
#define SNIPPET_OLD(library, name, call) \
	if (strcmp(symbol, #name) == 0) { \
		result = call; \
		printf("refused\n"); \
		return result == 0; \
	}
#include "snippets.def"
#undef SNIPPET_ALLOC
#undef SNIPPET_FREE
#undef SNIPPET_OLD
	return 99;
}

/* The block that a free is tried on, made through the driver. */
static const char *maker_of(const char *symbol)
{
#define SNIPPET_ALLOC(...)
#define SNIPPET_OLD(...)
#define SNIPPET_FREE(library, name, maker, call) \
	if (strcmp(symbol, #name) == 0) \
		return #maker;
#include "snippets.def"
	return NULL;
}

static int make_context(void)
{
	void *context = NULL;

	return ((int (*)(unsigned))driver("cuInit"))(0) ||
		((int (*)(void **, int))driver("cuDevicePrimaryCtxRetain"))(&context, 0) ||
		((int (*)(void *))driver("cuCtxSetCurrent"))(context);
}

int main(int argument_count, char **arguments)
{
	if (argument_count != 3 || make_context())
		return 2;

	const char *route = arguments[1], *symbol = arguments[2];
	const char *maker = maker_of(symbol);

	if (maker) {
		function = driver(maker);
		if (run(maker))
			return 3;
	}
	function = find(route, symbol);
	if (!function) {
		printf("none\n");
		return 0;
	}
	int result = run(symbol);
	if (result)
		printf("failed %d\n", result);
	return 0;
}
