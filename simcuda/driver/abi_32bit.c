/* SPDX-License-Identifier: MIT */
#include "driver.h"

/*
 * The forms of CUDA 2 and 3.0, with 32-bit device addresses and sizes. Their allocations lie below
 * 4 GiB. An address or size that does not fit is an invalid value. Exception: an amount of memory
 * that does not fit is reported as the largest value that fits.
 */

static bool fits_in_32_bits(size_t value)
{
	return value <= UINT32_MAX;
}

static unsigned int clamp_to_32_bits(size_t value)
{
	return fits_in_32_bits(value) ? (unsigned int)value : UINT32_MAX;
}

CUresult cuDeviceTotalMem(unsigned int *ret_bytes, CUdevice ordinal)
{
	size_t bytes;
	CUresult result = ret_bytes ? cuDeviceTotalMem_v2(&bytes, ordinal) : CUDA_ERROR_INVALID_VALUE;

	if (result == CUDA_SUCCESS)
		*ret_bytes = clamp_to_32_bits(bytes);
	return result;
}

CUresult cuMemGetInfo(unsigned int *ret_free_bytes, unsigned int *ret_total_bytes)
{
	size_t free_bytes, total_bytes;
	CUresult result = ret_free_bytes && ret_total_bytes ? cuMemGetInfo_v2(&free_bytes, &total_bytes)
														: CUDA_ERROR_INVALID_VALUE;

	if (result == CUDA_SUCCESS) {
		*ret_free_bytes = clamp_to_32_bits(free_bytes);
		*ret_total_bytes = clamp_to_32_bits(total_bytes);
	}
	return result;
}

CUresult cuMemAlloc(CUdeviceptr_v1 *ret_address, unsigned int size_bytes)
{
	CUdeviceptr address;
	CUresult result =
		sim_memory_allocate(ret_address ? &address : NULL, size_bytes, SIM_SPACE_DEVICE, 0, true);

	if (result == CUDA_SUCCESS)
		*ret_address = (CUdeviceptr_v1)address;
	return result;
}

CUresult cuMemAllocPitch(CUdeviceptr_v1 *ret_address, unsigned int *ret_pitch_bytes,
	unsigned int width_bytes, unsigned int height, unsigned int element_size_bytes)
{
	CUdeviceptr address;
	size_t pitch_bytes, size_bytes;
	CUresult result = ret_pitch_bytes
		? sim_pitch(width_bytes, height, element_size_bytes, &pitch_bytes, &size_bytes)
		: CUDA_ERROR_INVALID_VALUE;

	if (result == CUDA_SUCCESS && !fits_in_32_bits(size_bytes))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	if (result == CUDA_SUCCESS)
		result = sim_memory_allocate(ret_address ? &address : NULL, size_bytes, SIM_SPACE_DEVICE, 0,
			true);
	if (result == CUDA_SUCCESS) {
		*ret_address = (CUdeviceptr_v1)address;
		*ret_pitch_bytes = (unsigned int)pitch_bytes;
	}
	return result;
}

CUresult cuMemGetAddressRange(CUdeviceptr_v1 *ret_base, unsigned int *ret_size_bytes,
	CUdeviceptr_v1 address)
{
	CUdeviceptr base;
	size_t size_bytes;
	CUresult result = cuMemGetAddressRange_v2(&base, &size_bytes, address);

	if (result != CUDA_SUCCESS)
		return result;
	if (!fits_in_32_bits(base) || !fits_in_32_bits(size_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (ret_base)
		*ret_base = (CUdeviceptr_v1)base;
	if (ret_size_bytes)
		*ret_size_bytes = (unsigned int)size_bytes;
	return CUDA_SUCCESS;
}

CUresult cuMemAllocHost(void **ret_memory, unsigned int size_bytes)
{
	return sim_host_allocate(ret_memory, size_bytes, 0, true);
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr_v1 *ret_address, void *memory, unsigned int flags)
{
	CUdeviceptr address;
	CUresult result = cuMemHostGetDevicePointer_v2(ret_address ? &address : NULL, memory, flags);

	if (result == CUDA_SUCCESS && !fits_in_32_bits(address))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*ret_address = (CUdeviceptr_v1)address;
	return result;
}

CUresult cuModuleGetGlobal(CUdeviceptr_v1 *ret_address, unsigned int *ret_size_bytes,
	CUmodule module, const char *name)
{
	CUdeviceptr address;
	size_t size_bytes;
	CUresult result = cuModuleGetGlobal_v2(&address, &size_bytes, module, name);

	if (result == CUDA_SUCCESS && (!fits_in_32_bits(address) || !fits_in_32_bits(size_bytes)))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS && ret_address)
		*ret_address = (CUdeviceptr_v1)address;
	if (result == CUDA_SUCCESS && ret_size_bytes)
		*ret_size_bytes = (unsigned int)size_bytes;
	return result;
}

/* --- arrays ----------------------------------------------------------------------------------- */

CUresult cuArrayCreate(CUarray *ret_array, const CUDA_ARRAY_DESCRIPTOR_v1 *descriptor)
{
	CUDA_ARRAY_DESCRIPTOR wide;

	if (!descriptor)
		return CUDA_ERROR_INVALID_VALUE;
	wide = (CUDA_ARRAY_DESCRIPTOR){ descriptor->Width, descriptor->Height, descriptor->Format,
		descriptor->NumChannels };
	return cuArrayCreate_v2(ret_array, &wide);
}

CUresult cuArray3DCreate(CUarray *ret_array, const CUDA_ARRAY3D_DESCRIPTOR_v1 *descriptor)
{
	CUDA_ARRAY3D_DESCRIPTOR wide;

	if (!descriptor)
		return CUDA_ERROR_INVALID_VALUE;
	wide = (CUDA_ARRAY3D_DESCRIPTOR){ descriptor->Width, descriptor->Height, descriptor->Depth,
		descriptor->Format, descriptor->NumChannels, descriptor->Flags };
	return cuArray3DCreate_v2(ret_array, &wide);
}

CUresult cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR_v1 *ret_descriptor, CUarray array)
{
	CUDA_ARRAY_DESCRIPTOR wide;
	CUresult result =
		ret_descriptor ? cuArrayGetDescriptor_v2(&wide, array) : CUDA_ERROR_INVALID_VALUE;

	if (result == CUDA_SUCCESS)
		*ret_descriptor = (CUDA_ARRAY_DESCRIPTOR_v1){ clamp_to_32_bits(wide.Width),
			clamp_to_32_bits(wide.Height), wide.Format, wide.NumChannels };
	return result;
}

CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR_v1 *ret_descriptor, CUarray array)
{
	CUDA_ARRAY3D_DESCRIPTOR wide;
	CUresult result =
		ret_descriptor ? cuArray3DGetDescriptor_v2(&wide, array) : CUDA_ERROR_INVALID_VALUE;

	if (result == CUDA_SUCCESS)
		*ret_descriptor = (CUDA_ARRAY3D_DESCRIPTOR_v1){
			clamp_to_32_bits(wide.Width),
			clamp_to_32_bits(wide.Height),
			clamp_to_32_bits(wide.Depth),
			wide.Format,
			wide.NumChannels,
			wide.Flags,
		};
	return result;
}
