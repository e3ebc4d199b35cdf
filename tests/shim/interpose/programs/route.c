/* SPDX-License-Identifier: MIT */
/*
 * Makes one allocation and frees it. Builds as a library (route_use) and as a program
 * (-DIS_PROGRAM). Each build reaches CUDA by one route. With -DDRIVER the linker binds it to
 * libcuda, with -DRUNTIME to a runtime (shared or static). Without both, it looks names up at run
 * time:
 *
 *   dlsym         in the handle of dlopen("libcuda.so.1")
 *   global        the same, opened with RTLD_GLOBAL and looked up in RTLD_DEFAULT
 *   proc_address  cuGetProcAddress_v2, found by dlsym
 *   dlvsym        cudaMalloc and cudaFree of libcudart.so.13, by the runtime's version
 *
 * Prints "alloc BYTES ADDRESS" and "free ADDRESS"; returns 0 when all went well.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#undef cuGetProcAddress

enum { BYTES = 54321, DRIVER_VERSION = 12000 };

int route_use(int count, char **arguments);

static int print(int failed, const char *what, size_t bytes, const void *address)
{
	if (failed)
		printf("failed %d\n", failed);
	else if (bytes)
		printf("%s %zu %llu\n", what, bytes, (unsigned long long)address);
	else
		printf("%s %llu\n", what, (unsigned long long)address);
	fflush(stdout);
	return failed;
}

#if defined(DRIVER)

__attribute__((visibility("default"))) int route_use(int count, char **arguments)
{
	CUcontext context;
	CUdeviceptr block = 0;

	(void)count;
	(void)arguments;
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
		return 1;

	int failed = cuMemAlloc_v2(&block, BYTES);

	return print(failed, "alloc", BYTES, (void *)block) ||
		print(cuMemFree_v2(block), "free", 0, (void *)block);
}

#elif defined(RUNTIME)

__attribute__((visibility("default"))) int route_use(int count, char **arguments)
{
	void *block = NULL;

	(void)count;
	(void)arguments;

	int failed = cudaMalloc(&block, BYTES);

	return print(failed, "alloc", BYTES, block) || print(cudaFree(block), "free", 0, block);
}

#else

static void *library, *scope;

static void *find(const char *name)
{
	return dlsym(scope, name);
}

static void *find_by_proc_address(const char *base)
{
	void *found = NULL;
	CUresult (*get)(const char *, void **, int, cuuint64_t, void *) = (CUresult (*)(const char *,
		void **, int, cuuint64_t, void *))dlsym(library, "cuGetProcAddress_v2");

	return get && !get(base, &found, DRIVER_VERSION, 0, NULL) ? found : NULL;
}

static int use_runtime_by_version(void)
{
	void *runtime = dlopen("libcudart.so.13", RTLD_NOW), *block = NULL;
	cudaError_t (*allocate)(void **, size_t) =
		(cudaError_t (*)(void **, size_t))dlvsym(runtime, "cudaMalloc", "libcudart.so.13");
	cudaError_t (*release)(void *) =
		(cudaError_t (*)(void *))dlvsym(runtime, "cudaFree", "libcudart.so.13");

	/* The runtime has no version 99, so the last dlvsym must fail. */
	if (!allocate || !release || dlvsym(runtime, "cudaMalloc", "libcudart.so.99"))
		return 3;

	int failed = allocate(&block, BYTES);

	return print(failed, "alloc", BYTES, block) || print(release(block), "free", 0, block);
}

__attribute__((visibility("default"))) int route_use(int count, char **arguments)
{
	const char *route = count > 1 ? arguments[1] : "dlsym";
	int is_global = strcmp(route, "global") == 0, by_address = strcmp(route, "proc_address") == 0;
	void *context = NULL;
	CUdeviceptr block = 0;

	if (strcmp(route, "dlvsym") == 0)
		return use_runtime_by_version();
	library = dlopen("libcuda.so.1", is_global ? RTLD_NOW | RTLD_GLOBAL : RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return 2;
	scope = is_global ? RTLD_DEFAULT : library;

	CUresult (*initialize)(unsigned) = (CUresult (*)(unsigned))find("cuInit");
	CUresult (*retain)(void **, int) = (CUresult (*)(void **, int))find("cuDevicePrimaryCtxRetain");
	CUresult (*set)(void *) = (CUresult (*)(void *))find("cuCtxSetCurrent");
	CUresult (*allocate)(CUdeviceptr *, size_t) = (CUresult (*)(CUdeviceptr *,
		size_t))(by_address ? find_by_proc_address("cuMemAlloc") : find("cuMemAlloc_v2"));
	CUresult (*release)(CUdeviceptr) =
		(CUresult (*)(CUdeviceptr))(by_address ? find_by_proc_address("cuMemFree")
											   : find("cuMemFree_v2"));

	if (!initialize || !retain || !set || !allocate || !release || initialize(0) ||
		retain(&context, 0) || set(context))
		return 1;

	int failed = allocate(&block, BYTES);

	return print(failed, "alloc", BYTES, (void *)block) ||
		print(release(block), "free", 0, (void *)block);
}

#endif

#if defined(IS_PROGRAM)
int main(int count, char **arguments)
{
	return route_use(count, arguments);
}
#endif
