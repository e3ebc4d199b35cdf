/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

/*
 * The functions that compiled CUDA code calls. It registers its kernels and variables when it is
 * loaded. It launches a kernel by the address of its host function, which represents the kernel
 * here.
 */

#pragma GCC visibility push(default)
void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
char __cudaInitModule(void **handle);
void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
	const char *device_name, int thread_limit, void *thread_id, void *block_id, void *block_size,
	void *grid_size, int *warp_size);
void __cudaRegisterVar(void **handle, char *host_variable, char *device_address,
	const char *device_name, int is_external, size_t size_bytes, int is_constant, int is_global);
void __cudaRegisterManagedVar(void **handle, void **host_pointer, char *device_address,
	const char *device_name, int is_external, size_t size_bytes, int is_constant, int is_global);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
	struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *ret_grid, dim3 *ret_block, size_t *ret_shared_bytes,
	void *ret_stream);
cudaError_t __cudaGetKernel(cudaKernel_t *ret_kernel, const void *host_function);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
	size_t shared_bytes, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
	size_t shared_bytes, cudaStream_t stream);
#pragma GCC visibility pop

/* --- registration ----------------------------------------------------------------------------- */

void **__cudaRegisterFatBinary(void *binary)
{
	return sim_code_register(binary);
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
	sim_code_unregister(handle);
}

char __cudaInitModule(void **handle)
{
	(void)handle;
	return 1;
}

void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
	const char *device_name, int thread_limit, void *thread_id, void *block_id, void *block_size,
	void *grid_size, int *warp_size)
{
	(void)device_function;
	(void)device_name;
	(void)thread_limit;
	(void)thread_id;
	(void)block_id;
	(void)block_size;
	(void)grid_size;
	(void)warp_size;
	sim_code_add_function(handle, host_function);
}

/*
 * Variables of device code. Each variable has its own memory, allocated at the first use. A real
 * variable lies in the memory of its module, which no allocation call shows. Here, too, no
 * allocation call shows it: it is plain host memory.
 */
struct variable {
	struct variable *next;
	const void *host_address;
	size_t size_bytes;
	char *memory;
};

static pthread_mutex_t variables_lock = PTHREAD_MUTEX_INITIALIZER;
static struct variable *variables;

void __cudaRegisterVar(void **handle, char *host_variable, char *device_address,
	const char *device_name, int is_external, size_t size_bytes, int is_constant, int is_global)
{
	(void)handle;
	(void)device_address;
	(void)device_name;
	(void)is_external;
	(void)is_constant;
	(void)is_global;
	struct variable *variable = malloc(sizeof(*variable));
	if (!variable)
		return;
	pthread_mutex_lock(&variables_lock);
	*variable = (struct variable){ variables, host_variable, size_bytes, NULL };
	variables = variable;
	pthread_mutex_unlock(&variables_lock);
}

void __cudaRegisterManagedVar(void **handle, void **host_pointer, char *device_address,
	const char *device_name, int is_external, size_t size_bytes, int is_constant, int is_global)
{
	__cudaRegisterVar(handle, (char *)host_pointer, device_address, device_name, is_external,
		size_bytes, is_constant, is_global);
	*host_pointer = calloc(1, size_bytes);
}

static cudaError_t find_variable(const void *symbol, char **ret_memory, size_t *ret_size_bytes)
{
	cudaError_t error = cudaErrorInvalidSymbol;

	pthread_mutex_lock(&variables_lock);
	for (struct variable *variable = variables; variable; variable = variable->next) {
		if (variable->host_address != symbol)
			continue;
		if (!variable->memory)
			variable->memory = calloc(1, variable->size_bytes);
		error = variable->memory ? cudaSuccess : cudaErrorMemoryAllocation;
		*ret_memory = variable->memory;
		*ret_size_bytes = variable->size_bytes;
		break;
	}
	pthread_mutex_unlock(&variables_lock);
	return error;
}

cudaError_t cudaGetSymbolAddress(void **ret_address, const void *symbol)
{
	size_t size_bytes;

	if (!ret_address)
		return sim_leave(cudaErrorInvalidValue);
	return sim_leave(sim_enter() ?: find_variable(symbol, (char **)ret_address, &size_bytes));
}

cudaError_t cudaGetSymbolSize(size_t *ret_size_bytes, const void *symbol)
{
	char *memory;

	if (!ret_size_bytes)
		return sim_leave(cudaErrorInvalidValue);
	return sim_leave(sim_enter() ?: find_variable(symbol, &memory, ret_size_bytes));
}

/* Gets the part of a variable that a copy reads or writes. */
static cudaError_t find_part(const void *symbol, size_t size_bytes, size_t offset_bytes,
	char **ret_part)
{
	size_t variable_bytes = 0;
	cudaError_t error = sim_enter() ?: find_variable(symbol, ret_part, &variable_bytes);

	if (!error && (offset_bytes > variable_bytes || size_bytes > variable_bytes - offset_bytes))
		error = cudaErrorInvalidValue;
	if (!error)
		*ret_part += offset_bytes;
	return error;
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *source, size_t size_bytes,
	size_t offset_bytes, enum cudaMemcpyKind kind)
{
	char *part;
	cudaError_t error = find_part(symbol, size_bytes, offset_bytes, &part);

	(void)kind;
	if (!error)
		memmove(part, source, size_bytes);
	return sim_leave(error);
}

cudaError_t cudaMemcpyFromSymbol(void *destination, const void *symbol, size_t size_bytes,
	size_t offset_bytes, enum cudaMemcpyKind kind)
{
	char *part;
	cudaError_t error = find_part(symbol, size_bytes, offset_bytes, &part);

	(void)kind;
	if (!error)
		memmove(destination, part, size_bytes);
	return sim_leave(error);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *source, size_t size_bytes,
	size_t offset_bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	(void)stream;
	return cudaMemcpyToSymbol(symbol, source, size_bytes, offset_bytes, kind);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *destination, const void *symbol, size_t size_bytes,
	size_t offset_bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	(void)stream;
	return cudaMemcpyFromSymbol(destination, symbol, size_bytes, offset_bytes, kind);
}

/* --- launches --------------------------------------------------------------------------------- */

/*
 * The launch configuration, from the <<<>>> of a launch to the stub that it calls. One per thread
 * is enough, because the two follow each other directly.
 */
static _Thread_local struct call_configuration {
	dim3 grid, block;
	size_t shared_bytes;
	cudaStream_t stream;
} configuration;

unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
	struct CUstream_st *stream)
{
	configuration = (struct call_configuration){ grid, block, shared_bytes, stream };
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *ret_grid, dim3 *ret_block, size_t *ret_shared_bytes,
	void *ret_stream)
{
	*ret_grid = configuration.grid;
	*ret_block = configuration.block;
	*ret_shared_bytes = configuration.shared_bytes;
	*(cudaStream_t *)ret_stream = configuration.stream;
	return cudaSuccess;
}

/* LAUNCH(suffix): the launch functions for legacy (no suffix) and per-thread streams. */
#define LAUNCH(suffix) \
	cudaError_t cudaLaunchKernel##suffix(const void *function, dim3 grid, dim3 block, \
		void **arguments, size_t shared_bytes, cudaStream_t stream) \
	{ \
		cudaError_t error = sim_enter() ?: sim_code_load_of(function); \
		if (error) \
			return sim_leave(error); \
		return SIM_CALL(cuLaunchKernel##suffix((CUfunction)(uintptr_t)function, grid.x, grid.y, \
			grid.z, block.x, block.y, block.z, (unsigned int)shared_bytes, stream, arguments, \
			NULL)); \
	} \
	cudaError_t __cudaLaunchKernel##suffix(cudaKernel_t kernel, dim3 grid, dim3 block, \
		void **arguments, size_t shared_bytes, cudaStream_t stream) \
	{ \
		return cudaLaunchKernel##suffix(kernel, grid, block, arguments, shared_bytes, stream); \
	} \
	cudaError_t cudaLaunchCooperativeKernel##suffix(const void *function, dim3 grid, dim3 block, \
		void **arguments, size_t shared_bytes, cudaStream_t stream) \
	{ \
		cudaError_t error = sim_enter() ?: sim_code_load_of(function); \
		if (error) \
			return sim_leave(error); \
		return SIM_CALL(cuLaunchCooperativeKernel##suffix((CUfunction)(uintptr_t)function, grid.x, \
			grid.y, grid.z, block.x, block.y, block.z, (unsigned int)shared_bytes, stream, \
			arguments)); \
	} \
	cudaError_t cudaLaunchKernelExC##suffix(const cudaLaunchConfig_t *config, \
		const void *function, void **arguments) \
	{ \
		if (!config) \
			return sim_leave(cudaErrorInvalidValue); \
		return cudaLaunchKernel##suffix(function, config->gridDim, config->blockDim, arguments, \
			config->dynamicSmemBytes, config->stream); \
	}

LAUNCH()
LAUNCH(_ptsz)
#undef LAUNCH

/* --- functions -------------------------------------------------------------------------------- */

static cudaError_t get_handle(void **ret_handle, const void *host_function)
{
	if (!ret_handle || !host_function)
		return sim_leave(cudaErrorInvalidValue);
	*ret_handle = (void *)(uintptr_t)host_function;
	return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *ret_kernel, const void *host_function)
{
	return get_handle((void **)ret_kernel, host_function);
}

cudaError_t cudaGetKernel(cudaKernel_t *ret_kernel, const void *host_function)
{
	return get_handle((void **)ret_kernel, host_function);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *ret_function, const void *host_function)
{
	return get_handle((void **)ret_function, host_function);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *ret_attributes, const void *function)
{
	CUfunction handle = (CUfunction)(uintptr_t)function;
	cudaError_t error = sim_enter() ?: sim_code_load_of(function);

	if (!error && (!ret_attributes || !function))
		error = cudaErrorInvalidDeviceFunction;
	if (error)
		return sim_leave(error);

	*ret_attributes = (struct cudaFuncAttributes){ 0 };
	const struct {
		CUfunction_attribute attribute;
		int *ret_value;
	} wanted[] = {
		{ CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &ret_attributes->maxThreadsPerBlock },
		{ CU_FUNC_ATTRIBUTE_NUM_REGS, &ret_attributes->numRegs },
		{ CU_FUNC_ATTRIBUTE_PTX_VERSION, &ret_attributes->ptxVersion },
		{ CU_FUNC_ATTRIBUTE_BINARY_VERSION, &ret_attributes->binaryVersion },
		{ CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
			&ret_attributes->maxDynamicSharedSizeBytes },
	};
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && !error; i++)
		error = sim_error(sim_driver_calls.cuFuncGetAttribute(wanted[i].ret_value,
			wanted[i].attribute, handle));
	return sim_leave(error);
}
