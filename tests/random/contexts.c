/* SPDX-License-Identifier: MIT */
/* Actions on contexts (which may end while memory lives in them), on code, and on limits. */
#include <pthread.h>
#include <string.h>

#include "random_calls.h"

static const char ptx[] =
	".version 7.0\n.target sm_50\n.address_size 64\n.visible .global .align 4 .b8 data[4096];\n"
	".visible .entry kernel()\n{\n\tret;\n}\n";

/*
 * The handles of primary contexts, which the simulated driver never changes, and the CUcontext
 * handles of green contexts.
 */
static CUcontext primaries[DEVICES];
static struct {
	CUcontext view;
	int device;
} views[64];
static unsigned view_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void find_primary_contexts(void)
{
	for (int device = 0; device < DEVICES; device++)
		if (!cuDevicePrimaryCtxRetain(&primaries[device], device))
			cuDevicePrimaryCtxRelease_v2(device);
}

/*
 * Returns the context that owns the resources made in `context`. Resources made in a green context
 * belong to the primary context of its device.
 */
static CUcontext owner_of(CUcontext context, int device)
{
	bool is_view = false;

	pthread_mutex_lock(&mutex);
	for (unsigned i = 0; i < view_count; i++)
		is_view |= views[i].view == context;
	pthread_mutex_unlock(&mutex);
	return is_view ? primaries[device] : context;
}

void update_current_context(struct worker *worker)
{
	if (cuCtxGetCurrent(&worker->current) || !worker->current || cuCtxGetDevice(&worker->device)) {
		worker->current = NULL;
		worker->device = 0;
		return;
	}
	worker->current = owner_of(worker->current, worker->device);
}

static void set_view(CUgreenCtx green, int device, bool lives)
{
	CUcontext view = NULL;

	if (cuCtxFromGreenCtx(&view, green))
		return;
	pthread_mutex_lock(&mutex);
	for (unsigned i = 0; i < view_count; i++)
		if (views[i].view == view)
			views[i] = views[--view_count];
	if (lives && view_count < sizeof(views) / sizeof(*views)) {
		views[view_count].view = view;
		views[view_count++].device = device;
	}
	pthread_mutex_unlock(&mutex);
}

ACTION(12, switch_context)
{
	struct resource context;

	switch (draw(worker, 8)) {
	case 0:
		CALL(worker, cuCtxSetCurrent(NULL));
		break;
	case 1:
	case 2:
		CALL(worker, cudaSetDevice((int)draw(worker, DEVICES + (one_in(worker, 8) ? 1 : 0))));
		break;
	case 3:
		if (take(worker, GREEN, &context)) {
			CUcontext view;

			if (!cuCtxFromGreenCtx(&view, (CUgreenCtx)context.address))
				CALL(worker, cuCtxSetCurrent(view));
			put(GREEN, &context);
		}
		break;
	default:
		if (peek(worker, CONTEXT, &context))
			CALL(worker, cuCtxSetCurrent((CUcontext)context.address));
	}
}

ACTION(3, create_context)
{
	struct resource context = { .device = (int)draw(worker, DEVICES) };
	CUcontext *made = (CUcontext *)&context.address;
	CUctxCreateParams parameters = { 0 };
	bool done = false;

	if (!bag_has_space(CONTEXT))
		return destroy_context(worker);
	switch (draw(worker, 4)) {
	case 0:
		done = CALL(worker, cuCtxCreate_v2(made, 0, context.device));
		break;
	case 1:
		done = CALL(worker, cuCtxCreate(made, 0, context.device));
		break;
	case 2:
		done = CALL(worker, cuCtxCreate_v3(made, NULL, 0, 0, context.device));
		break;
	case 3:
		done = CALL(worker, cuCtxCreate_v4(made, &parameters, 0, context.device));
		break;
	}
	if (done)
		put(CONTEXT, &context);
}

/* Destroys a context with all its resources, which no other thread may use meanwhile. */
ACTION(2, destroy_context)
{
	struct resource context;
	bool done;

	lock_exclusively(worker);
	if (!take(worker, CONTEXT, &context))
		return;
	switch (draw(worker, 3)) {
	case 0:
		done = CALL(worker, cuCtxDestroy_v2((CUcontext)context.address));
		break;
	case 1:
		done = CALL(worker, cuCtxDestroy((CUcontext)context.address));
		break;
	default:
		cuCtxSetCurrent((CUcontext)context.address);
		done = CALL(worker, cuCtxDetach((CUcontext)context.address));
		/* The context lives on if it was attached more than once. */
		done &= cuCtxSetCurrent((CUcontext)context.address) != CUDA_SUCCESS;
	}
	if (done)
		forget_context((CUcontext)context.address);
	else
		put(CONTEXT, &context);
}

ACTION(2, attach_context)
{
	CUcontext context;

	if (!CALL(worker, cuCtxAttach(&context, 0)) || one_in(worker, 2))
		return;
	CALL(worker, cuCtxDetach(context));
}

/*
 * --- primary contexts
 * -----------------------------------------------------------------------------
 */

static void forget_primary_if_ended(int device)
{
	unsigned flags;
	int is_active = 0;

	if (!cuDevicePrimaryCtxGetState(device, &flags, &is_active) && !is_active)
		forget_context(primaries[device]);
}

ACTION(2, retain_primary)
{
	int device = (int)draw(worker, DEVICES);
	CUcontext context;

	lock_exclusively(worker);
	CALL(worker, cuDevicePrimaryCtxRetain(&context, device));
}

ACTION(2, release_primary)
{
	int device = (int)draw(worker, DEVICES);

	lock_exclusively(worker);
	CALL(worker,
		one_in(worker, 2) ? cuDevicePrimaryCtxRelease(device)
						  : cuDevicePrimaryCtxRelease_v2(device));
	forget_primary_if_ended(device);
}

ACTION(1, reset_primary)
{
	int device = (int)draw(worker, DEVICES);

	lock_exclusively(worker);
	CALL(worker,
		one_in(worker, 2) ? cuDevicePrimaryCtxReset(device) : cuDevicePrimaryCtxReset_v2(device));
	forget_primary_if_ended(device);
}

ACTION(1, reset_device)
{
	lock_exclusively(worker);
	CALL(worker, cudaDeviceReset());
	for (int device = 0; device < DEVICES; device++)
		forget_primary_if_ended(device);
}

ACTION(2, create_green_context)
{
	int device = (int)draw(worker, DEVICES);
	CUdevResourceDesc description;
	struct resource green = { .device = device };
	CUdevResource resource;

	if (!bag_has_space(GREEN))
		return destroy_green_context(worker);
	lock_exclusively(worker);
	if (cuDeviceGetDevResource(device, &resource, CU_DEV_RESOURCE_TYPE_SM) ||
		cuDevResourceGenerateDesc(&description, &resource, 1))
		return;
	if (!CALL(worker,
			cuGreenCtxCreate((CUgreenCtx *)&green.address, description, device,
				CU_GREEN_CTX_DEFAULT_STREAM)))
		return;
	set_view((CUgreenCtx)green.address, device, true);
	put(GREEN, &green);
}

ACTION(2, destroy_green_context)
{
	struct resource green;

	lock_exclusively(worker);
	if (!take(worker, GREEN, &green))
		return;
	set_view((CUgreenCtx)green.address, green.device, false);
	if (!CALL(worker, cuGreenCtxDestroy((CUgreenCtx)green.address))) {
		/* The primary context of its device was reset meanwhile. */
		set_view((CUgreenCtx)green.address, green.device, true);
		put(GREEN, &green);
	}
	forget_primary_if_ended(green.device);
}

/*
 * --- code and limits
 * ------------------------------------------------------------------------------
 */

ACTION(4, load_code)
{
	struct resource code = { 0 };
	uint64_t form = draw(worker, 5);
	bool done;

	if (!bag_has_space(form < 4 ? MODULE : LIBRARY))
		return unload_code(worker);
	switch (form) {
	case 0:
		done = CALL(worker, cuModuleLoadData((CUmodule *)&code.address, ptx));
		break;
	case 1:
		done = CALL(worker, cuModuleLoadDataEx((CUmodule *)&code.address, ptx, 0, NULL, NULL));
		break;
	case 2:
		done = CALL(worker, cuModuleLoadFatBinary((CUmodule *)&code.address, ptx));
		break;
	case 3:
		done = CALL(worker, cuModuleLoad((CUmodule *)&code.address, "/dev/null/no such file"));
		break;
	default:
		done = CALL(worker,
			cuLibraryLoadData((CUlibrary *)&code.address, ptx, NULL, NULL, 0, NULL, NULL, 0));
	}
	if (!done)
		return;
	update_current_context(worker);
	code.context = form < 4 ? worker->current : NULL;
	put(form < 4 ? MODULE : LIBRARY, &code);
}

ACTION(4, unload_code)
{
	struct resource code;

	if (one_in(worker, 4) && take(worker, LIBRARY, &code)) {
		CALL(worker, cuLibraryUnload((CUlibrary)code.address));
	} else if (take(worker, MODULE, &code)) {
		if (!CALL(worker, cuModuleUnload((CUmodule)code.address)))
			put(MODULE, &code);
	}
}

ACTION(3, set_limit)
{
	static const CUlimit limits[] = { CU_LIMIT_STACK_SIZE, CU_LIMIT_PRINTF_FIFO_SIZE,
		CU_LIMIT_MALLOC_HEAP_SIZE, (CUlimit)99 };
	CUlimit limit = limits[draw(worker, 4)];

	if (one_in(worker, 2))
		CALL(worker, cuCtxSetLimit(limit, draw_size(worker) / 16));
	else
		CALL(worker, cudaDeviceSetLimit((enum cudaLimit)limit, draw_size(worker) / 16));
}

ACTION(2, query_memory)
{
	size_t free_bytes, total_bytes;

	CALL(worker,
		one_in(worker, 2) ? (int)cuMemGetInfo_v2(&free_bytes, &total_bytes)
						  : (int)cudaMemGetInfo(&free_bytes, &total_bytes));
}

ACTION(2, invalid_context_calls)
{
	CUcontext context;
	CUmodule code;

	switch (draw(worker, 7)) {
	case 0:
		CALL(worker, cuCtxCreate_v2(&context, 0, 99));
		break;
	case 1:
		CALL(worker, cuCtxCreate_v2(NULL, 0, 0));
		break;
	case 2:
		CALL(worker, cuCtxDestroy_v2((CUcontext)worker));
		break;
	case 3:
		CALL(worker, cuCtxDetach((CUcontext)worker));
		break;
	case 4:
		CALL(worker, cuDevicePrimaryCtxRetain(&context, -1));
		break;
	case 5:
		CALL(worker, cuModuleLoadData(&code, NULL));
		break;
	case 6:
		CALL(worker, cuModuleUnload((CUmodule)worker));
		break;
	}
}
