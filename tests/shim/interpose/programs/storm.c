/* SPDX-License-Identifier: MIT */
/*
 * storm THREADS ROUNDS: all threads open the driver and a library, look names up by dlsym and
 * dlvsym, allocate, free and close at the same time. Prints how many allocations succeeded.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THREADS = 64, BYTES = 256 };

static _Atomic unsigned made, wrong;
static int rounds;

static void use_driver(void *driver)
{
	CUresult (*initialize)(unsigned) = (CUresult (*)(unsigned))dlsym(driver, "cuInit");
	CUresult (*retain)(CUcontext *, CUdevice) =
		(CUresult (*)(CUcontext *, CUdevice))dlsym(driver, "cuDevicePrimaryCtxRetain");
	CUresult (*set)(CUcontext) = (CUresult (*)(CUcontext))dlsym(driver, "cuCtxSetCurrent");
	CUresult (*allocate)(CUdeviceptr *, size_t) =
		(CUresult (*)(CUdeviceptr *, size_t))(dlsym(driver, "cuMemAlloc_v2"));
	CUresult (*release)(CUdeviceptr) = (CUresult (*)(CUdeviceptr))dlsym(driver, "cuMemFree_v2");
	CUcontext context;
	CUdeviceptr block;

	if (initialize && retain && set && allocate && release && !initialize(0) &&
		!retain(&context, 0) && !set(context) && !allocate(&block, BYTES) && !release(block))
		made++;
	else
		wrong++;
}

static void *blow(void *argument)
{
	long number = (long)argument;

	for (int i = 0; i < rounds; i++) {
		void *driver = dlopen("libcuda.so.1", RTLD_NOW),
			 *other = dlopen("libcudart.so.13", RTLD_LAZY);

		if (!driver || !other || !dlsym(other, "cudaMalloc") ||
			!dlvsym(other, "cudaFree", "libcudart.so.13") || dlsym(other, "cuNeverHeardOf") ||
			dlvsym(other, "cudaMalloc", "NEVER") || !dlerror())
			wrong++;
		/* Not all rounds call the driver. A driver without a call may be unloaded at each close. */
		if (driver && (i + number) % 4 == 0)
			use_driver(driver);
		else if (driver && !dlsym(driver, "cuMemAlloc_v2"))
			wrong++;
		if (other)
			dlclose(other);
		if (driver)
			dlclose(driver);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t threads[MAX_THREADS];
	int thread_count = count > 2 ? atoi(arguments[1]) : 0;

	rounds = count > 2 ? atoi(arguments[2]) : 0;
	if (thread_count < 1 || thread_count > MAX_THREADS)
		return 2;
	for (long i = 0; i < thread_count; i++)
		if (pthread_create(&threads[i], NULL, blow, (void *)i))
			return 2;
	for (int i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	printf("%u\n", made);
	return wrong != 0;
}
