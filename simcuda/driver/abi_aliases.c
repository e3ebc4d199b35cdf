/* SPDX-License-Identifier: MIT */
#include "driver.h"

/* Functions that only call another form of the same function. */

#define ABI_ALIAS(symbol, name, version, stream, target, parameters, arguments) \
	CUresult symbol parameters \
	{ \
		return target arguments; \
	}
#include "abi_aliases.def"
#undef ABI_ALIAS

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function, void **parameters,
	void **extra)
{
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	CUlaunchConfig per_thread = *config;
	per_thread.hStream = sim_per_thread(config->hStream);
	return cuLaunchKernelEx(&per_thread, function, parameters, extra);
}
