/* SPDX-License-Identifier: MIT */
/*
 * costs: makes contexts, loads code and raises limits. After each step, prints by how many bytes
 * the device's memory in use grew: first as the driver reports it (-1 before the first context),
 * then as NVML reports it (-1 without NVML).
 */
#include "device.h"

static int64_t driver_bytes, nvml_bytes;

static void measure(int has_context)
{
	driver_bytes = has_context ? used_bytes_from_driver() : -1;
	nvml_bytes = used_bytes_from_nvml();
}

static void print_costs(const char *what, int has_context)
{
	int64_t driver_before = driver_bytes, nvml_before = nvml_bytes;

	CHECK(cuCtxSynchronize());
	measure(has_context);
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
	measure(1);
	CHECK(cuModuleGetFunction(&function, module, "store"));
	CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
	print_costs("launch", 1);
}

int main(void)
{
	CUcontext context, second;
	CUmodule module;
	size_t stack_bytes;

	CHECK(cuInit(0));
	measure(0);
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
		measure(1);
		CHECK(cuModuleLoadData(&module, kernel_ptx));
		print_costs("module", 1);
	}
	launch(module);

	CHECK(cuCtxGetLimit(&stack_bytes, CU_LIMIT_STACK_SIZE));
	measure(1);
	CHECK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, stack_bytes * 8));
	print_costs("limit", 1);
	sleep_seconds(0.5);
	return 0;
}
