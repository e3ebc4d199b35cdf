/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include <stdlib.h>

/* Contexts: made, stacked per thread, and destroyed with what they own. */

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

CUresult sim_context_get_current(struct CUctx_st **ret_context)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (stack_depth == 0 || !stack[stack_depth - 1])
		return CUDA_ERROR_INVALID_CONTEXT;

	struct CUctx_st *context = stack[stack_depth - 1];
	sim_lock();
	bool live = sim_context_is_live(context);
	sim_unlock();
	if (!live)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*ret_context = context;
	return CUDA_SUCCESS;
}

bool sim_context_is_live(const struct CUctx_st *context)
{
	for (const struct CUctx_st *live = sim_driver.contexts; live; live = live->next)
		if (live == context)
			return true;
	return false;
}

static void context_free(struct CUctx_st *context)
{
	struct CUctx_st **link = &sim_driver.contexts;

	while (*link != context)
		link = &(*link)->next;
	*link = context->next;
	sim_modules_free_of_context(context);
	sim_blocks_free_of_context(context);
	sim_arrays_free_of_context(context);
	sim_device_refund(context->device, context->charged_bytes);
	for (int i = 0; i < CU_LIMIT_MAX; i++)
		sim_device_refund(context->device, context->limit_bytes[i]);
	free(context);
}

static struct CUctx_st *context_new(struct sim_device *device, unsigned int flags)
{
	struct CUctx_st *context = calloc(1, sizeof(*context));

	if (!context)
		return NULL;
	if (!sim_device_charge(device, sim_driver.context_bytes)) {
		free(context);
		return NULL;
	}
	context->charged_bytes = sim_driver.context_bytes;
	context->device = device;
	context->flags = flags;
	context->id = sim_next_id();
	for (int i = 0; i < CU_LIMIT_MAX; i++)
		context->limits[i] = default_limits[i];
	context->next = sim_driver.contexts;
	sim_driver.contexts = context;
	if (sim_libraries_load_into(context) != CUDA_SUCCESS) {
		context_free(context);
		return NULL;
	}
	return context;
}

void sim_contexts_list(struct sim_list *list)
{
	for (const struct CUctx_st *context = sim_driver.contexts; context; context = context->next) {
		size_t charged_bytes = context->charged_bytes;
		for (int i = 0; i < CU_LIMIT_MAX; i++)
			charged_bytes += context->limit_bytes[i];
		bool is_primary = context->device->primary == context;
		sim_list_add(list, (struct simcuda_item){
					   .kind = SIMCUDA_KIND_CONTEXT,
					   .device = context->device->ordinal,
					   .address = (uintptr_t)context,
					   .charged_bytes = charged_bytes,
					   .references = is_primary ? context->device->primary_references : 1,
				   });
	}
}

/* --- the primary context of a device -------------------------------------------------------------- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *ret_context, CUdevice ordinal)
{
	struct sim_device *device = sim_device_find(ordinal);
	CUresult result = sim_check_initialized();

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_context)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;

	sim_lock();
	if (!device->primary)
		device->primary = context_new(device, device->primary_flags);
	if (device->primary) {
		device->primary_references++;
		*ret_context = device->primary;
	} else {
		result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	sim_unlock();
	return result;
}

static CUresult primary_drop(CUdevice ordinal, bool all_references)
{
	struct sim_device *device = sim_device_find(ordinal);
	CUresult result = sim_check_initialized();

	if (result != CUDA_SUCCESS)
		return result;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;

	sim_lock();
	if (!all_references && device->primary_references == 0)
		result = CUDA_ERROR_INVALID_CONTEXT;
	else if (!all_references)
		device->primary_references--;
	if (device->primary && (all_references || device->primary_references == 0)) {
		context_free(device->primary);
		device->primary = NULL;
		device->primary_references = 0;
	}
	sim_unlock();
	return result;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal)
{
	return primary_drop(ordinal, false);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal)
{
	return primary_drop(ordinal, true);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned int flags)
{
	struct sim_device *device = sim_device_find(ordinal);

	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	sim_lock();
	device->primary_flags = flags;
	if (device->primary)
		device->primary->flags = flags;
	sim_unlock();
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned int *ret_flags, int *ret_active)
{
	struct sim_device *device = sim_device_find(ordinal);

	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	sim_lock();
	if (ret_flags)
		*ret_flags = device->primary_flags;
	if (ret_active)
		*ret_active = device->primary != NULL;
	sim_unlock();
	return CUDA_SUCCESS;
}

/* --- contexts of one's own ------------------------------------------------------------------------ */

CUresult cuCtxCreate_v2(CUcontext *ret_context, unsigned int flags, CUdevice ordinal)
{
	struct sim_device *device = sim_device_find(ordinal);

	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_context)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;

	sim_lock();
	struct CUctx_st *context = context_new(device, flags);
	sim_unlock();
	if (!context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	CUresult result = cuCtxPushCurrent_v2(context);
	if (result != CUDA_SUCCESS) {
		cuCtxDestroy_v2(context);
		return result;
	}
	*ret_context = context;
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v3(CUcontext *ret_context, CUexecAffinityParam *affinity, int affinity_count,
			unsigned int flags, CUdevice ordinal)
{
	(void)affinity;
	(void)affinity_count;
	return cuCtxCreate_v2(ret_context, flags, ordinal);
}

CUresult cuCtxCreate_v4(CUcontext *ret_context, CUctxCreateParams *parameters, unsigned int flags,
			CUdevice ordinal)
{
	(void)parameters;
	return cuCtxCreate_v2(ret_context, flags, ordinal);
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;

	CUresult result = CUDA_SUCCESS;
	sim_lock();
	if (!sim_context_is_live(context) || context == context->device->primary)
		result = CUDA_ERROR_INVALID_CONTEXT;
	else
		context_free(context);
	sim_unlock();
	if (result == CUDA_SUCCESS && stack_depth > 0 && stack[stack_depth - 1] == context)
		stack_depth--;
	return result;
}

/* --- which context is current in this thread ------------------------------------------------------ */

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
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

/* --- what a context says of itself ---------------------------------------------------------------- */

CUresult cuCtxGetDevice_v2(CUdevice *ret_ordinal, CUcontext context)
{
	CUresult result = context ? sim_check_initialized() : sim_context_get_current(&context);

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
	CUresult result = context ? sim_check_initialized() : sim_context_get_current(&context);

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
	CUresult result = context ? sim_check_initialized() : sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_version)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_version = 3020;
	return CUDA_SUCCESS;
}

/*
 * Device memory that a limit costs beyond its default, whose cost is part of the context's. A stack
 * is there once for each thread that the device can run at a time.
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
		/* Just given back, so it is there. */
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
