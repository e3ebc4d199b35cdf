/* SPDX-License-Identifier: MIT */
/*
 * bad-calls: makes invalid calls, and prints the driver's result and errno of each call. The output
 * must be the same with and without the recorder. At the end, prints by how many bytes the device's
 * memory in use grew.
 */
#include "device.h"

#include <errno.h>

enum { OWN_ERRNO = 77 };

#define TRY(call) (errno = OWN_ERRNO, print_result(#call, (int)(call)))
static void print_result(const char *call, int result)
{
	int kept = errno;

	printf("%.100s: %d %d\n", call, result, kept);
	fflush(stdout);
}

/* The driver never returns this address, and nothing is mapped there. */
static const CUdeviceptr nowhere = 0x123456000;

static void before_init(void)
{
	CUdeviceptr block = 0;
	CUcontext context;
	void *host = NULL;
	size_t free_bytes, total_bytes;

	TRY(cuMemAlloc(&block, 100));
	TRY(cuMemFree(0));
	TRY(cuMemFree(nowhere));
	TRY(cuMemHostAlloc(&host, 100, 0));
	TRY(cuMemAllocAsync(&block, 100, NULL));
	TRY(cuMemGetInfo(&free_bytes, &total_bytes));
	TRY(cuDevicePrimaryCtxRetain(&context, 0));
	TRY(cuDevicePrimaryCtxReset(0));
}

static void before_a_context(void)
{
	CUdeviceptr block = 0;
	void *host = NULL;

	TRY(cuMemAlloc(&block, 100));
	TRY(cuMemFree(nowhere));
	TRY(cuMemFreeHost(&host));
	TRY(cuMemHostAlloc(&host, 100, 0));
	TRY(cuMemAllocAsync(&block, 100, NULL));
	TRY(cuDevicePrimaryCtxRelease(99));
}

static void linear(void)
{
	CUdeviceptr block = 0;
	size_t pitch;

	TRY(cuMemAlloc(&block, 0));
	TRY(cuMemAlloc(NULL, 100));
	TRY(cuMemAlloc(&block, (size_t)1 << 60));
	TRY(cuMemAlloc(&block, SIZE_MAX));
	TRY(cuMemAlloc(&block, SIZE_MAX - 511));
	TRY(cuMemAllocManaged(&block, 0, 1));
	TRY(cuMemAllocManaged(&block, 100, 77));
	TRY(cuMemAllocPitch(&block, &pitch, 100, 10, 3));
	TRY(cuMemAllocPitch(&block, &pitch, SIZE_MAX / 2, 10, 4));
	TRY(cuMemFree(nowhere));
	TRY(cuMemFree(0));
	CHECK(cuMemAlloc(&block, 10000));
	TRY(cuMemFree(block + 256));
	TRY(cuMemFree(block));
	TRY(cuMemFree(block));
}

static void host(void)
{
	CUdeviceptr block;
	void *memory = NULL, *plain = NULL;

	if (posix_memalign(&plain, 65536, 65536))
		exit(2);
	TRY(cuMemHostAlloc(&memory, 0, 0));
	TRY(cuMemHostAlloc(&memory, SIZE_MAX - 4095, 0));
	TRY(cuMemHostAlloc(&memory, 100, 0x8000));
	TRY(cuMemFreeHost((void *)(uintptr_t)nowhere));
	TRY(cuMemFreeHost(plain));
	TRY(cuMemHostRegister(NULL, 100, 0));
	TRY(cuMemHostRegister(plain, 0, 0));
	TRY(cuMemHostRegister(plain, 65536, 0));
	TRY(cuMemHostRegister(plain, 65536, 0));
	TRY(cuMemHostUnregister(plain));
	TRY(cuMemHostUnregister(plain));
	CHECK(cuMemAlloc(&block, 1000));
	TRY(cuMemFreeHost((void *)(uintptr_t)block));
	TRY(cuMemFree(block));
	CHECK(cuMemHostAlloc(&memory, 1000, 0));
	TRY(cuMemFreeHost(memory));
	TRY(cuMemFreeHost(memory));
}

static void pools(void)
{
	CUdeviceptr block = 0;

	TRY(cuMemAllocAsync(&block, 0, NULL));
	TRY(cuMemAllocAsync(NULL, 100, NULL));
	TRY(cuMemAllocAsync(&block, (size_t)1 << 60, NULL));
	TRY(cuMemFreeAsync(nowhere, NULL));
	CHECK(cuMemAllocAsync(&block, 1000, NULL));
	TRY(cuMemFreeAsync(block, NULL));
	CHECK(cuCtxSynchronize());
	TRY(cuMemFreeAsync(block, NULL));
	TRY(cuMemPoolDestroy(NULL));
	TRY(cuMemAllocFromPoolAsync(&block, 100, NULL, NULL));
}

static void virtual_memory(void)
{
	CUmemAllocationProp on_device = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location.type = CU_MEM_LOCATION_TYPE_DEVICE };
	CUmemGenericAllocationHandle handle = 0;
	CUdeviceptr block, address = 0;

	TRY(cuMemCreate(&handle, 1, &on_device, 0));
	TRY(cuMemCreate(&handle, 0, &on_device, 0));
	TRY(cuMemCreate(&handle, 2 * MIB, NULL, 0));
	TRY(cuMemCreate(&handle, (size_t)1 << 60, &on_device, 0));
	TRY(cuMemAddressReserve(&address, 0, 0, 0, 0));
	TRY(cuMemAddressFree(nowhere, 2 * MIB));
	TRY(cuMemUnmap(nowhere, 2 * MIB));
	CHECK(cuMemAlloc(&block, 2 * MIB));
	TRY(cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)block));
	CHECK(cuMemFree(block));
	CHECK(cuMemCreate(&handle, 2 * MIB, &on_device, 0));
	TRY(cuMemMap(nowhere, 2 * MIB, 0, handle, 0));
	TRY(cuMemRelease(handle));
}

static void others(void)
{
	static const char garbage[64] = "neither code nor text";
	CUDA_ARRAY_DESCRIPTOR flat = {
		.Width = 0, .Height = 0, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1
	};
	CUDA_ARRAY_DESCRIPTOR odd = {
		.Width = 16, .Height = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 3
	};
	CUipcMemHandle ipc;
	CUmodule module;
	CUarray array;

	TRY(cuArrayCreate(&array, &flat));
	TRY(cuArrayCreate(&array, &odd));
	TRY(cuArrayDestroy(NULL));
	TRY(cuMipmappedArrayDestroy(NULL));
	TRY(cuIpcGetMemHandle(&ipc, nowhere));
	TRY(cuGraphLaunch(NULL, NULL));
	TRY(cuModuleLoadData(&module, garbage));
	TRY(cuModuleUnload(NULL));
	TRY(cuCtxSetLimit((CUlimit)1000, 1));
	TRY(cuCtxDestroy(NULL));
}

static void after_the_end(CUdeviceptr block)
{
	TRY(cuDevicePrimaryCtxReset(0));
	TRY(cuMemFree(block));
	TRY(cuMemAlloc(&block, 100));
}

int main(void)
{
	CUdeviceptr block;
	int64_t used_bytes;

	before_init();
	CHECK(cuInit(0));
	before_a_context();
	use_device_0();
	CHECK(cuMemAlloc(&block, 5000));
	used_bytes = used_bytes_from_driver();
	linear();
	host();
	pools();
	virtual_memory();
	others();
	printf("taken: %lld\n", (long long)(used_bytes_from_driver() - used_bytes));
	after_the_end(block);
	return 0;
}
