/* SPDX-License-Identifier: MIT */
#include "runtime.h"

/* Memory functions that need more than one driver call, or additional checks of the arguments. */

static cudaError_t allocate(void **ret_address, size_t size_bytes)
{
	CUdeviceptr address = 0;
	cudaError_t error = sim_enter();

	if (error)
		return error;
	if (!ret_address)
		return cudaErrorInvalidValue;
	/* A request for 0 bytes allocates nothing and succeeds. The driver would return an error. */
	if (size_bytes > 0)
		error = sim_error(sim_driver_calls.cuMemAlloc_v2(&address, size_bytes));
	if (!error)
		*ret_address = (void *)address;
	return error;
}

cudaError_t cudaMalloc(void **ret_address, size_t size_bytes)
{
	return sim_leave(allocate(ret_address, size_bytes));
}

static cudaError_t allocate_pitch(void **ret_address, size_t *ret_pitch_bytes, size_t width_bytes,
	size_t height)
{
	CUdeviceptr address = 0;
	cudaError_t error = sim_enter();

	if (error)
		return error;
	if (!ret_address || !ret_pitch_bytes)
		return cudaErrorInvalidValue;
	*ret_pitch_bytes = 0;
	if (width_bytes > 0 && height > 0)
		error = sim_error(sim_driver_calls.cuMemAllocPitch_v2(&address, ret_pitch_bytes,
			width_bytes, height, 4));
	if (!error)
		*ret_address = (void *)address;
	return error;
}

cudaError_t cudaMallocPitch(void **ret_address, size_t *ret_pitch_bytes, size_t width_bytes,
	size_t height)
{
	return sim_leave(allocate_pitch(ret_address, ret_pitch_bytes, width_bytes, height));
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *ret_pointer, struct cudaExtent extent)
{
	if (!ret_pointer)
		return sim_leave(cudaErrorInvalidValue);
	cudaError_t error = allocate_pitch(&ret_pointer->ptr, &ret_pointer->pitch, extent.width,
		extent.height * extent.depth);
	ret_pointer->xsize = extent.width;
	ret_pointer->ysize = extent.height;
	return sim_leave(error);
}

cudaError_t cudaMallocManaged(void **ret_address, size_t size_bytes, unsigned int flags)
{
	return SIM_CALL(cuMemAllocManaged((CUdeviceptr *)ret_address, size_bytes, flags));
}

cudaError_t cudaHostAlloc(void **ret_memory, size_t size_bytes, unsigned int flags)
{
	cudaError_t error = sim_enter();

	if (!error && !ret_memory)
		error = cudaErrorInvalidValue;
	if (!error && size_bytes == 0)
		*ret_memory = NULL;
	else if (!error)
		error = sim_error(sim_driver_calls.cuMemHostAlloc(ret_memory, size_bytes, flags));
	return sim_leave(error);
}

cudaError_t cudaMallocHost(void **ret_memory, size_t size_bytes)
{
	return cudaHostAlloc(ret_memory, size_bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void *memory)
{
	return sim_leave(sim_enter()
			?: memory ? sim_error(sim_driver_calls.cuMemFreeHost(memory))
					  : cudaSuccess);
}

/* A call with NULL frees no memory. CUDA programs call cudaFree(0) to make a context. */
cudaError_t cudaFree(void *address)
{
	return SIM_CALL(cuMemFree_v2((CUdeviceptr)address));
}

/* --- arrays ----------------------------------------------------------------------------------- */

static CUarray_format array_format(const struct cudaChannelFormatDesc *channels)
{
	if (channels->f == cudaChannelFormatKindFloat)
		return channels->x == 16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
	bool is_signed = channels->f == cudaChannelFormatKindSigned;
	switch (channels->x) {
	case 8:
		return is_signed ? CU_AD_FORMAT_SIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT8;
	case 16:
		return is_signed ? CU_AD_FORMAT_SIGNED_INT16 : CU_AD_FORMAT_UNSIGNED_INT16;
	default:
		return is_signed ? CU_AD_FORMAT_SIGNED_INT32 : CU_AD_FORMAT_UNSIGNED_INT32;
	}
}

CUDA_ARRAY3D_DESCRIPTOR sim_describe_array(const struct cudaChannelFormatDesc *channels,
	struct cudaExtent extent, unsigned int flags)
{
	return (CUDA_ARRAY3D_DESCRIPTOR){
		.Width = extent.width,
		.Height = extent.height,
		.Depth = extent.depth,
		.Format = array_format(channels),
		.NumChannels = (unsigned int)((channels->x > 0) + (channels->y > 0) + (channels->z > 0) +
			(channels->w > 0)),
		.Flags = flags,
	};
}

cudaError_t cudaMallocArray(cudaArray_t *ret_array, const struct cudaChannelFormatDesc *channels,
	size_t width, size_t height, unsigned int flags)
{
	if (!ret_array || !channels)
		return sim_leave(cudaErrorInvalidValue);
	if (flags != 0)
		return cudaMalloc3DArray(ret_array, channels, (struct cudaExtent){ width, height, 0 },
			flags);
	CUDA_ARRAY3D_DESCRIPTOR volume =
		sim_describe_array(channels, (struct cudaExtent){ width, height, 0 }, 0);
	CUDA_ARRAY_DESCRIPTOR descriptor = {
		.Width = volume.Width,
		.Height = volume.Height,
		.Format = volume.Format,
		.NumChannels = volume.NumChannels,
	};
	return SIM_CALL(cuArrayCreate_v2((CUarray *)ret_array, &descriptor));
}

cudaError_t cudaMalloc3DArray(cudaArray_t *ret_array, const struct cudaChannelFormatDesc *channels,
	struct cudaExtent extent, unsigned int flags)
{
	if (!ret_array || !channels)
		return sim_leave(cudaErrorInvalidValue);
	CUDA_ARRAY3D_DESCRIPTOR descriptor = sim_describe_array(channels, extent, flags);
	return SIM_CALL(cuArray3DCreate_v2((CUarray *)ret_array, &descriptor));
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *ret_array,
	const struct cudaChannelFormatDesc *channels, struct cudaExtent extent,
	unsigned int level_count, unsigned int flags)
{
	if (!ret_array || !channels)
		return sim_leave(cudaErrorInvalidValue);
	CUDA_ARRAY3D_DESCRIPTOR descriptor = sim_describe_array(channels, extent, flags);
	return SIM_CALL(cuMipmappedArrayCreate((CUmipmappedArray *)ret_array, &descriptor,
		level_count));
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
	return sim_leave(sim_enter()
			?: array ? sim_error(sim_driver_calls.cuArrayDestroy((CUarray)array))
					 : cudaSuccess);
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array)
{
	return sim_leave(sim_enter()
			?: array ? sim_error(sim_driver_calls.cuMipmappedArrayDestroy((CUmipmappedArray)array))
					 : cudaSuccess);
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
	enum cudaChannelFormatKind kind)
{
	return (struct cudaChannelFormatDesc){ x, y, z, w, kind };
}

static struct cudaChannelFormatDesc describe_channels(CUarray_format format, unsigned int count)
{
	enum cudaChannelFormatKind kind = cudaChannelFormatKindSigned;
	int bits = 8;

	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_UNSIGNED_INT32:
		kind = cudaChannelFormatKindUnsigned;
		break;
	case CU_AD_FORMAT_HALF:
	case CU_AD_FORMAT_FLOAT:
		kind = cudaChannelFormatKindFloat;
		break;
	default:
		break;
	}
	if (format == CU_AD_FORMAT_UNSIGNED_INT16 || format == CU_AD_FORMAT_SIGNED_INT16 ||
		format == CU_AD_FORMAT_HALF)
		bits = 16;
	else if (format == CU_AD_FORMAT_UNSIGNED_INT32 || format == CU_AD_FORMAT_SIGNED_INT32 ||
		format == CU_AD_FORMAT_FLOAT)
		bits = 32;
	return cudaCreateChannelDesc(bits, count > 1 ? bits : 0, count > 2 ? bits : 0,
		count > 3 ? bits : 0, kind);
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *ret_channels,
	struct cudaExtent *ret_extent, unsigned int *ret_flags, cudaArray_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	cudaError_t error = sim_enter()
		?: sim_error(sim_driver_calls.cuArray3DGetDescriptor_v2(&descriptor, (CUarray)array));

	if (error)
		return sim_leave(error);
	if (ret_channels)
		*ret_channels = describe_channels(descriptor.Format, descriptor.NumChannels);
	if (ret_extent)
		*ret_extent = (struct cudaExtent){ descriptor.Width, descriptor.Height, descriptor.Depth };
	if (ret_flags)
		*ret_flags = descriptor.Flags;
	return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *ret_channels, cudaArray_const_t array)
{
	if (!ret_channels)
		return sim_leave(cudaErrorInvalidValue);
	return cudaArrayGetInfo(ret_channels, NULL, NULL, (cudaArray_t)(uintptr_t)array);
}

/* --- pointers --------------------------------------------------------------------------------- */

cudaError_t sim_describe_pointer(const void *pointer, struct sim_pointer *ret_pointer)
{
	CUmemorytype type = 0;
	int ordinal = cudaInvalidDeviceId;
	void *device_pointer = NULL, *host_pointer = NULL;
	unsigned int is_managed = 0;
	CUpointer_attribute wanted[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
		CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
		CU_POINTER_ATTRIBUTE_HOST_POINTER,
		CU_POINTER_ATTRIBUTE_IS_MANAGED,
	};
	void *values[] = { &type, &ordinal, &device_pointer, &host_pointer, &is_managed };
	cudaError_t error = sim_enter();

	if (!error)
		error = sim_error(sim_driver_calls.cuPointerGetAttributes(5, wanted, values,
			(CUdeviceptr)pointer));
	if (error)
		return error;

	*ret_pointer = (struct sim_pointer){
		.type = is_managed                 ? cudaMemoryTypeManaged
			: type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
			: type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
										   : cudaMemoryTypeUnregistered,
		.device = ordinal,
		.device_pointer = device_pointer,
		.host_pointer = host_pointer,
	};
	/* A pointer to plain host memory is also its own host pointer. */
	if (ret_pointer->type == cudaMemoryTypeUnregistered)
		ret_pointer->host_pointer = (void *)(uintptr_t)pointer;
	return cudaSuccess;
}
