/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_GPU_DEVICE_H
#define GMT_TESTS_GPU_DEVICE_H

/*
 * Shared by the programs of scripts/gpu-check: device 0, its primary context, its memory in use,
 * and a kernel. Errors end the program with a line on stderr and exit code 2.
 */

#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MIB ((size_t)1 << 20)

#define CHECK(call) check(call, #call)
static inline void check(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "%.120s: %d\n", what, (int)result);
	exit(2);
}

/* Writes 42 to the address in its one parameter. */
static const char kernel_ptx[] = ".version 6.0\n.target sm_52\n.address_size 64\n"
								 ".visible .entry store(.param .u64 place)\n{\n"
								 "\t.reg .u64 %a;\n\t.reg .u32 %v;\n"
								 "\tld.param.u64 %a, [place];\n\tcvta.to.global.u64 %a, %a;\n"
								 "\tmov.u32 %v, 42;\n\tst.global.u32 [%a], %v;\n\tret;\n}\n";

/* Makes the primary context of device 0 current in this thread. */
static inline CUcontext use_device_0(void)
{
	CUcontext context;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	return context;
}

static inline void sleep_seconds(double seconds)
{
	struct timespec time = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

	nanosleep(&time, NULL);
}

static inline int64_t realtime_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Returns the bytes in use on the device of the current context. */
static inline int64_t used_bytes_from_driver(void)
{
	size_t free_bytes, total_bytes;

	CHECK(cuMemGetInfo(&free_bytes, &total_bytes));
	return (int64_t)(total_bytes - free_bytes);
}

/* Returns the bytes in use on device 0 according to NVML, or -1. Needs no context. */
static inline int64_t used_bytes_from_nvml(void)
{
	static void *library, *device;
	struct {
		unsigned long long total, free, used;
	} memory;
	char pci_bus_id[32];

	if (!library) {
		library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
		if (!library)
			return -1;
		int (*nvml_init)(void) = (int (*)(void))dlsym(library, "nvmlInit_v2");
		int (*nvml_find_device)(const char *, void **) =
			(int (*)(const char *, void **))dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2");

		if (!nvml_init || !nvml_find_device || nvml_init() ||
			cuDeviceGetPCIBusId(pci_bus_id, sizeof(pci_bus_id), 0) ||
			nvml_find_device(pci_bus_id, &device))
			device = NULL;
	}
	int (*nvml_memory_info)(void *, void *) =
		(int (*)(void *, void *))dlsym(library, "nvmlDeviceGetMemoryInfo");
	return device && nvml_memory_info && nvml_memory_info(device, &memory) == 0
		? (int64_t)memory.used
		: -1;
}

#endif
