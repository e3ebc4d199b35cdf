/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include <stdlib.h>

/* Contexts: creation, reference counts, and destruction with all that they own. */

/*
 * Contexts that ended. They are kept so that the driver recognizes their handles. A device's
 * primary context always has the same address, and so the same handle, however often it starts
 * again.
 */
static struct CUctx_st *ended_contexts;

bool sim_context_has_ended(const struct CUctx_st *context)
{
	for (const struct CUctx_st *ended = ended_contexts; ended; ended = ended->next)
		if (ended == context)
			return true;
	for (int i = 0; i < sim_driver.device_count; i++)
		if (context == &sim_driver.devices[i].primary)
			return context->id != 0 && context->references == 0;
	return false;
}

bool sim_context_is_live(const struct CUctx_st *context)
{
	for (const struct CUctx_st *live = sim_driver.contexts; live; live = live->next)
		if (live == context)
			return true;
	return sim_green_is_view(context);
}

static void context_end(struct CUctx_st *context)
{
	struct CUctx_st **link = &sim_driver.contexts;

	while (*link != context)
		link = &(*link)->next;
	*link = context->next;
	sim_modules_free_of_context(context);
	sim_graphics_free_of_context(context);
	sim_external_free_of_context(context);
	sim_blocks_free_of_context(context);
	sim_arrays_free_of_context(context);
	sim_streams_free_of_context(context);
	sim_device_refund(context->device, context->charged_bytes);
	for (int i = 0; i < CU_LIMIT_MAX; i++)
		sim_device_refund(context->device, context->limit_bytes[i]);
	context->references = 0;
	if (context != &context->device->primary) {
		context->next = ended_contexts;
		ended_contexts = context;
	}
}

/* Makes a live context in this memory, and overwrites the previous content. */
static CUresult context_begin(struct CUctx_st *context, struct sim_device *device,
	unsigned int flags)
{
	if (!sim_device_charge(device, sim_driver.context_bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*context = (struct CUctx_st){
		.next = sim_driver.contexts,
		.device = device,
		.id = sim_next_id(),
		.flags = flags,
		.references = 1,
		.charged_bytes = sim_driver.context_bytes,
	};
	sim_context_reset_limits(context);
	sim_driver.contexts = context;
	CUresult result = sim_libraries_load_into(context);
	if (result != CUDA_SUCCESS) {
		context_end(context);
		/* No caller has got the handle, and the caller may reuse the memory. */
		if (ended_contexts == context)
			ended_contexts = context->next;
	}
	return result;
}

void sim_contexts_list(struct sim_list *list)
{
	for (const struct CUctx_st *context = sim_driver.contexts; context; context = context->next) {
		size_t charged_bytes = context->charged_bytes;
		for (int i = 0; i < CU_LIMIT_MAX; i++)
			charged_bytes += context->limit_bytes[i];
		bool is_primary = context == &context->device->primary;
		sim_list_add(list,
			(struct simcuda_item){
				.kind = SIMCUDA_KIND_CONTEXT,
				.device = context->device->ordinal,
				.address = (uintptr_t)context,
				.charged_bytes = charged_bytes,
				.references =
					is_primary ? context->device->primary_references : context->references,
			});
	}
}

/* --- the primary context of a device ---------------------------------------------------------- */

bool sim_primary_is_active(const struct sim_device *device)
{
	return device->primary.references > 0;
}

CUresult sim_primary_retain(struct sim_device *device)
{
	CUresult result = CUDA_SUCCESS;

	if (!sim_primary_is_active(device))
		result = context_begin(&device->primary, device, device->primary_flags);
	if (result == CUDA_SUCCESS)
		device->primary_references++;
	return result;
}

CUresult sim_primary_release(struct sim_device *device)
{
	if (device->primary_references == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (--device->primary_references == 0 && sim_primary_is_active(device))
		context_end(&device->primary);
	return CUDA_SUCCESS;
}

/* Checks a call that has no output. */
static CUresult check_device(CUdevice ordinal)
{
	return sim_device_check(&sim_driver, ordinal);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *ret_context, CUdevice ordinal)
{
	struct sim_device *device = sim_device_find(ordinal);
	CUresult result = sim_device_check(ret_context, ordinal);

	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	result = sim_primary_retain(device);
	if (result == CUDA_SUCCESS)
		*ret_context = &device->primary;
	sim_unlock();
	return result;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal)
{
	struct sim_device *device = sim_device_find(ordinal);
	CUresult result = check_device(ordinal);

	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	result = sim_primary_release(device);
	sim_unlock();
	return result;
}

/*
 * Ends the context but keeps the reference count: each caller that retained it must still release
 * it.
 */
CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal)
{
	struct sim_device *device = sim_device_find(ordinal);
	CUresult result = check_device(ordinal);

	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	if (sim_primary_is_active(device))
		context_end(&device->primary);
	sim_unlock();
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned int flags)
{
	struct sim_device *device = sim_device_find(ordinal);
	CUresult result = check_device(ordinal);

	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	device->primary_flags = flags;
	device->primary.flags = flags;
	sim_unlock();
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned int *ret_flags, int *ret_active)
{
	struct sim_device *device = sim_device_find(ordinal);
	CUresult result = check_device(ordinal);

	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	if (ret_flags)
		*ret_flags = device->primary_flags;
	if (ret_active)
		*ret_active = sim_primary_is_active(device);
	sim_unlock();
	return CUDA_SUCCESS;
}

/* --- contexts that the program creates -------------------------------------------------------- */

CUresult cuCtxCreate_v2(CUcontext *ret_context, unsigned int flags, CUdevice ordinal)
{
	struct sim_device *device = sim_device_find(ordinal);

	CUresult result = sim_device_check(ret_context, ordinal);

	if (result != CUDA_SUCCESS)
		return result;

	struct CUctx_st *context = malloc(sizeof(*context));
	if (!context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_lock();
	result = context_begin(context, device, flags);
	sim_unlock();
	if (result != CUDA_SUCCESS) {
		free(context);
		return result;
	}
	result = cuCtxPushCurrent_v2(context);
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

/*
 * Returns whether cuCtxCreate made the context. If not, it is a primary context or the view of a
 * green context.
 */
static bool is_own(const struct CUctx_st *context)
{
	return sim_context_is_live(context) && !context->parent && context != &context->device->primary;
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;

	sim_lock();
	bool is_valid = is_own(context);
	if (is_valid)
		context_end(context);
	sim_unlock();
	if (!is_valid)
		return CUDA_ERROR_INVALID_CONTEXT;
	sim_context_pop(context);
	return CUDA_SUCCESS;
}

CUresult cuCtxAttach(CUcontext *ret_context, unsigned int flags)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_context || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	context->references++;
	sim_unlock();
	*ret_context = context;
	return CUDA_SUCCESS;
}

CUresult cuCtxDetach(CUcontext context)
{
	struct CUctx_st *current;
	CUresult result = sim_context_get_current(&current);

	if (result != CUDA_SUCCESS)
		return result;
	if (current != context)
		return CUDA_ERROR_INVALID_CONTEXT;

	bool is_last = false;
	sim_lock();
	if (context->references > 1) {
		context->references--;
	} else if (is_own(context)) {
		is_last = true;
		context_end(context);
	} else {
		result = CUDA_ERROR_INVALID_CONTEXT;
	}
	sim_unlock();
	if (is_last)
		sim_context_pop(context);
	return result;
}
