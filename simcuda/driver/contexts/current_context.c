/* SPDX-License-Identifier: MIT */
#include "driver.h"

/* The current context: each thread has a stack of contexts. Also the properties of a context. */

static _Thread_local struct CUctx_st *stack[SIM_CONTEXT_STACK_DEPTH];
static _Thread_local unsigned int stack_depth;

static const size_t default_limits[CU_LIMIT_MAX] = {
	[CU_LIMIT_STACK_SIZE] = 1024,
	[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20,
	[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,
	[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2,
	[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
	[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
};

void sim_context_reset_limits(struct CUctx_st *context)
{
	for (int i = 0; i < CU_LIMIT_MAX; i++) {
		context->limits[i] = default_limits[i];
		context->limit_bytes[i] = 0;
	}
}

/* Returns the result of a call that gets this context as an argument. */
static CUresult check_handle(const struct CUctx_st *context)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	sim_lock();
	CUresult result = sim_context_is_live(context) ? CUDA_SUCCESS
		: sim_context_has_ended(context)           ? CUDA_ERROR_CONTEXT_IS_DESTROYED
												   : CUDA_ERROR_INVALID_CONTEXT;
	sim_unlock();
	return result;
}

CUresult sim_context_get_view(struct CUctx_st **ret_context)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (stack_depth == 0 || !stack[stack_depth - 1])
		return CUDA_ERROR_INVALID_CONTEXT;
	if (check_handle(stack[stack_depth - 1]) != CUDA_SUCCESS)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*ret_context = stack[stack_depth - 1];
	return CUDA_SUCCESS;
}

CUresult sim_context_get_current(struct CUctx_st **ret_context)
{
	struct CUctx_st *view;
	CUresult result = sim_context_get_view(&view);

	if (result == CUDA_SUCCESS)
		*ret_context = view->parent ? view->parent : view;
	return result;
}

void sim_context_pop(const struct CUctx_st *context)
{
	if (stack_depth > 0 && stack[stack_depth - 1] == context)
		stack_depth--;
}

/* --- the current context of a thread ---------------------------------------------------------- */

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	CUresult result = check_handle(context);
	if (result != CUDA_SUCCESS)
		return result;
	if (stack_depth == SIM_CONTEXT_STACK_DEPTH)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack[stack_depth++] = context;
	return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *ret_context)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (stack_depth == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	stack_depth--;
	if (ret_context)
		*ret_context = stack[stack_depth];
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!context) {
		stack_depth -= stack_depth > 0;
		return CUDA_SUCCESS;
	}
	CUresult result = check_handle(context);
	if (result != CUDA_SUCCESS)
		return result;
	if (stack_depth == 0)
		stack_depth = 1;
	stack[stack_depth - 1] = context;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *ret_context)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_context)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_context = stack_depth > 0 ? stack[stack_depth - 1] : NULL;
	return CUDA_SUCCESS;
}

/* --- properties of a context ------------------------------------------------------------------ */

CUresult cuCtxGetDevice_v2(CUdevice *ret_ordinal, CUcontext context)
{
	CUresult result = context ? check_handle(context) : sim_context_get_view(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_ordinal)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_ordinal = context->device->ordinal;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *ret_ordinal)
{
	return cuCtxGetDevice_v2(ret_ordinal, NULL);
}

CUresult cuCtxGetId(CUcontext context, unsigned long long *ret_id)
{
	CUresult result = context ? check_handle(context) : sim_context_get_view(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_id)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_id = context->id;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned int *ret_flags)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_flags)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_flags = context->flags;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result == CUDA_SUCCESS)
		context->flags = flags;
	return result;
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned int *ret_version)
{
	CUresult result = context ? check_handle(context) : sim_context_get_view(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_version)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_version = 3020;
	return CUDA_SUCCESS;
}

/*
 * Returns the device memory that a limit costs beyond its default. The context's own cost includes
 * the default. There is one stack for each thread that the device can run at a time.
 */
static size_t limit_cost(CUlimit limit, size_t value)
{
	size_t copies = limit == CU_LIMIT_STACK_SIZE ? sim_device_threads() : 1;

	if (!sim_driver.is_limit_charged || value <= default_limits[limit] ||
		(limit != CU_LIMIT_STACK_SIZE && limit != CU_LIMIT_PRINTF_FIFO_SIZE &&
			limit != CU_LIMIT_MALLOC_HEAP_SIZE))
		return 0;
	size_t more_bytes = value - default_limits[limit];
	return more_bytes < SIZE_MAX / copies ? more_bytes * copies : SIZE_MAX;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if ((unsigned int)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_INVALID_VALUE;

	size_t cost_bytes = limit_cost(limit, value);
	sim_lock();
	size_t had_bytes = context->limit_bytes[limit];
	sim_device_refund(context->device, had_bytes);
	if (sim_device_charge(context->device, cost_bytes)) {
		context->limit_bytes[limit] = cost_bytes;
		context->limits[limit] = value;
	} else {
		/* This cannot fail, because the same bytes were refunded above. */
		(void)sim_device_charge(context->device, had_bytes);
		result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	sim_unlock();
	return result;
}

CUresult cuCtxGetLimit(size_t *ret_value, CUlimit limit)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_value || (unsigned int)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_value = context->limits[limit];
	return CUDA_SUCCESS;
}
