/* SPDX-License-Identifier: MIT */
/*
 * An extension that allocates memory in two ways: from the runtime, and from PyTorch through its
 * C interface.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

__attribute__((visibility("default"))) int own_scratch(const char *runtime, size_t size)
{
	int (*get)(void **, size_t) =
		(int (*)(void **, size_t))dlsym(dlopen(runtime, RTLD_NOW), "cudaMalloc");
	void *block = NULL;

	return get(&block, size) || !block;
}

__attribute__((visibility("default"))) int make_tensor(const char *libtorch, int64_t size)
{
	void *torch = dlopen(libtorch, RTLD_NOW);
	int32_t (*type)(void) = (int32_t (*)(void))dlsym(torch, "aoti_torch_dtype_uint8");
	int32_t (*device)(void) = (int32_t (*)(void))dlsym(torch, "aoti_torch_device_type_cuda");
	int32_t (*empty)(int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t,
		void **) = (int32_t (*)(int64_t, const int64_t *, const int64_t *, int32_t, int32_t,
		int32_t, void **))dlsym(torch, "aoti_torch_empty_strided");
	const int64_t stride = 1;
	void *tensor = NULL;

	return empty(1, &size, &stride, type(), device(), 0, &tensor) || !tensor;
}
