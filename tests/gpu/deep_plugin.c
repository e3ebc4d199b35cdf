/* SPDX-License-Identifier: MIT */
/*
 * A library that is linked to the driver. It allocates, launches a kernel, and prints the kernel's
 * result. deep.c opens it.
 */
#include "device.h"

int compute(void);
int compute(void)
{
	CUmodule module;
	CUfunction function;
	CUdeviceptr place;
	unsigned value = 7;
	void *parameters[] = { &place };

	begin();
	CHECK(cuMemAlloc(&place, 654321));
	CHECK(cuMemcpyHtoD(place, &value, sizeof(value)));
	CHECK(cuModuleLoadData(&module, kernel_text));
	CHECK(cuModuleGetFunction(&function, module, "store"));
	CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
	CHECK(cuCtxSynchronize());
	CHECK(cuMemcpyDtoH(&value, place, sizeof(value)));
	CHECK(cuMemFree(place));
	CHECK(cuModuleUnload(module));
	printf("written %u\n", value);
	return 0;
}
