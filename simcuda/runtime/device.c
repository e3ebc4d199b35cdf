/* SPDX-License-Identifier: MIT */
#include "runtime.h"

/* Devices, as the runtime reports them. Queries about a device need no context. */

cudaError_t cudaDriverGetVersion(int *ret_version)
{
	/*
	 * Returns version 0 without an error if there is no driver, so a program can call this first.
	 */
	if (!ret_version)
		return sim_leave(cudaErrorInvalidValue);
	*ret_version = 0;
	cudaError_t error = sim_load_driver();
	if (error && error != cudaErrorNoDevice)
		return cudaSuccess;
	return sim_leave(sim_error(sim_driver_calls.cuDriverGetVersion(ret_version)));
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
	return sim_leave(sim_load_driver() ?: sim_error(sim_driver_calls.cuDeviceGetCount(ret_count)));
}

cudaError_t cudaDeviceGetAttribute(int *ret_value, enum cudaDeviceAttr attribute, int device)
{
	/* Both APIs use the same numbers for device attributes. */
	return sim_leave(sim_load_driver()
			?: sim_error(sim_driver_calls.cuDeviceGetAttribute(ret_value,
				   (CUdevice_attribute)attribute, device)));
}

cudaError_t cudaDeviceGetPCIBusId(char *ret_text, int size_bytes, int device)
{
	return sim_leave(sim_load_driver()
			?: sim_error(sim_driver_calls.cuDeviceGetPCIBusId(ret_text, size_bytes, device)));
}

cudaError_t cudaDeviceGetByPCIBusId(int *ret_device, const char *text)
{
	return sim_leave(sim_load_driver()
			?: sim_error(sim_driver_calls.cuDeviceGetByPCIBusId(ret_device, text)));
}

cudaError_t cudaDeviceGetP2PAttribute(int *ret_value, enum cudaDeviceP2PAttr attribute, int device,
	int peer)
{
	return sim_leave(sim_load_driver()
			?: sim_error(sim_driver_calls.cuDeviceGetP2PAttribute(ret_value,
				   (CUdevice_P2PAttribute)attribute, device, peer)));
}

/* Settings that have no effect on a simulated device. */

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

/* --- properties ------------------------------------------------------------------------------- */

cudaError_t sim_query_identity(int device, char (*ret_name)[256], size_t *ret_total_bytes,
	CUuuid *ret_uuid)
{
	return sim_load_driver()                                                                   ?:
		       sim_error(sim_driver_calls.cuDeviceGetName(*ret_name, sizeof(*ret_name), device)) ?:
		       sim_error(sim_driver_calls.cuDeviceTotalMem_v2(ret_total_bytes, device))          ?:
		       sim_error(sim_driver_calls.cuDeviceGetUuid_v2(ret_uuid, device));
}
