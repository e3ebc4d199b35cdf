/* SPDX-License-Identifier: MIT */
/*
 * loaded-libraries TIMES EVERY LIBRARY...: opens and closes the libraries in turns. At each
 * EVERY-th time it calls the library, which allocates 1000 bytes in the first library and 2000
 * bytes in the second. At the end the program itself allocates 3000 bytes.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 1000, LAST = 3000 };

static int allocate(void **block, size_t size_bytes)
{
	return cudaMalloc(block, size_bytes);
}

int main(int count, char **arguments)
{
	int libraries = count - 3, times = libraries > 0 ? atoi(arguments[1]) : 0,
		every = libraries > 0 ? atoi(arguments[2]) : 0;
	void *block;

	if (times < 1 || every < 1)
		return 2;
	if (allocate(&block, LAST))
		return 3;
	for (int i = 0; i < times; i++) {
		int which = i % libraries;
		void *library = dlopen(arguments[3 + which], RTLD_NOW | RTLD_LOCAL);
		int (*call)(int (*)(void **, size_t), size_t);

		if (!library)
			return 4;
		*(void **)&call = dlsym(library, "library_allocate");
		if (i % every == 0 && call(allocate, (size_t)SIZE * (size_t)(which + 1)) != which + 1)
			return 5;
		if (dlclose(library))
			return 6;
	}
	return allocate(&block, LAST);
}
