/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "stream.h"

/*
 * Code: modules, libraries, functions, and launches. Nothing of it is looked into or run; each load
 * gives a handle, each name gives a function, and a launch does nothing but be counted in a capture.
 */

struct CUmod_st {
	struct CUmod_st *next;
	struct CUctx_st *context;
	size_t charged_bytes; /* 0: costs nothing, or has not been used yet */
};

static struct CUmod_st *modules;

/* One function stands for all: nobody can tell them apart, for none does anything. */
static char the_function;
static char the_kernel;

static CUresult new_handle(void **ret_handle)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_handle)
		return CUDA_ERROR_INVALID_VALUE;
	struct CUmod_st *module = calloc(1, sizeof(*module));
	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_lock();
	if (sim_device_charge(context->device, sim_driver.module_bytes)) {
		*module = (struct CUmod_st){ modules, context, sim_driver.module_bytes };
		modules = module;
	} else {
		result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	sim_unlock();
	if (result == CUDA_SUCCESS)
		*ret_handle = module;
	else
		free(module);
	return result;
}

static CUresult free_handle(void *handle)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;

	CUresult result = CUDA_ERROR_INVALID_HANDLE;
	sim_lock();
	for (struct CUmod_st **link = &modules; *link; link = &(*link)->next) {
		struct CUmod_st *module = *link;
		if (module == handle) {
			*link = module->next;
			sim_device_refund(module->context->device, module->charged_bytes);
			free(module);
			result = CUDA_SUCCESS;
			break;
		}
	}
	sim_unlock();
	return result;
}

void sim_modules_free_of_context(const struct CUctx_st *context)
{
	for (struct CUmod_st **link = &modules; *link;) {
		struct CUmod_st *module = *link;
		if (module->context == context) {
			*link = module->next;
			sim_device_refund(context->device, module->charged_bytes);
			free(module);
		} else {
			link = &module->next;
		}
	}
}

/* --- modules -------------------------------------------------------------------------------------- */

CUresult cuModuleLoad(CUmodule *ret_module, const char *path)
{
	return path ? new_handle((void **)ret_module) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuModuleLoadData(CUmodule *ret_module, const void *image)
{
	return image ? new_handle((void **)ret_module) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuModuleLoadDataEx(CUmodule *ret_module, const void *image, unsigned int option_count,
			    CUjit_option *options, void **option_values)
{
	(void)option_count;
	(void)options;
	(void)option_values;
	return cuModuleLoadData(ret_module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule *ret_module, const void *image)
{
	return cuModuleLoadData(ret_module, image);
}

CUresult cuModuleUnload(CUmodule module)
{
	return free_handle(module);
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *ret_mode)
{
	if (!ret_mode)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_mode = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *ret_function, CUmodule module, const char *name)
{
	if (!ret_function || !module || !name)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_function = (CUfunction)(void *)&the_function;
	return CUDA_SUCCESS;
}

/* How large a variable is stands in code that nobody reads here. */
CUresult cuModuleGetGlobal_v2(CUdeviceptr *ret_address, size_t *ret_size_bytes, CUmodule module,
			      const char *name)
{
	(void)ret_address;
	(void)ret_size_bytes;
	return module && name ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLinkCreate_v2(unsigned int option_count, CUjit_option *options, void **option_values,
			 CUlinkState *ret_state)
{
	(void)option_count;
	(void)options;
	(void)option_values;
	return new_handle((void **)ret_state);
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size_bytes,
			  const char *name, unsigned int option_count, CUjit_option *options,
			  void **option_values)
{
	(void)type;
	(void)data;
	(void)size_bytes;
	(void)name;
	(void)option_count;
	(void)options;
	(void)option_values;
	return state ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLinkComplete(CUlinkState state, void **ret_code, size_t *ret_size_bytes)
{
	if (!state || !ret_code)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_code = state;
	if (ret_size_bytes)
		*ret_size_bytes = sizeof(struct CUmod_st);
	return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state)
{
	return free_handle(state);
}

/* --- libraries ------------------------------------------------------------------------------------ */

CUresult cuLibraryLoadData(CUlibrary *ret_library, const void *code, CUjit_option *jit_options,
			   void **jit_values, unsigned int jit_count, CUlibraryOption *options, void **values,
			   unsigned int count)
{
	(void)jit_options;
	(void)jit_values;
	(void)jit_count;
	(void)options;
	(void)values;
	(void)count;
	return code ? new_handle((void **)ret_library) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLibraryLoadFromFile(CUlibrary *ret_library, const char *path, CUjit_option *jit_options,
			       void **jit_values, unsigned int jit_count, CUlibraryOption *options,
			       void **values, unsigned int count)
{
	return cuLibraryLoadData(ret_library, path, jit_options, jit_values, jit_count, options, values,
				 count);
}

CUresult cuLibraryUnload(CUlibrary library)
{
	return free_handle(library);
}

CUresult cuLibraryGetKernel(CUkernel *ret_kernel, CUlibrary library, const char *name)
{
	if (!ret_kernel || !library || !name)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_kernel = (CUkernel)(void *)&the_kernel;
	return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule *ret_module, CUlibrary library)
{
	if (!ret_module || !library)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_module = (CUmodule)(void *)library;
	return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernelCount(unsigned int *ret_count, CUlibrary library)
{
	if (!ret_count || !library)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_count = 0;
	return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction *ret_function, CUkernel kernel)
{
	if (!ret_function || !kernel)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_function = (CUfunction)(void *)&the_function;
	return CUDA_SUCCESS;
}

/* --- functions ------------------------------------------------------------------------------------ */

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

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice ordinal)
{
	(void)attribute;
	(void)value;
	(void)ordinal;
	return kernel ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret_count, CUfunction function,
							      int block_size, size_t shared_bytes,
							      unsigned int flags)
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

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_count, CUfunction function, int block_size,
						     size_t shared_bytes)
{
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ret_count, function, block_size,
								    shared_bytes, 0);
}

CUresult cuOccupancyMaxActiveClusters(int *ret_count, CUfunction function, const CUlaunchConfig *config)
{
	if (!ret_count || !function || !config)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_count = 8;
	return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *ret_map, CUtensorMapDataType type, cuuint32_t rank,
				void *address, const cuuint64_t *sizes, const cuuint64_t *strides,
				const cuuint32_t *box, const cuuint32_t *element_strides,
				CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
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

/* --- launches ------------------------------------------------------------------------------------- */

static CUresult launch(const void *function, CUstream stream)
{
	struct CUctx_st *context;
	CUresult result = sim_stream_get_context(stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_capture_add_node(stream, CU_GRAPH_NODE_TYPE_KERNEL);
	return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
			unsigned int block_x, unsigned int block_y, unsigned int block_z,
			unsigned int shared_bytes, CUstream stream, void **parameters, void **extra)
{
	(void)shared_bytes;
	(void)parameters;
	(void)extra;
	if (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z)
		return CUDA_ERROR_INVALID_VALUE;
	return launch(function, stream);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra)
{
	(void)parameters;
	(void)extra;
	return config ? launch(function, config->hStream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
				   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
				   unsigned int block_z, unsigned int shared_bytes, CUstream stream,
				   void **parameters)
{
	return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
			      stream, parameters, NULL);
}

/* --- profilers ------------------------------------------------------------------------------------ */

CUresult cuProfilerStart(void)
{
	return CUDA_SUCCESS;
}

CUresult cuProfilerStop(void)
{
	return CUDA_SUCCESS;
}
