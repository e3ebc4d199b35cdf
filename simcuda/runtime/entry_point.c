/* SPDX-License-Identifier: MIT */
#include "runtime.h"

/* Driver functions for programs that ask the runtime for them: the driver's own answers. */

static cudaError_t find(const char *symbol, void **ret_address, unsigned int version,
			unsigned long long flags, enum cudaDriverEntryPointQueryResult *ret_status)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	cudaError_t error = sim_load_driver();

	if (!error && (!symbol || !ret_address))
		error = cudaErrorInvalidValue;
	if (error)
		return error;
	CUresult result = sim_driver.cuGetProcAddress_v2(symbol, ret_address, (int)version, flags, &status);
	if (ret_status)
		*ret_status = (enum cudaDriverEntryPointQueryResult)status;
	/* That a function is not there is an answer, which the status gives. */
	if (result == CUDA_ERROR_NOT_FOUND) {
		*ret_address = NULL;
		return ret_status ? cudaSuccess : cudaErrorSymbolNotFound;
	}
	return sim_error(result);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **ret_address, unsigned int version,
					     unsigned long long flags,
					     enum cudaDriverEntryPointQueryResult *ret_status)
{
	return sim_leave(find(symbol, ret_address, version, flags, ret_status));
}

/* For a caller built to use per-thread streams, "default" means those. */
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

/* Without a version: that of the runtime. */

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **ret_address, unsigned long long flags,
				    enum cudaDriverEntryPointQueryResult *ret_status)
{
	return sim_leave(find(symbol, ret_address, SIM_RUNTIME_VERSION, flags, ret_status));
}

cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **ret_address, unsigned long long flags,
					 enum cudaDriverEntryPointQueryResult *ret_status)
{
	return sim_leave(
		find(symbol, ret_address, SIM_RUNTIME_VERSION, per_thread_by_default(flags), ret_status));
}

cudaError_t cudaGetExportTable(const void **ret_table, const cudaUUID_t *id)
{
	return sim_leave(sim_load_driver() ?:
				 sim_error(sim_driver.cuGetExportTable(ret_table, (const CUuuid *)id)));
}
