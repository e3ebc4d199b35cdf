/* SPDX-License-Identifier: MIT */
#include "code.h"
#include "contexts/stream.h"

/*
 * Functions and launches. A launch only adds a node to a capture. If modules are lazy, the first
 * launch of a function also loads its module. The driver assumes that a function handle which it
 * did not make comes from a program's own runtime.
 */

/* --- functions -------------------------------------------------------------------------------- */

CUresult cuFuncGetAttribute(int *ret_value, CUfunction_attribute attribute, CUfunction function)
{
	if (!ret_value || !function)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*ret_value = 1024;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*ret_value = 32;
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*ret_value = 90;
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*ret_value = 49152;
		break;
	default:
		*ret_value = 0;
	}
	return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
	(void)attribute;
	(void)value;
	return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
	(void)config;
	return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelGetAttribute(int *ret_value, CUfunction_attribute attribute, CUkernel kernel,
	CUdevice ordinal)
{
	(void)ordinal;
	return cuFuncGetAttribute(ret_value, attribute, (CUfunction)(void *)kernel);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
	CUdevice ordinal)
{
	(void)attribute;
	(void)value;
	(void)ordinal;
	return kernel ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret_count, CUfunction function,
	int block_size, size_t shared_bytes, unsigned int flags)
{
	(void)shared_bytes;
	(void)flags;
	if (!ret_count || !function || block_size <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_count = block_size <= 1024 ? 2048 / block_size : 0;
	if (*ret_count > 32)
		*ret_count = 32;
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_count, CUfunction function,
	int block_size, size_t shared_bytes)
{
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ret_count, function, block_size,
		shared_bytes, 0);
}

CUresult cuOccupancyMaxActiveClusters(int *ret_count, CUfunction function,
	const CUlaunchConfig *config)
{
	if (!ret_count || !function || !config)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_count = 8;
	return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *ret_map, CUtensorMapDataType type, cuuint32_t rank,
	void *address, const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
	const cuuint32_t *element_strides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
	CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
	(void)type;
	(void)rank;
	(void)address;
	(void)sizes;
	(void)strides;
	(void)box;
	(void)element_strides;
	(void)interleave;
	(void)swizzle;
	(void)promotion;
	(void)fill;
	if (!ret_map)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_map = (CUtensorMap){ 0 };
	return CUDA_SUCCESS;
}

CUresult cuFuncGetModule(CUmodule *ret_module, CUfunction function)
{
	if (!ret_module)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	const struct CUfunc_st *found = sim_function_find(function);
	if (found)
		*ret_module = found->module;
	sim_unlock();
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncGetName(const char **ret_name, CUfunction function)
{
	if (!ret_name)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	const struct CUfunc_st *found = sim_function_find(function);
	if (found)
		*ret_name = found->named.name;
	sim_unlock();
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *ret_state, CUfunction function)
{
	if (!ret_state)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	const struct CUfunc_st *found = sim_function_find(function);
	if (found)
		*ret_state = found->module->is_loaded ? CU_FUNCTION_LOADING_STATE_LOADED
											  : CU_FUNCTION_LOADING_STATE_UNLOADED;
	sim_unlock();
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncLoad(CUfunction function)
{
	sim_lock();
	const struct CUfunc_st *found = sim_function_find(function);
	CUresult result = found ? sim_module_load(found->module) : CUDA_ERROR_INVALID_HANDLE;
	sim_unlock();
	return result;
}

/* --- launches --------------------------------------------------------------------------------- */

/* If modules are lazy, a launch loads the code, unless an earlier call has loaded it. */
static CUresult load_code(const void *function, struct CUctx_st *context)
{
	struct CUfunc_st *found;

	if (!sim_driver.is_module_lazy)
		return CUDA_SUCCESS;
	sim_lock();
	CUresult result = sim_kernel_get_function(function, context, &found);
	if (result == CUDA_SUCCESS && !found)
		found = sim_function_find(function);
	if (result == CUDA_SUCCESS && found)
		result = sim_module_load(found->module);
	sim_unlock();
	return result;
}

static CUresult launch(const CUDA_KERNEL_NODE_PARAMS *kernel, CUstream stream)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!kernel->func)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!kernel->gridDimX || !kernel->gridDimY || !kernel->gridDimZ || !kernel->blockDimX ||
		!kernel->blockDimY || !kernel->blockDimZ)
		return CUDA_ERROR_INVALID_VALUE;
	result = load_code(kernel->func, context);
	if (result == CUDA_SUCCESS)
		sim_capture_add_kernel(stream, kernel);
	return result;
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
	unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z,
	unsigned int shared_bytes, CUstream stream, void **parameters, void **extra)
{
	CUDA_KERNEL_NODE_PARAMS kernel = {
		function,
		grid_x,
		grid_y,
		grid_z,
		block_x,
		block_y,
		block_z,
		shared_bytes,
		parameters,
		extra,
		NULL,
		NULL,
	};

	return launch(&kernel, stream);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
	void **extra)
{
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ,
		config->blockDimX, config->blockDimY, config->blockDimZ, config->sharedMemBytes,
		config->hStream, parameters, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
	unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z,
	unsigned int shared_bytes, CUstream stream, void **parameters)
{
	return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
		stream, parameters, NULL);
}

/* --- profilers -------------------------------------------------------------------------------- */

/* Takes the configuration and output files of a profiler. The driver profiles no program. */
CUresult cuProfilerInitialize(const char *settings_path, const char *output_path,
	CUoutput_mode mode)
{
	(void)mode;
	return settings_path && output_path ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuProfilerStart(void)
{
	return CUDA_SUCCESS;
}

CUresult cuProfilerStop(void)
{
	return CUDA_SUCCESS;
}
