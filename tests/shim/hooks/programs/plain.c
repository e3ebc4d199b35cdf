/* SPDX-License-Identifier: MIT */
/*
 * plain ROUTE: uses only functions that every driver has had since CUDA 11.3. Also runs on a real
 * device. Allocates and frees by functions that ROUTE found (export, dlsym, proc_address). Prints
 * the expected events, in lines like those of snippets.c. Needs no CUDA header.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long address_t;

#define DRIVER_FUNCTIONS(F) \
	F(cuMemAlloc_v2, cuMemAlloc, 3020, 0) \
	F(cuMemAllocPitch_v2, cuMemAllocPitch, 3020, 0) \
	F(cuMemAllocManaged, cuMemAllocManaged, 6000, 0) \
	F(cuMemFree_v2, cuMemFree, 3020, 0) \
	F(cuMemAllocHost_v2, cuMemAllocHost, 3020, 0) \
	F(cuMemHostAlloc, cuMemHostAlloc, 2020, 0) \
	F(cuMemFreeHost, cuMemFreeHost, 2000, 0) \
	F(cuMemAllocAsync, cuMemAllocAsync, 11020, 0) \
	F(cuMemAllocAsync_ptsz, cuMemAllocAsync, 11020, 2) \
	F(cuMemFreeAsync, cuMemFreeAsync, 11020, 0) \
	F(cuMemFreeAsync_ptsz, cuMemFreeAsync, 11020, 2)
#define RUNTIME_FUNCTIONS(F) \
	F(cudaMalloc, , 0, 0) \
	F(cudaMallocManaged, , 0, 0) \
	F(cudaMallocHost, , 0, 0) \
	F(cudaMallocAsync, , 0, 0) \
	F(cudaFree, , 0, 0) \
	F(cudaFreeHost, , 0, 0) \
	F(cudaFreeAsync, , 0, 0)

#define F(symbol, ...) extern void linked_##symbol(void) __asm__(#symbol);
DRIVER_FUNCTIONS(F)
RUNTIME_FUNCTIONS(F)
#undef F

static const struct row {
	const char *symbol, *base;
	int since, flags;
	void *linked;
} rows[] = {
#define F(symbol, base, since, flags) { #symbol, #base, since, flags, (void *)linked_##symbol },
	DRIVER_FUNCTIONS(F) RUNTIME_FUNCTIONS(F)
#undef F
};

static const char *route, *symbol;
static int failures;

static void *driver(const char *name)
{
	return dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
}

/* Opens the runtime by the path of the loaded library that this program is linked to. */
static void *runtime(const struct row *row)
{
	Dl_info symbol_info;
	void *handle = dladdr(dlsym(RTLD_NEXT, "cudaRuntimeGetVersion"), &symbol_info)
		? dlopen(symbol_info.dli_fname, RTLD_NOW)
		: NULL;

	return handle ? dlsym(handle, row->symbol) : NULL;
}

static void *find(const char *name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *row = &rows[i];
		void *address = NULL;
		int (*get)(const char *, void **, int, uint64_t) =
			(int (*)(const char *, void **, int, uint64_t))driver("cuGetProcAddress");

		if (strcmp(row->symbol, name) != 0)
			continue;
		symbol = row->symbol;
		if (strcmp(route, "export") == 0 || (!row->since && strcmp(route, "dlsym") != 0))
			return row->linked;
		if (strcmp(route, "dlsym") == 0)
			return row->since ? driver(row->symbol) : runtime(row);
		return get(row->base, &address, row->since, (uint64_t)row->flags) ? NULL : address;
	}
	return NULL;
}

#define CALL(name, types, ...) check(((int(*) types)find(#name))(__VA_ARGS__))

static void check(int result)
{
	if (result) {
		failures++;
		fprintf(stderr, "%s is %d\n", symbol, result);
	}
}

/* Prints an expected event. In it, 2 stands for the thread's own stream. */
static void saw(const char *kind, const char *space, size_t size_bytes, address_t address)
{
	printf("event %s %s %s 0 %zu %llu 0 %d\n", symbol, kind, space, size_bytes, address,
		strstr(symbol, "_ptsz") ? 2 : 0);
}

#define ALLOC(name, space, size_bytes, types, ...) \
	CALL(name, types, __VA_ARGS__); \
	saw("alloc", space, size_bytes, block);
#define FREE(name, space, types, ...) \
	CALL(name, types, __VA_ARGS__); \
	saw("free", space, 0, block);

static void with_driver(void)
{
	address_t block;
	size_t pitch;

	ALLOC(cuMemAlloc_v2, "device", 1000, (address_t *, size_t), &block, 1000)
	FREE(cuMemFree_v2, "device", (address_t), block)
	ALLOC(cuMemAllocPitch_v2, "device", pitch * 10,
		(address_t *, size_t *, size_t, size_t, unsigned), &block, &pitch, 100, 10, 4)
	FREE(cuMemFree_v2, "device", (address_t), block)
	ALLOC(cuMemAllocManaged, "managed", 2000, (address_t *, size_t, unsigned), &block, 2000, 1)
	FREE(cuMemFree_v2, "device", (address_t), block)
	ALLOC(cuMemAllocHost_v2, "pinned", 3000, (address_t *, size_t), &block, 3000)
	FREE(cuMemFreeHost, "pinned", (address_t), block)
	ALLOC(cuMemHostAlloc, "pinned", 3100, (address_t *, size_t, unsigned), &block, 3100, 0)
	FREE(cuMemFreeHost, "pinned", (address_t), block)
	ALLOC(cuMemAllocAsync, "pool", 4000, (address_t *, size_t, void *), &block, 4000, NULL)
	FREE(cuMemFreeAsync, "pool", (address_t, void *), block, NULL)
	ALLOC(cuMemAllocAsync_ptsz, "pool", 4100, (address_t *, size_t, void *), &block, 4100, NULL)
	FREE(cuMemFreeAsync_ptsz, "pool", (address_t, void *), block, NULL)
}

static void with_runtime(void)
{
	address_t block;

	ALLOC(cudaMalloc, "device", 5000, (address_t *, size_t), &block, 5000)
	FREE(cudaFree, "device", (address_t), block)
	ALLOC(cudaMallocManaged, "managed", 5100, (address_t *, size_t, unsigned), &block, 5100, 1)
	FREE(cudaFree, "device", (address_t), block)
	ALLOC(cudaMallocHost, "pinned", 5200, (address_t *, size_t), &block, 5200)
	FREE(cudaFreeHost, "pinned", (address_t), block)
	ALLOC(cudaMallocAsync, "pool", 5300, (address_t *, size_t, void *), &block, 5300, NULL)
	FREE(cudaFreeAsync, "pool", (address_t, void *), block, NULL)
}

int main(int argument_count, char **arguments)
{
	void *context = NULL;

	if (argument_count != 2 || ((int (*)(unsigned))driver("cuInit"))(0) ||
		((int (*)(void **, int))driver("cuDevicePrimaryCtxRetain"))(&context, 0) ||
		((int (*)(void *))driver("cuCtxSetCurrent"))(context))
		return 2;
	route = arguments[1];
	with_driver();
	with_runtime();
	return failures != 0;
}
