/* SPDX-License-Identifier: MIT */
#include "runtime.h"

#include <string.h>

/* Devices, as the runtime shows them. Questions about a device need no context. */

cudaError_t cudaDriverGetVersion(int *ret_version)
{
	/* Says 0, and no error, where there is no driver; so programs can ask before all else. */
	if (!ret_version)
		return sim_leave(cudaErrorInvalidValue);
	*ret_version = 0;
	cudaError_t error = sim_load_driver();
	if (error && error != cudaErrorNoDevice)
		return cudaSuccess;
	return sim_leave(sim_error(sim_driver.cuDriverGetVersion(ret_version)));
}

cudaError_t cudaRuntimeGetVersion(int *ret_version)
{
	if (!ret_version)
		return sim_leave(cudaErrorInvalidValue);
	*ret_version = SIM_RUNTIME_VERSION;
	return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *ret_count)
{
	if (!ret_count)
		return sim_leave(cudaErrorInvalidValue);
	*ret_count = 0;
	return sim_leave(sim_load_driver() ?: sim_error(sim_driver.cuDeviceGetCount(ret_count)));
}

cudaError_t cudaDeviceGetAttribute(int *ret_value, enum cudaDeviceAttr attribute, int device)
{
	/* Both APIs number these alike. */
	return sim_leave(sim_load_driver() ?:
			 sim_error(sim_driver.cuDeviceGetAttribute(ret_value, (CUdevice_attribute)attribute, device)));
}

cudaError_t cudaDeviceGetPCIBusId(char *ret_text, int size_bytes, int device)
{
	return sim_leave(sim_load_driver() ?: sim_error(sim_driver.cuDeviceGetPCIBusId(ret_text, size_bytes, device)));
}

cudaError_t cudaDeviceGetByPCIBusId(int *ret_device, const char *text)
{
	return sim_leave(sim_load_driver() ?: sim_error(sim_driver.cuDeviceGetByPCIBusId(ret_device, text)));
}

cudaError_t cudaDeviceGetP2PAttribute(int *ret_value, enum cudaDeviceP2PAttr attribute, int device, int peer)
{
	return sim_leave(sim_load_driver() ?:
			 sim_error(sim_driver.cuDeviceGetP2PAttribute(ret_value, (CUdevice_P2PAttribute)attribute,
								      device, peer)));
}

/* Settings that no simulated device has a use for. */

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
	(void)config;
	return sim_leave(sim_enter());
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *ret_config)
{
	if (ret_config)
		*ret_config = cudaFuncCachePreferNone;
	return sim_leave(sim_enter());
}

cudaError_t cudaCtxResetPersistingL2Cache(void)
{
	return sim_leave(sim_enter());
}

/* --- properties ------------------------------------------------------------------------------------ */

/* PROPERTY(field, attribute): which driver attribute a field of the properties is. */
#define PROPERTIES                                                                     \
	PROPERTY(regsPerBlock, MAX_REGISTERS_PER_BLOCK)                                \
	PROPERTY(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK)                       \
	PROPERTY(warpSize, WARP_SIZE)                                                  \
	PROPERTY(memPitch, MAX_PITCH)                                                  \
	PROPERTY(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK)                            \
	PROPERTY(maxThreadsDim[0], MAX_BLOCK_DIM_X)                                    \
	PROPERTY(maxThreadsDim[1], MAX_BLOCK_DIM_Y)                                    \
	PROPERTY(maxThreadsDim[2], MAX_BLOCK_DIM_Z)                                    \
	PROPERTY(maxGridSize[0], MAX_GRID_DIM_X)                                       \
	PROPERTY(maxGridSize[1], MAX_GRID_DIM_Y)                                       \
	PROPERTY(maxGridSize[2], MAX_GRID_DIM_Z)                                       \
	PROPERTY(totalConstMem, TOTAL_CONSTANT_MEMORY)                                 \
	PROPERTY(major, COMPUTE_CAPABILITY_MAJOR)                                      \
	PROPERTY(minor, COMPUTE_CAPABILITY_MINOR)                                      \
	PROPERTY(textureAlignment, TEXTURE_ALIGNMENT)                                  \
	PROPERTY(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT)                       \
	PROPERTY(surfaceAlignment, SURFACE_ALIGNMENT)                                  \
	PROPERTY(multiProcessorCount, MULTIPROCESSOR_COUNT)                            \
	PROPERTY(canMapHostMemory, CAN_MAP_HOST_MEMORY)                                \
	PROPERTY(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH)                                \
	PROPERTY(maxTexture2D[0], MAXIMUM_TEXTURE2D_WIDTH)                             \
	PROPERTY(maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT)                            \
	PROPERTY(maxTexture3D[0], MAXIMUM_TEXTURE3D_WIDTH)                             \
	PROPERTY(maxTexture3D[1], MAXIMUM_TEXTURE3D_HEIGHT)                            \
	PROPERTY(maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH)                             \
	PROPERTY(concurrentKernels, CONCURRENT_KERNELS)                                \
	PROPERTY(pciBusID, PCI_BUS_ID)                                                 \
	PROPERTY(asyncEngineCount, ASYNC_ENGINE_COUNT)                                 \
	PROPERTY(unifiedAddressing, UNIFIED_ADDRESSING)                                \
	PROPERTY(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH)                              \
	PROPERTY(l2CacheSize, L2_CACHE_SIZE)                                           \
	PROPERTY(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR)          \
	PROPERTY(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED)               \
	PROPERTY(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED)                    \
	PROPERTY(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED)                      \
	PROPERTY(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)     \
	PROPERTY(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR)              \
	PROPERTY(managedMemory, MANAGED_MEMORY)                                        \
	PROPERTY(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS)                   \
	PROPERTY(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED)             \
	PROPERTY(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) \
	PROPERTY(cooperativeLaunch, COOPERATIVE_LAUNCH)                                \
	PROPERTY(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)            \
	PROPERTY(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR)            \
	PROPERTY(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK)          \
	PROPERTY(hostRegisterSupported, HOST_REGISTER_SUPPORTED)                       \
	PROPERTY(hostRegisterReadOnlySupported, READ_ONLY_HOST_REGISTER_SUPPORTED)     \
	PROPERTY(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED)                         \
	PROPERTY(clusterLaunch, CLUSTER_LAUNCH)                                        \
	PROPERTY(ipcEventSupported, IPC_EVENT_SUPPORTED)

cudaError_t sim_fill_properties(struct cudaDeviceProp *ret_properties, int device)
{
	cudaError_t error = sim_load_driver();
	CUuuid uuid;
	int value;

	if (!error && !ret_properties)
		error = cudaErrorInvalidValue;
	if (error)
		return error;
	memset(ret_properties, 0, sizeof(*ret_properties));
	error = sim_error(sim_driver.cuDeviceGetName(ret_properties->name, sizeof(ret_properties->name), device)) ?:
		sim_error(sim_driver.cuDeviceTotalMem_v2(&ret_properties->totalGlobalMem, device)) ?:
		sim_error(sim_driver.cuDeviceGetUuid_v2(&uuid, device));
	if (error)
		return error;
	memcpy(&ret_properties->uuid, &uuid, sizeof(uuid));

#define PROPERTY(field, attribute)                                                                          \
	error = sim_error(sim_driver.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_##attribute, device)); \
	if (error)                                                                                          \
		return error;                                                                               \
	ret_properties->field = (__typeof__(ret_properties->field))value;
	PROPERTIES
#undef PROPERTY
	return cudaSuccess;
}
