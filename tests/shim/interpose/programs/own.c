/* SPDX-License-Identifier: MIT */
/*
 * own: a program that defines functions with CUDA's names, like one with a static runtime that
 * exports its symbols, or with a test double. Look-ups must find these functions, and calls must
 * reach them.
 */
#include <dlfcn.h>
#include <stdio.h>

int cuInit(unsigned flags);
int cudaFree(void *block);

__attribute__((visibility("default"))) int cuInit(unsigned flags)
{
	return (int)flags + 77;
}

__attribute__((visibility("default"))) int cudaFree(void *block)
{
	return block ? 1 : 78;
}

int main(void)
{
	void *program = dlopen(NULL, RTLD_LAZY);

	printf("%d %d %d %d %d\n", dlsym(RTLD_DEFAULT, "cuInit") == (void *)cuInit,
		dlsym(program, "cuInit") == (void *)cuInit, dlsym(program, "cudaFree") == (void *)cudaFree,
		dlsym(RTLD_NEXT, "cuInit") != NULL, dlsym(RTLD_DEFAULT, "cudaMalloc") != NULL);
	printf("%d %d\n", cuInit(0), cudaFree(NULL));
	return 0;
}
