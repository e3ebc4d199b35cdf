/* SPDX-License-Identifier: MIT */
#include "green_context.h"

#include <stdlib.h>

#include "stream.h"

/*
 * See green_context.h. Only descriptions count multiprocessors. Contexts do not compete for them.
 */

enum {
	/* The value of a device with compute capability 9.0. */
	SM_PARTITION_UNIT = 8,
	MAX_RESOURCES = 16,
};

struct CUdevResourceDesc_st {
	struct CUdevResourceDesc_st *next; /* descriptors are never freed */
	CUdevResource resource;
};

static struct CUgreenCtx_st *greens;
static struct CUdevResourceDesc_st *descriptors;

bool sim_green_is_live(const struct CUgreenCtx_st *green)
{
	for (const struct CUgreenCtx_st *known = greens; known; known = known->next)
		if (known == green)
			return !known->has_ended && sim_primary_is_active(known->view.device);
	return false;
}

struct CUgreenCtx_st *sim_green_of_view(const struct CUctx_st *context)
{
	for (struct CUgreenCtx_st *green = greens; green; green = green->next)
		if (&green->view == context)
			return green;
	return NULL;
}

bool sim_green_is_view(const struct CUctx_st *context)
{
	const struct CUgreenCtx_st *green = sim_green_of_view(context);

	return green && sim_green_is_live(green);
}

/*
 * Lists also the green contexts whose primary context was reset: the program must still destroy
 * them.
 */
void sim_greens_list(struct sim_list *list)
{
	for (const struct CUgreenCtx_st *green = greens; green; green = green->next)
		if (!green->has_ended)
			sim_list_add(list,
				(struct simcuda_item){
					.kind = SIMCUDA_KIND_GREEN_CONTEXT,
					.device = green->view.device->ordinal,
					.address = (uintptr_t)green,
				});
}

/* --- multiprocessors -------------------------------------------------------------------------- */

static CUdevResource describe(unsigned int count)
{
	return (CUdevResource){
		.type = CU_DEV_RESOURCE_TYPE_SM,
		.sm = { count, SM_PARTITION_UNIT, SM_PARTITION_UNIT },
	};
}

CUresult cuDeviceGetDevResource(CUdevice ordinal, CUdevResource *ret_resource,
	CUdevResourceType type)
{
	int count;

	if (!ret_resource || type != CU_DEV_RESOURCE_TYPE_SM)
		return CUDA_ERROR_INVALID_RESOURCE_TYPE;
	CUresult result =
		cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, ordinal);
	if (result == CUDA_SUCCESS)
		*ret_resource = describe((unsigned int)count);
	return result;
}

CUresult cuDevSmResourceSplitByCount(CUdevResource *ret_groups, unsigned int *group_count,
	const CUdevResource *input, CUdevResource *ret_remaining, unsigned int flags,
	unsigned int minimum_count)
{
	bool is_fine_grained = flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
	unsigned int unit = is_fine_grained ? 2 : SM_PARTITION_UNIT;

	if (!group_count || !input || minimum_count > input->sm.smCount)
		return CUDA_ERROR_INVALID_VALUE;
	if (input->type != CU_DEV_RESOURCE_TYPE_SM)
		return CUDA_ERROR_INVALID_RESOURCE_TYPE;
	unsigned int size = minimum_count ? (unsigned int)sim_round_up(minimum_count, unit) : unit;
	unsigned int possible = input->sm.smCount / size;
	if (ret_groups && *group_count < possible)
		possible = *group_count;
	for (unsigned int i = 0; ret_groups && i < possible; i++)
		ret_groups[i] = describe(size);
	if (ret_remaining) {
		unsigned int rest = input->sm.smCount - possible * size;
		*ret_remaining = rest > 0 ? describe(rest) : (CUdevResource){ 0 };
	}
	*group_count = possible;
	return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *ret_descriptor, CUdevResource *resources,
	unsigned int count)
{
	unsigned int total = 0;

	if (!ret_descriptor || !resources || count == 0 || count > MAX_RESOURCES)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < count; i++) {
		if (resources[i].type != CU_DEV_RESOURCE_TYPE_SM)
			return CUDA_ERROR_INVALID_RESOURCE_TYPE;
		total += resources[i].sm.smCount;
	}
	struct CUdevResourceDesc_st *descriptor = malloc(sizeof(*descriptor));
	if (!descriptor)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_lock();
	*descriptor = (struct CUdevResourceDesc_st){ descriptors, describe(total) };
	descriptors = descriptor;
	sim_unlock();
	*ret_descriptor = descriptor;
	return CUDA_SUCCESS;
}

/* --- green contexts --------------------------------------------------------------------------- */

CUresult cuGreenCtxCreate(CUgreenCtx *ret_green, CUdevResourceDesc descriptor, CUdevice ordinal,
	unsigned int flags)
{
	struct sim_device *device = sim_device_find(ordinal);
	CUresult result = sim_check_initialized();

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_green || !descriptor || flags != CU_GREEN_CTX_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	struct CUgreenCtx_st *green = calloc(1, sizeof(*green));
	if (!green)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_lock();
	result = sim_primary_retain(device);
	if (result == CUDA_SUCCESS) {
		green->view.device = device;
		green->view.parent = &device->primary;
		green->view.references = 1;
		green->view.id = sim_next_id();
		green->resource = descriptor->resource;
		green->next = greens;
		greens = green;
	}
	sim_unlock();
	if (result == CUDA_SUCCESS)
		*ret_green = green;
	else
		free(green);
	return result;
}

CUresult cuGreenCtxDestroy(CUgreenCtx green)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	sim_lock();
	bool is_valid = sim_green_is_live(green);
	if (is_valid) {
		green->has_ended = true;
		/* The creation retained the primary context, so there is a reference to release. */
		(void)sim_primary_release(green->view.device);
	}
	sim_unlock();
	if (!is_valid)
		return CUDA_ERROR_INVALID_CONTEXT;
	sim_context_pop(&green->view);
	return CUDA_SUCCESS;
}

/* Returns the result of a call that gets this green context as an argument. */
static CUresult check(const struct CUgreenCtx_st *green, const void *output)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!output)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	bool is_valid = sim_green_is_live(green);
	sim_unlock();
	return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxFromGreenCtx(CUcontext *ret_context, CUgreenCtx green)
{
	CUresult result = check(green, ret_context);

	if (result == CUDA_SUCCESS)
		*ret_context = &green->view;
	return result;
}

CUresult cuGreenCtxGetId(CUgreenCtx green, unsigned long long *ret_id)
{
	CUresult result = check(green, ret_id);

	if (result == CUDA_SUCCESS)
		*ret_id = green->view.id;
	return result;
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx green, CUdevResource *ret_resource,
	CUdevResourceType type)
{
	CUresult result = check(green, ret_resource);

	if (result == CUDA_SUCCESS && type != CU_DEV_RESOURCE_TYPE_SM)
		result = CUDA_ERROR_INVALID_RESOURCE_TYPE;
	if (result == CUDA_SUCCESS)
		*ret_resource = green->resource;
	return result;
}

CUresult cuCtxGetDevResource(CUcontext context, CUdevResource *ret_resource, CUdevResourceType type)
{
	CUdevice ordinal;

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	CUresult result = cuCtxGetDevice_v2(&ordinal, context);
	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	struct CUgreenCtx_st *green = sim_green_of_view(context);
	sim_unlock();
	return green ? cuGreenCtxGetDevResource(green, ret_resource, type)
				 : cuDeviceGetDevResource(ordinal, ret_resource, type);
}

CUresult cuGreenCtxStreamCreate(CUstream *ret_stream, CUgreenCtx green, unsigned int flags,
	int priority)
{
	CUresult result = check(green, ret_stream);

	if (result == CUDA_SUCCESS && flags != CU_STREAM_NON_BLOCKING)
		result = CUDA_ERROR_INVALID_VALUE;
	return result == CUDA_SUCCESS ? sim_stream_new(&green->view, flags, priority, ret_stream)
								  : result;
}

/* --- events for all work in a context: all work is always complete ---------------------------- */

CUresult cuCtxRecordEvent(CUcontext context, CUevent event)
{
	CUdevice ordinal;
	CUresult result = context ? cuCtxGetDevice_v2(&ordinal, context) : CUDA_ERROR_INVALID_CONTEXT;

	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	bool is_capturing = sim_capture_is_active_in(context->parent ? context->parent : context);
	if (is_capturing)
		sim_capture_invalidate_all_in(context->parent ? context->parent : context);
	sim_unlock();
	return is_capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : sim_event_record_now(event);
}

CUresult cuCtxWaitEvent(CUcontext context, CUevent event)
{
	CUdevice ordinal;
	CUresult result = context ? cuCtxGetDevice_v2(&ordinal, context) : CUDA_ERROR_INVALID_CONTEXT;

	return result == CUDA_SUCCESS && !event ? CUDA_ERROR_INVALID_HANDLE : result;
}

CUresult cuGreenCtxRecordEvent(CUgreenCtx green, CUevent event)
{
	CUresult result = check(green, event);

	return result == CUDA_SUCCESS ? cuCtxRecordEvent(&green->view, event) : result;
}

CUresult cuGreenCtxWaitEvent(CUgreenCtx green, CUevent event)
{
	CUresult result = check(green, event);

	return result == CUDA_SUCCESS ? cuCtxWaitEvent(&green->view, event) : result;
}
