/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "code.h"

/*
 * Libraries: code that belongs to no context and is loaded into each context that uses it. If
 * modules are not lazy, a library is in every context from the start.
 */

static struct CUlib_st *libraries;

static bool is_live(const struct CUlib_st *library)
{
	for (const struct CUlib_st *live = libraries; live; live = live->next)
		if (live == library)
			return true;
	return false;
}

static struct CUkern_st *find_kernel(const void *handle)
{
	for (const struct CUlib_st *library = libraries; library; library = library->next)
		for (struct sim_named *kernel = library->kernels; kernel; kernel = kernel->next)
			if (kernel == handle)
				return (struct CUkern_st *)kernel;
	return NULL;
}

/* Gets the library's module in that context, and makes it if needed. */
static CUresult get_module(struct CUlib_st *library, struct CUctx_st *context,
	struct CUmod_st **ret_module)
{
	*ret_module = sim_module_of_library(library, context);
	return *ret_module ? CUDA_SUCCESS : sim_module_new(context, library->code, library, ret_module);
}

CUresult sim_libraries_load_into(struct CUctx_st *context)
{
	struct CUmod_st *module;
	CUresult result = CUDA_SUCCESS;

	if (sim_driver.is_module_lazy)
		return CUDA_SUCCESS;
	for (struct CUlib_st *library = libraries; library && result == CUDA_SUCCESS;
		library = library->next)
		result = get_module(library, context, &module);
	return result;
}

CUresult sim_kernel_get_function(const void *handle, struct CUctx_st *context,
	struct CUfunc_st **ret_function)
{
	struct CUmod_st *module;
	const struct CUkern_st *kernel = find_kernel(handle);

	*ret_function = NULL;
	if (!kernel)
		return CUDA_SUCCESS;
	CUresult result = get_module(kernel->library, context, &module);
	return result == CUDA_SUCCESS
		? sim_module_get_function(module, kernel->named.name, ret_function)
		: result;
}

/* --- loading ---------------------------------------------------------------------------------- */

static void library_free(struct CUlib_st *library)
{
	sim_modules_free_of_library(library);
	for (size_t i = 0; i < library->code->count; i++)
		if (library->managed[i])
			sim_block_free(library->managed[i]);
	sim_named_free(library->kernels);
	sim_code_release(library->code);
	free(library->managed);
	free(library);
}

/* Loads the library into all existing contexts, unless modules are lazy. */
static CUresult load_everywhere(struct CUlib_st *library)
{
	struct CUmod_st *module;
	CUresult result = CUDA_SUCCESS;

	if (sim_driver.is_module_lazy)
		return CUDA_SUCCESS;
	for (struct CUctx_st *context = sim_driver.contexts; context && result == CUDA_SUCCESS;
		context = context->next)
		result = get_module(library, context, &module);
	return result;
}

static struct CUlib_st *library_new(const void *image)
{
	struct CUlib_st *library = calloc(1, sizeof(*library));
	struct sim_code *code = sim_code_read(image);
	struct sim_block **managed = code ? calloc(code->count + 1, sizeof(struct sim_block *)) : NULL;

	if (!library || !managed) {
		free(library);
		if (code)
			sim_code_release(code);
		return NULL;
	}
	*library = (struct CUlib_st){ .code = code, .managed = managed };
	return library;
}

/* Adds the library to the list and loads it. Frees the library if that fails. */
static CUresult library_begin(struct CUlib_st *library)
{
	CUresult result = load_everywhere(library);

	if (result != CUDA_SUCCESS) {
		library_free(library);
		return result;
	}
	library->next = libraries;
	libraries = library;
	return CUDA_SUCCESS;
}

static void library_end(struct CUlib_st *library)
{
	struct CUlib_st **link = &libraries;

	while (*link != library)
		link = &(*link)->next;
	*link = library->next;
	library_free(library);
}

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
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_library || !code)
		return CUDA_ERROR_INVALID_VALUE;
	struct CUlib_st *library = library_new(code);
	if (!library)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_lock();
	CUresult result = library_begin(library);
	if (result == CUDA_SUCCESS)
		*ret_library = library;
	sim_unlock();
	return result;
}

CUresult cuLibraryLoadFromFile(CUlibrary *ret_library, const char *path, CUjit_option *jit_options,
	void **jit_values, unsigned int jit_count, CUlibraryOption *options, void **values,
	unsigned int count)
{
	char *image;

	CUresult result = path ? sim_read_file(path, &image) : CUDA_ERROR_INVALID_VALUE;
	if (result != CUDA_SUCCESS)
		return result;
	result = cuLibraryLoadData(ret_library, image, jit_options, jit_values, jit_count, options,
		values, count);
	free(image);
	return result;
}

CUresult cuLibraryUnload(CUlibrary library)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	sim_lock();
	bool is_valid = is_live(library);
	if (is_valid)
		library_end(library);
	sim_unlock();
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* --- kernels ---------------------------------------------------------------------------------- */

static CUresult get_kernel(struct CUlib_st *library, const char *name,
	struct CUkern_st **ret_kernel)
{
	if (!sim_code_has_function(library->code, name))
		return CUDA_ERROR_NOT_FOUND;

	struct CUkern_st *kernel = sim_named_get(&library->kernels, name, sizeof(*kernel));

	if (!kernel)
		return CUDA_ERROR_OUT_OF_MEMORY;
	kernel->library = library;
	*ret_kernel = kernel;
	return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel *ret_kernel, CUlibrary library, const char *name)
{
	if (!ret_kernel || !name)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	CUresult result =
		is_live(library) ? get_kernel(library, name, ret_kernel) : CUDA_ERROR_INVALID_HANDLE;
	sim_unlock();
	return result;
}

CUresult cuLibraryGetKernelCount(unsigned int *ret_count, CUlibrary library)
{
	if (!ret_count)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	bool is_valid = is_live(library);
	if (is_valid)
		*ret_count = sim_code_function_count(library->code);
	sim_unlock();
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLibraryEnumerateKernels(CUkernel *ret_kernels, unsigned int capacity, CUlibrary library)
{
	if (!ret_kernels || capacity == 0)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	CUresult result = is_live(library) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
	for (size_t i = 0; result == CUDA_SUCCESS && capacity > 0; i++, capacity--) {
		i = sim_code_next_function(library->code, i);
		if (i == library->code->count)
			break;
		result = get_kernel(library, library->code->symbols[i].name, ret_kernels++);
	}
	sim_unlock();
	return result;
}

CUresult cuKernelGetFunction(CUfunction *ret_function, CUkernel kernel)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_function || !kernel)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = sim_kernel_get_function(kernel, context, ret_function);
	if (result == CUDA_SUCCESS)
		result =
			*ret_function ? sim_module_load((*ret_function)->module) : CUDA_ERROR_INVALID_HANDLE;
	sim_unlock();
	return result;
}

CUresult cuKernelGetLibrary(CUlibrary *ret_library, CUkernel kernel)
{
	if (!ret_library)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	const struct CUkern_st *found = find_kernel(kernel);
	if (found)
		*ret_library = found->library;
	sim_unlock();
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelGetName(const char **ret_name, CUkernel kernel)
{
	if (!ret_name)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	const struct CUkern_st *found = find_kernel(kernel);
	if (found)
		*ret_name = found->named.name;
	sim_unlock();
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- modules and variables -------------------------------------------------------------------- */

CUresult cuLibraryGetModule(CUmodule *ret_module, CUlibrary library)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_module)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result =
		is_live(library) ? get_module(library, context, ret_module) : CUDA_ERROR_INVALID_HANDLE;
	sim_unlock();
	return result;
}

static CUresult get_variable(CUdeviceptr *ret_address, size_t *ret_size_bytes, CUlibrary library,
	const char *name, bool is_managed)
{
	struct CUctx_st *context;
	struct CUmod_st *module;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!name || (!ret_address && !ret_size_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = is_live(library) ? get_module(library, context, &module) : CUDA_ERROR_INVALID_HANDLE;
	if (result == CUDA_SUCCESS)
		result = sim_module_get_variable(module, name, is_managed, ret_address, ret_size_bytes);
	sim_unlock();
	return result;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *ret_address, size_t *ret_size_bytes, CUlibrary library,
	const char *name)
{
	return get_variable(ret_address, ret_size_bytes, library, name, false);
}

CUresult cuLibraryGetManaged(CUdeviceptr *ret_address, size_t *ret_size_bytes, CUlibrary library,
	const char *name)
{
	return get_variable(ret_address, ret_size_bytes, library, name, true);
}

/* --- code of programs, registered by their runtime -------------------------------------------- */

static struct CUlib_st *find_binary(const void *binary)
{
	struct CUlib_st *library = libraries;

	while (library && library->binary != binary)
		library = library->next;
	return library;
}

static bool is_code_charged(void)
{
	return sim_driver.module_bytes > 0;
}

static bool is_code_lazy(void)
{
	return sim_driver.is_module_lazy;
}

static CUresult load_binary(const void *binary)
{
	struct CUctx_st *context;
	struct CUmod_st *module;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	struct CUlib_st *library = find_binary(binary);
	if (!library) {
		library = library_new("");
		if (library)
			library->binary = binary;
		result = library ? library_begin(library) : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (result == CUDA_SUCCESS)
		result = get_module(library, context, &module);
	if (result == CUDA_SUCCESS)
		result = sim_module_load(module);
	sim_unlock();
	return result;
}

static void unload_binary(const void *binary)
{
	sim_lock();
	struct CUlib_st *library = find_binary(binary);
	if (library)
		library_end(library);
	sim_unlock();
}

const struct sim_runtime_interface sim_runtime_interface = { is_code_charged, is_code_lazy,
	load_binary, unload_binary };
