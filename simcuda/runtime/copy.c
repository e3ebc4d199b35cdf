/* SPDX-License-Identifier: MIT */
#include "runtime.h"

/*
 * Copies and fills. The functions of a runtime call the driver's function for the kind of copy, in
 * the form for legacy streams or for per-thread streams (_ptsz, _ptds).
 */

static bool is_valid_kind(enum cudaMemcpyKind kind)
{
	return (unsigned int)kind <= cudaMemcpyDefault;
}

/*
 * Defines the asynchronous copies and fills. `suffix` is empty for legacy streams, _ptsz for
 * per-thread streams. For copies from host to host and of kind Default, the driver finds out the
 * direction from the addresses.
 */
#define DEFINE_COPIES_AND_FILLS(suffix) \
	cudaError_t cudaMemcpyAsync##suffix(void *destination, const void *source, size_t size_bytes, \
		enum cudaMemcpyKind kind, cudaStream_t stream) \
	{ \
		if (!is_valid_kind(kind)) \
			return sim_leave(cudaErrorInvalidMemcpyDirection); \
		switch (kind) { \
		case cudaMemcpyHostToDevice: \
			return SIM_CALL(cuMemcpyHtoDAsync_v2##suffix((CUdeviceptr)destination, source, \
				size_bytes, stream)); \
		case cudaMemcpyDeviceToHost: \
			return SIM_CALL(cuMemcpyDtoHAsync_v2##suffix(destination, (CUdeviceptr)source, \
				size_bytes, stream)); \
		case cudaMemcpyDeviceToDevice: \
			return SIM_CALL(cuMemcpyDtoDAsync_v2##suffix((CUdeviceptr)destination, \
				(CUdeviceptr)source, size_bytes, stream)); \
		default: \
			return SIM_CALL(cuMemcpyAsync##suffix((CUdeviceptr)destination, (CUdeviceptr)source, \
				size_bytes, stream)); \
		} \
	} \
	cudaError_t cudaMemcpy2DAsync##suffix(void *destination, size_t destination_pitch, \
		const void *source, size_t source_pitch, size_t width_bytes, size_t height, \
		enum cudaMemcpyKind kind, cudaStream_t stream) \
	{ \
		CUDA_MEMCPY2D parameters = describe_2d(destination, destination_pitch, source, \
			source_pitch, width_bytes, height); \
		if (!is_valid_kind(kind)) \
			return sim_leave(cudaErrorInvalidMemcpyDirection); \
		return SIM_CALL(cuMemcpy2DAsync_v2##suffix(&parameters, stream)); \
	} \
	cudaError_t cudaMemsetAsync##suffix(void *address, int value, size_t size_bytes, \
		cudaStream_t stream) \
	{ \
		return SIM_CALL(cuMemsetD8Async##suffix((CUdeviceptr)address, (unsigned char)value, \
			size_bytes, stream)); \
	} \
	cudaError_t cudaMemset2DAsync##suffix(void *address, size_t pitch_bytes, int value, \
		size_t width_bytes, size_t height, cudaStream_t stream) \
	{ \
		return SIM_CALL(cuMemsetD2D8Async##suffix((CUdeviceptr)address, pitch_bytes, \
			(unsigned char)value, width_bytes, height, stream)); \
	}

static CUDA_MEMCPY2D describe_2d(void *destination, size_t destination_pitch, const void *source,
	size_t source_pitch, size_t width_bytes, size_t height)
{
	return (CUDA_MEMCPY2D){
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = (CUdeviceptr)source,
		.srcPitch = source_pitch,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstDevice = (CUdeviceptr)destination,
		.dstPitch = destination_pitch,
		.WidthInBytes = width_bytes,
		.Height = height,
	};
}

DEFINE_COPIES_AND_FILLS()
DEFINE_COPIES_AND_FILLS(_ptsz)
#undef DEFINE_COPIES_AND_FILLS

/*
 * Synchronous forms. They call the driver's synchronous function, or the asynchronous form with the
 * null stream.
 */

cudaError_t cudaMemcpy(void *destination, const void *source, size_t size_bytes,
	enum cudaMemcpyKind kind)
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return SIM_CALL(cuMemcpyHtoD_v2((CUdeviceptr)destination, source, size_bytes));
	case cudaMemcpyDeviceToHost:
		return SIM_CALL(cuMemcpyDtoH_v2(destination, (CUdeviceptr)source, size_bytes));
	case cudaMemcpyDeviceToDevice:
		return SIM_CALL(cuMemcpyDtoD_v2((CUdeviceptr)destination, (CUdeviceptr)source, size_bytes));
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return SIM_CALL(cuMemcpy((CUdeviceptr)destination, (CUdeviceptr)source, size_bytes));
	default:
		return sim_leave(cudaErrorInvalidMemcpyDirection);
	}
}

cudaError_t cudaMemcpy_ptds(void *destination, const void *source, size_t size_bytes,
	enum cudaMemcpyKind kind)
{
	return cudaMemcpyAsync_ptsz(destination, source, size_bytes, kind, NULL);
}

cudaError_t cudaMemcpy2D(void *destination, size_t destination_pitch, const void *source,
	size_t source_pitch, size_t width_bytes, size_t height, enum cudaMemcpyKind kind)
{
	return cudaMemcpy2DAsync(destination, destination_pitch, source, source_pitch, width_bytes,
		height, kind, NULL);
}

cudaError_t cudaMemcpyPeerAsync(void *destination, int destination_device, const void *source,
	int source_device, size_t size_bytes, cudaStream_t stream)
{
	(void)destination_device;
	(void)source_device;
	return SIM_CALL(cuMemcpyPeerAsync((CUdeviceptr)destination, NULL, (CUdeviceptr)source, NULL,
		size_bytes, stream));
}

cudaError_t cudaMemcpyPeer(void *destination, int destination_device, const void *source,
	int source_device, size_t size_bytes)
{
	return cudaMemcpyPeerAsync(destination, destination_device, source, source_device, size_bytes,
		NULL);
}

cudaError_t cudaMemset(void *address, int value, size_t size_bytes)
{
	return SIM_CALL(cuMemsetD8_v2((CUdeviceptr)address, (unsigned char)value, size_bytes));
}

cudaError_t cudaMemset_ptds(void *address, int value, size_t size_bytes)
{
	return cudaMemsetAsync_ptsz(address, value, size_bytes, NULL);
}

cudaError_t cudaMemset2D(void *address, size_t pitch_bytes, int value, size_t width_bytes,
	size_t height)
{
	return cudaMemset2DAsync(address, pitch_bytes, value, width_bytes, height, NULL);
}
