/* SPDX-License-Identifier: MIT */
/*
 * Looks up functions of a future driver and of a present driver, by dlsym and by cuGetProcAddress.
 *
 *	lookups LIBRARY      path of libcuda.so.future
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int find_function(const char *, void **, int, unsigned long long, int *);

static void *get(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found)
		fprintf(stderr, "no %s\n", name);
	return found;
}

int main(int argc, char **argv)
{
	void *driver = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL, *found = NULL, *block, *context;
	int status;

	if (!driver)
		return 2;
	/*
	 * The recorder must not report these names. They are no allocation calls, are left out on
	 * purpose, are hooked, or do not exist.
	 */
	get(driver, "cuDeviceGetCount");
	get(driver, "cuMemGetDefaultMemPool");
	get(driver, "cuMemAllocAsync");
	if (dlsym(driver, "cuMemAllocNowhere"))
		return 1;

	find_function *find = (find_function *)get(driver, "cuGetProcAddress_v2");
	if (find("cuMemAllocFuture", &found, 20000, 0, &status) || ((int (*)(void))found)() != 77)
		return 1;
	if (find("cuMemAlloc", &found, 20000, 0, &status) || ((int (*)(void))found)() != 78)
		return 1;
	for (int i = 0; i < 2; i++)
		if (((int (*)(void))get(driver, "cuMemMapFuture"))() != 79)
			return 1;

	/* Allocates, so that the recorder writes a recording. */
	if (((int (*)(unsigned))get(driver, "cuInit"))(0) ||
		((int (*)(void **, int))get(driver, "cuDevicePrimaryCtxRetain"))(&context, 0) ||
		((int (*)(void *))get(driver, "cuCtxSetCurrent"))(context) ||
		((int (*)(void **, size_t))get(driver, "cuMemAlloc_v2"))(&block, 1000))
		return 1;
	return 0;
}
