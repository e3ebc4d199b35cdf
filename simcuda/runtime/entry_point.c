/* SPDX-License-Identifier: MIT */
#include "runtime.h"

/* Driver functions for programs that request them from the runtime. The driver answers. */

static cudaError_t find(const char *symbol, void **ret_address, unsigned int version,
	unsigned long long flags, enum cudaDriverEntryPointQueryResult *ret_status)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	cudaError_t error = sim_load_driver();

	if (!error && (!symbol || !ret_address))
		error = cudaErrorInvalidValue;
	if (error)
		return error;
	CUresult result =
		sim_driver_calls.cuGetProcAddress_v2(symbol, ret_address, (int)version, flags, &status);
	if (ret_status)
		*ret_status = (enum cudaDriverEntryPointQueryResult)status;
	/* A missing function is not an error here. The status reports it. */
	if (result == CUDA_ERROR_NOT_FOUND) {
		*ret_address = NULL;
		return ret_status ? cudaSuccess : cudaErrorSymbolNotFound;
	}
	return sim_error(result);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **ret_address,
	unsigned int version, unsigned long long flags,
	enum cudaDriverEntryPointQueryResult *ret_status)
{
	return sim_leave(find(symbol, ret_address, version, flags, ret_status));
}

/* In a caller built for per-thread streams, "default" means per-thread streams. */
static unsigned long long per_thread_by_default(unsigned long long flags)
{
	return flags == cudaEnableDefault ? cudaEnablePerThreadDefaultStream : flags;
}

cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **ret_address,
	unsigned int version, unsigned long long flags,
	enum cudaDriverEntryPointQueryResult *ret_status)
{
	return sim_leave(find(symbol, ret_address, version, per_thread_by_default(flags), ret_status));
}

/* Functions without a version argument use the version of the runtime. */

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **ret_address,
	unsigned long long flags, enum cudaDriverEntryPointQueryResult *ret_status)
{
	return sim_leave(find(symbol, ret_address, SIM_RUNTIME_VERSION, flags, ret_status));
}

cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **ret_address,
	unsigned long long flags, enum cudaDriverEntryPointQueryResult *ret_status)
{
	return sim_leave(find(symbol, ret_address, SIM_RUNTIME_VERSION, per_thread_by_default(flags),
		ret_status));
}

cudaError_t cudaGetExportTable(const void **ret_table, const cudaUUID_t *id)
{
	return sim_leave(sim_load_driver()
			?: sim_error(sim_driver_calls.cuGetExportTable(ret_table, (const CUuuid *)id)));
}
