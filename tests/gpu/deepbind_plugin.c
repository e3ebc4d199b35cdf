/* SPDX-License-Identifier: MIT */
/*
 * A library that deepbind.c opens with RTLD_DEEPBIND. It is linked to the driver. It allocates a
 * block, launches a kernel that writes to the block, and prints what the kernel wrote.
 */
#include "device.h"

int compute(void);
int compute(void)
{
	CUmodule module;
	CUfunction function;
	CUdeviceptr address;
	unsigned value = 7;
	void *parameters[] = { &address };

	use_device_0();
	CHECK(cuMemAlloc(&address, 654321));
	CHECK(cuMemcpyHtoD(address, &value, sizeof(value)));
	CHECK(cuModuleLoadData(&module, kernel_ptx));
	CHECK(cuModuleGetFunction(&function, module, "store"));
	CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
	CHECK(cuCtxSynchronize());
	CHECK(cuMemcpyDtoH(&value, address, sizeof(value)));
	CHECK(cuMemFree(address));
	CHECK(cuModuleUnload(module));
	printf("written %u\n", value);
	return 0;
}
