/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "code.h"

/* Modules: images loaded into a context. There they cost memory and have variables. */

static struct CUmod_st *modules;

/* --- functions for the other files ------------------------------------------------------------ */

static struct sim_block *variable_new(const struct CUmod_st *module,
	const struct sim_symbol *symbol)
{
	bool is_managed = symbol->kind == SIM_SYMBOL_MANAGED;
	struct sim_device *device = module->context->device;
	size_t charged_bytes = is_managed ? 0 : sim_round_up(symbol->size_bytes, SIM_CHARGE_UNIT_BYTES);

	if (charged_bytes < symbol->size_bytes && !is_managed)
		return NULL;
	if (!sim_device_charge(device, charged_bytes))
		return NULL;
	struct sim_block *block = sim_block_new(SIM_SPACE_VARIABLE, symbol->size_bytes);
	if (!block) {
		sim_device_refund(device, charged_bytes);
		return NULL;
	}
	block->device = device;
	block->charged_bytes = charged_bytes;
	block->flags = is_managed ? CU_MEM_ATTACH_GLOBAL : 0;
	return block;
}

static bool make_variables(struct CUmod_st *module)
{
	const struct sim_code *code = module->code;
	struct sim_block **managed = module->library ? module->library->managed : module->variables;

	for (size_t i = 0; i < code->count; i++) {
		const struct sim_symbol *symbol = &code->symbols[i];
		if (symbol->kind == SIM_SYMBOL_FUNCTION || symbol->size_bytes == 0)
			continue;
		struct sim_block **slot = symbol->kind == SIM_SYMBOL_MANAGED ? managed : module->variables;
		if (!slot[i])
			slot[i] = variable_new(module, symbol);
		if (!slot[i])
			return false;
	}
	return true;
}

static void unload(struct CUmod_st *module)
{
	for (size_t i = 0; i < module->code->count; i++) {
		if (module->variables[i])
			sim_block_free(module->variables[i]);
		module->variables[i] = NULL;
	}
	sim_device_refund(module->context->device, module->charged_bytes);
	module->charged_bytes = 0;
	module->is_loaded = false;
}

CUresult sim_module_load(struct CUmod_st *module)
{
	if (module->is_loaded)
		return CUDA_SUCCESS;
	if (!sim_device_charge(module->context->device, sim_driver.module_bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	module->charged_bytes = sim_driver.module_bytes;
	module->is_loaded = true;
	if (make_variables(module))
		return CUDA_SUCCESS;
	unload(module);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

void sim_module_free(struct CUmod_st *module)
{
	struct CUmod_st **link = &modules;

	while (*link != module)
		link = &(*link)->next;
	*link = module->next;
	unload(module);
	sim_named_free(module->functions);
	sim_code_release(module->code);
	free(module->variables);
	free(module);
}

CUresult sim_module_new(struct CUctx_st *context, struct sim_code *code, struct CUlib_st *library,
	struct CUmod_st **ret_module)
{
	struct CUmod_st *module = malloc(sizeof(*module));
	struct sim_block **variables = calloc(code->count + 1, sizeof(struct sim_block *));

	if (!module || !variables) {
		free(module);
		free(variables);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*module = (struct CUmod_st){
		.next = modules,
		.context = context,
		.library = library,
		.code = code,
		.variables = variables,
	};
	code->references++;
	modules = module;
	CUresult result = sim_driver.is_module_lazy ? CUDA_SUCCESS : sim_module_load(module);
	if (result == CUDA_SUCCESS)
		*ret_module = module;
	else
		sim_module_free(module);
	return result;
}

struct CUmod_st *sim_module_of_library(const struct CUlib_st *library,
	const struct CUctx_st *context)
{
	for (struct CUmod_st *module = modules; module; module = module->next)
		if (module->library == library && module->context == context)
			return module;
	return NULL;
}

void sim_modules_free_of_library(const struct CUlib_st *library)
{
	for (struct CUmod_st *module = modules, *next; module; module = next) {
		next = module->next;
		if (module->library == library)
			sim_module_free(module);
	}
}

void sim_modules_free_of_context(const struct CUctx_st *context)
{
	for (struct CUmod_st *module = modules, *next; module; module = next) {
		next = module->next;
		if (module->context == context)
			sim_module_free(module);
	}
}

CUresult sim_module_get_function(struct CUmod_st *module, const char *name,
	struct CUfunc_st **ret_function)
{
	if (!sim_code_has_function(module->code, name))
		return CUDA_ERROR_NOT_FOUND;

	struct CUfunc_st *function = sim_named_get(&module->functions, name, sizeof(*function));

	if (!function)
		return CUDA_ERROR_OUT_OF_MEMORY;
	function->module = module;
	*ret_function = function;
	return CUDA_SUCCESS;
}

CUresult sim_module_get_variable(struct CUmod_st *module, const char *name, bool is_managed,
	CUdeviceptr *ret_address, size_t *ret_size_bytes)
{
	size_t index = sim_code_find(module->code, name);

	if (index == module->code->count || module->code->symbols[index].kind == SIM_SYMBOL_FUNCTION ||
		(is_managed && module->code->symbols[index].kind != SIM_SYMBOL_MANAGED))
		return CUDA_ERROR_NOT_FOUND;
	CUresult result = sim_module_load(module);
	if (result != CUDA_SUCCESS)
		return result;
	const struct sim_block *block = module->variables[index];
	if (!block && module->library)
		block = module->library->managed[index];
	if (!block)
		return CUDA_ERROR_NOT_FOUND;
	if (ret_address)
		*ret_address = block->range.start;
	if (ret_size_bytes)
		*ret_size_bytes = block->range.size_bytes;
	return CUDA_SUCCESS;
}

struct CUfunc_st *sim_function_find(const void *handle)
{
	for (const struct CUmod_st *module = modules; module; module = module->next)
		for (struct sim_named *function = module->functions; function; function = function->next)
			if (function == handle)
				return (struct CUfunc_st *)function;
	return NULL;
}

void sim_modules_list(struct sim_list *list)
{
	for (const struct CUmod_st *module = modules; module; module = module->next) {
		size_t charged_bytes = module->charged_bytes;
		for (size_t i = 0; i < module->code->count; i++)
			charged_bytes += module->variables[i] ? module->variables[i]->charged_bytes : 0;
		sim_list_add(list,
			(struct simcuda_item){
				.kind = SIMCUDA_KIND_MODULE,
				.device = module->context->device->ordinal,
				.address = (uintptr_t)module,
				.object = (uintptr_t)module->library,
				.context = (uintptr_t)module->context,
				.charged_bytes = charged_bytes,
			});
	}
}

static bool is_live(const struct CUmod_st *module)
{
	for (const struct CUmod_st *live = modules; live; live = live->next)
		if (live == module)
			return true;
	return false;
}

/* --- loading ---------------------------------------------------------------------------------- */

CUresult cuModuleLoadData(CUmodule *ret_module, const void *image)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	/* Loading may wait for the device, so it invalidates captures. */
	result = sim_capture_check_unsafe_call();
	if (result != CUDA_SUCCESS)
		return result;
	struct sim_code *code = sim_code_read(image);
	if (!code)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_lock();
	result = sim_module_new(context, code, NULL, ret_module);
	sim_code_release(code);
	sim_unlock();
	return result;
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

CUresult cuModuleLoad(CUmodule *ret_module, const char *path)
{
	char *image;

	CUresult result = path ? sim_read_file(path, &image) : CUDA_ERROR_INVALID_VALUE;
	if (result != CUDA_SUCCESS)
		return result;
	result = cuModuleLoadData(ret_module, image);
	free(image);
	return result;
}

CUresult cuModuleUnload(CUmodule module)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	sim_lock();
	bool is_valid = is_live(module) && !module->library;
	if (is_valid)
		sim_module_free(module);
	sim_unlock();
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *ret_mode)
{
	if (!ret_mode)
		return CUDA_ERROR_INVALID_VALUE;
	sim_driver_setup();
	*ret_mode = sim_driver.is_module_lazy ? CU_MODULE_LAZY_LOADING : CU_MODULE_EAGER_LOADING;
	return CUDA_SUCCESS;
}

/* --- contents of a module --------------------------------------------------------------------- */

CUresult cuModuleGetFunction(CUfunction *ret_function, CUmodule module, const char *name)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_function || !name)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = is_live(module) ? sim_module_get_function(module, name, ret_function)
							 : CUDA_ERROR_INVALID_HANDLE;
	if (result == CUDA_SUCCESS)
		result = sim_module_load(module);
	sim_unlock();
	return result;
}

CUresult cuModuleGetFunctionCount(unsigned int *ret_count, CUmodule module)
{
	if (!ret_count)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	bool is_valid = is_live(module);
	if (is_valid)
		*ret_count = sim_code_function_count(module->code);
	sim_unlock();
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleEnumerateFunctions(CUfunction *ret_functions, unsigned int capacity,
	CUmodule module)
{
	if (!ret_functions || capacity == 0)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	CUresult result = is_live(module) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
	for (size_t i = 0; result == CUDA_SUCCESS && capacity > 0; i++, capacity--) {
		i = sim_code_next_function(module->code, i);
		if (i == module->code->count)
			break;
		result = sim_module_get_function(module, module->code->symbols[i].name, ret_functions++);
	}
	sim_unlock();
	return result;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *ret_address, size_t *ret_size_bytes, CUmodule module,
	const char *name)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!name || (!ret_address && !ret_size_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = is_live(module)
		? sim_module_get_variable(module, name, false, ret_address, ret_size_bytes)
		: CUDA_ERROR_INVALID_HANDLE;
	sim_unlock();
	return result;
}
