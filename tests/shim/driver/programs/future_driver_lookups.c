/* SPDX-License-Identifier: MIT */
/*
 * Looks up, in one fake driver, functions that this version knows and ones that only a future
 * version has: by dlsym and by cuGetProcAddress.
 *
 *	future-driver-lookups LIBRARY      path of libcuda.so.future
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* Results by which the functions of future_driver.c are known. */
enum { RESULT_ALLOC_FUTURE = 77, RESULT_ALLOC_V9 = 78, RESULT_MAP_FUTURE = 79 };

typedef int get_proc_address(const char *, void **, int, unsigned long long, int *);

static void *get(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found)
		fprintf(stderr, "no %s\n", name);
	return found;
}

static int call(void *function)
{
	return ((int (*)(void))function)();
}

int main(int argc, char **argv)
{
	void *driver = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL, *found = NULL, *block, *context;
	int status;

	if (!driver)
		return 2;
	/* The recorder must not report these names. */
	get(driver, "cuDeviceGetCount");       /* no allocation call */
	get(driver, "cuMemGetDefaultMemPool"); /* left out on purpose */
	get(driver, "cuMemAllocAsync");        /* hooked */
	if (dlsym(driver, "cuMemAllocNowhere")) /* does not exist */
		return 1;

	get_proc_address *get_address = (get_proc_address *)get(driver, "cuGetProcAddress_v2");
	if (get_address("cuMemAllocFuture", &found, 20000, 0, &status) ||
		call(found) != RESULT_ALLOC_FUTURE)
		return 1;
	if (get_address("cuMemAlloc", &found, 20000, 0, &status) || call(found) != RESULT_ALLOC_V9)
		return 1;
	for (int i = 0; i < 2; i++)
		if (call(get(driver, "cuMemMapFuture")) != RESULT_MAP_FUTURE)
			return 1;

	/* Allocates, so that the recorder writes a recording. */
	if (((int (*)(unsigned))get(driver, "cuInit"))(0) ||
		((int (*)(void **, int))get(driver, "cuDevicePrimaryCtxRetain"))(&context, 0) ||
		((int (*)(void *))get(driver, "cuCtxSetCurrent"))(context) ||
		((int (*)(void **, size_t))get(driver, "cuMemAlloc_v2"))(&block, 1000))
		return 1;
	return 0;
}
