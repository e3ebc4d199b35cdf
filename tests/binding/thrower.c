/* SPDX-License-Identifier: MIT */
/*
 * thrower LIBRARY COUNT [ROUNDS]: allocates on the device, so that a recorder has taken a native
 * stack and holds its unwinder, then has the library throw. Prints the nanoseconds of one exception
 * in the fastest round.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argument_count, char **arguments)
{
	int count = argument_count > 2 ? atoi(arguments[2]) : 0;
	int rounds = argument_count > 3 ? atoi(arguments[3]) : 1;
	void *block = NULL;

	if (count < 1 || cudaMalloc(&block, 4096) != cudaSuccess)
		return 2;

	void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
	double (*throw_many)(int) = library ? (double (*)(int))dlsym(library, "throw_many") : NULL;

	if (!throw_many) {
		fprintf(stderr, "thrower: %s\n", dlerror());
		return 3;
	}

	double best = throw_many(count);
	while (--rounds > 0) {
		double time_ns = throw_many(count);
		best = time_ns < best ? time_ns : best;
	}
	printf("%.1f\n", best);
	return cudaFree(block) == cudaSuccess ? 0 : 4;
}
