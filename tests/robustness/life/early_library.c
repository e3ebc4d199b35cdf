/* SPDX-License-Identifier: MIT */
/*
 * A library that calls CUDA in its constructor and in its destructor. They run before and after
 * those of a preloaded library. Environment variables switch each part on or off.
 */
#include "early.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCKS = 20, SIZE = 4096 };

extern int __cxa_atexit(void (*handler)(void *), void *argument, void *library);

static void *blocks[BLOCKS];

static void allocate(void)
{
	for (int i = 0; i < BLOCKS; i++)
		if (cudaMalloc(&blocks[i], SIZE))
			_exit(9);
}

/* Allocates with the driver's function that dlsym returns. */
static void allocate_by_name(void)
{
	CUresult (*allocate_one)(CUdeviceptr *, size_t);
	CUcontext context;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
		_exit(9);
	*(void **)&allocate_one = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
	for (int i = 0; i < BLOCKS; i++)
		if (!allocate_one || allocate_one((CUdeviceptr *)(void *)&blocks[i], SIZE))
			_exit(9);
}

static void release(void)
{
	for (int i = 0; i < BLOCKS; i++)
		if (blocks[i] && cudaFree(blocks[i]))
			_exit(9);
}

static void on_last_exit(void *unused)
{
	(void)unused;
	allocate();
}

__attribute__((constructor)) static void begin(void)
{
	if (getenv("EARLY_LAST"))
		__cxa_atexit(on_last_exit, NULL, NULL);
	if (getenv("EARLY_ALLOCATE"))
		allocate();
	if (getenv("EARLY_BY_NAME"))
		allocate_by_name();
}

__attribute__((destructor)) static void end(void)
{
	if (getenv("EARLY_ALLOCATE_LATE"))
		allocate();
	if (getenv("EARLY_FREE"))
		release();
}

void early_use(void)
{
	if (getenv("EARLY_ALLOCATE_IN_MAIN"))
		allocate();
}
