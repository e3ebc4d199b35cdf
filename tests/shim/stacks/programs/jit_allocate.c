/* SPDX-License-Identifier: MIT */
/*
 * A C library with functions that allocate on the device, for generated machine code. They are
 * called by a foreign function interface (LuaJIT, numba), or as a native method of the class Jit (a
 * JVM). Each allocates `bytes`, and frees them if `is_freed`. Returns 0 on success.
 */
#include <cuda_runtime_api.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default"), noinline))

EXPORT int jit_allocate(int64_t bytes, int is_freed);
EXPORT int32_t Java_Jit_allocate(void *environment, void *class, int64_t bytes, int32_t is_freed);

int jit_allocate(int64_t bytes, int is_freed)
{
	void *block;
	cudaError_t error = cudaMalloc(&block, (size_t)bytes);

	return (int)(!error && is_freed ? cudaFree(block) : error);
}

int32_t Java_Jit_allocate(void *environment, void *class, int64_t bytes, int32_t is_freed)
{
	(void)environment;
	(void)class;
	/* The condition prevents a tail call, so that this function appears in the stack. */
	return jit_allocate(bytes, is_freed) ? -1 : 0;
}
