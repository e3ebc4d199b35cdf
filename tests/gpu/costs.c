/* SPDX-License-Identifier: MIT */
/*
 * costs: makes contexts, loads code and raises limits. After each step prints how much more memory
 * the device has in use, by the driver (-1: it has no context yet) and by NVML (-1: there is no
 * NVML).
 */
#include "device.h"

static int64_t driver_bytes, nvml_bytes;

static void note(int is_driver_there)
{
	driver_bytes = is_driver_there ? used_bytes_from_driver() : -1;
	nvml_bytes = used_bytes_from_nvml();
}

static void print_costs(const char *what, int is_driver_there)
{
	int64_t driver_before = driver_bytes, nvml_before = nvml_bytes;

	CHECK(cuCtxSynchronize());
	note(is_driver_there);
	printf("cost %s %lld %lld\n", what,
		(long long)(driver_before < 0 ? -1 : driver_bytes - driver_before),
		(long long)(nvml_before < 0 ? -1 : nvml_bytes - nvml_before));
}

static void launch(CUmodule module)
{
	CUfunction function;
	CUdeviceptr place;
	void *parameters[] = { &place };

	CHECK(cuMemAlloc(&place, 4));
	note(1);
	CHECK(cuModuleGetFunction(&function, module, "store"));
	CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
	print_costs("launch", 1);
}

int main(void)
{
	CUcontext context, second;
	CUmodule module;
	size_t heap_bytes;

	CHECK(cuInit(0));
	note(0);
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	print_costs("context", 1);

#if CUDA_VERSION >= 13000
	CHECK(cuCtxCreate(&second, NULL, 0, 0));
#else
	CHECK(cuCtxCreate(&second, 0, 0));
#endif
	print_costs("context", 1);
	CHECK(cuCtxSetCurrent(context));

	for (int i = 0; i < 3; i++) {
		note(1);
		CHECK(cuModuleLoadData(&module, kernel_ptx));
		print_costs("module", 1);
	}
	launch(module);

	CHECK(cuCtxGetLimit(&heap_bytes, CU_LIMIT_STACK_SIZE));
	note(1);
	CHECK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, heap_bytes * 8));
	print_costs("limit", 1);
	sleep_seconds(0.5);
	return 0;
}
