/* SPDX-License-Identifier: MIT */
/* Gets memory for others: an allocator for torch.cuda.memory.CUDAPluggableAllocator, and for itself. */
#include <dlfcn.h>
#include <stddef.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))

static void *driver(const char *name)
{
	return dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
}

EXPORT void *own_malloc(ssize_t size, int device, void *stream)
{
	int (*get)(unsigned long long *, size_t) = (int (*)(unsigned long long *, size_t))driver("cuMemAlloc_v2");
	unsigned long long address = 0;

	(void)device;
	(void)stream;
	return get(&address, (size_t)size) ? NULL : (void *)address;
}

EXPORT void own_free(void *block, ssize_t size, int device, void *stream)
{
	int (*put_back)(unsigned long long) = (int (*)(unsigned long long))driver("cuMemFree_v2");

	(void)size;
	(void)device;
	(void)stream;
	put_back((unsigned long long)block);
}

/* By the runtime that is in this file. */
EXPORT int get_memory(const char *runtime, size_t size)
{
	int (*get)(void **, size_t) = (int (*)(void **, size_t))dlsym(dlopen(runtime, RTLD_NOW), "cudaMalloc");
	void *block = NULL;

	return get(&block, size) || !block;
}
