/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <pthread.h>
#include <stdbool.h>

/* Contexts: their lifetime, the objects that end with them, and green contexts. */

static bool primary_is_active(CUdevice device)
{
	unsigned int flags;
	int is_active;

	assert_success(cuDevicePrimaryCtxGetState(device, &flags, &is_active));
	return is_active;
}

static void a_primary_context_lives_until_its_last_release(void **state)
{
	CUcontext first, second;
	CUdeviceptr block;

	(void)state;
	assert_int_equal(cuDevicePrimaryCtxRelease_v2(1), CUDA_ERROR_INVALID_CONTEXT);
	assert_success(cuDevicePrimaryCtxRetain(&first, 1));
	assert_success(cuDevicePrimaryCtxRetain(&second, 1));
	assert_ptr_equal(first, second);
	assert_success(cuCtxPushCurrent_v2(first));
	assert_success(cuMemAlloc_v2(&block, MIB));
	assert_success(cuDevicePrimaryCtxRelease_v2(1));
	assert_true(primary_is_active(1));
	assert_int_equal(used_bytes(), MIB);
	assert_success(cuDevicePrimaryCtxRelease_v2(1));
	assert_false(primary_is_active(1));
	/* The destroyed context is still current in this thread. */
	assert_int_equal(cuMemAlloc_v2(&block, MIB), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	assert_int_equal(cuDevicePrimaryCtxRelease_v2(1), CUDA_ERROR_INVALID_CONTEXT);

	assert_success(cuDevicePrimaryCtxRetain(&second, 1));
	assert_ptr_equal(first, second);
	assert_int_equal(used_bytes(), 0);
	assert_success(cuDevicePrimaryCtxRelease_v2(1));
	assert_success(cuCtxPopCurrent_v2(NULL));
}

static void a_reset_ends_a_primary_context_and_keeps_its_references(void **state)
{
	CUcontext context;
	CUdeviceptr block;

	(void)state;
	assert_success(cuDevicePrimaryCtxRetain(&context, 1));
	assert_success(cuCtxPushCurrent_v2(context));
	assert_success(cuMemAlloc_v2(&block, MIB));
	assert_success(cuDevicePrimaryCtxReset_v2(1));
	assert_false(primary_is_active(1));
	assert_int_equal(cuMemAlloc_v2(&block, MIB), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	assert_success(cuDevicePrimaryCtxReset_v2(1));

	assert_success(cuDevicePrimaryCtxRetain(&context, 1));
	assert_int_equal(used_bytes(), 0);
	assert_success(cuDevicePrimaryCtxRelease_v2(1));
	assert_true(primary_is_active(1));
	assert_success(cuDevicePrimaryCtxRelease_v2(1));
	assert_false(primary_is_active(1));
	assert_success(cuCtxPopCurrent_v2(NULL));
}

static void an_attached_context_ends_with_its_last_detach(void **state)
{
	CUcontext second, attached;
	CUdeviceptr block;

	size_t before = used_bytes();
	assert_success(cuCtxCreate_v2(&second, 0, 0));
	assert_int_equal(cuCtxAttach(&attached, 1), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuCtxAttach(&attached, 0));
	assert_ptr_equal(attached, second);
	assert_success(cuMemAlloc_v2(&block, MIB));
	assert_int_equal(cuCtxDetach(*state), CUDA_ERROR_INVALID_CONTEXT);
	assert_success(cuCtxDetach(second));
	assert_int_equal(used_bytes() - before, MIB);
	assert_success(cuCtxDetach(second));
	assert_success(cuCtxGetCurrent(&attached));
	assert_ptr_equal(attached, *state);
	assert_int_equal(used_bytes(), before);
}

static void a_context_frees_its_memory_and_keeps_memory_of_no_context(void **state)
{
	CUmemAllocationProp property = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
	};
	CUDA_ARRAY_DESCRIPTOR shape = { 256, 256, CU_AD_FORMAT_UNSIGNED_INT8, 4 };
	CUmemGenericAllocationHandle physical;
	CUdeviceptr linear, pitched, managed, async;
	static char registered[4096] __attribute__((aligned(4096)));
	CUcontext second;
	CUarray array;
	CUstream stream;
	size_t pitch;
	void *pinned;

	size_t before = used_bytes();
	assert_success(cuCtxCreate_v2(&second, 0, 0));
	assert_success(cuMemAlloc_v2(&linear, MIB));
	assert_success(cuMemAllocPitch_v2(&pitched, &pitch, 100, 100, 4));
	assert_success(cuMemAllocManaged(&managed, MIB, CU_MEM_ATTACH_GLOBAL));
	assert_success(cuMemHostAlloc(&pinned, MIB, 0));
	assert_success(cuMemHostRegister_v2(registered, sizeof(registered), 0));
	assert_success(cuArrayCreate_v2(&array, &shape));
	assert_success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_success(cuMemAllocAsync(&async, MIB, stream));
	assert_success(cuMemCreate(&physical, 2 * MIB, &property, 0));
	assert_success(cuCtxDestroy_v2(second));
	assert_int_equal(used_bytes() - before, 2 * MIB + 2 * MIB);

	assert_int_equal(cuMemFree_v2(linear), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemFree_v2(pitched), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemFree_v2(managed), CUDA_ERROR_INVALID_VALUE);
	assert_int_not_equal(cuMemFreeHost(pinned), CUDA_SUCCESS);
	assert_int_not_equal(cuMemHostUnregister(registered), CUDA_SUCCESS);
	assert_int_equal(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
	assert_success(cuMemFree_v2(async));
	assert_success(cuMemRelease(physical));
	assert_success(cuCtxSynchronize());
	assert_int_equal(used_bytes(), before);
	(void)state;
}

struct destroyer {
	CUcontext context;
	CUresult destroyed, used;
};

static void *destroy(void *argument)
{
	struct destroyer *destroyer = argument;
	CUdeviceptr block;

	cuCtxSetCurrent(destroyer->context);
	destroyer->destroyed = cuCtxDestroy_v2(destroyer->context);
	/*
	 * The context is no longer current in the thread that destroyed it. It still is in the thread
	 * that made it.
	 */
	destroyer->used = cuMemAlloc_v2(&block, MIB);
	return NULL;
}

static void a_destroyed_context_has_its_own_error(void **state)
{
	CUcontext second, third;
	CUdeviceptr block;
	pthread_t thread;
	CUdevice device;

	(void)state;
	assert_success(cuCtxCreate_v2(&second, 0, 0));
	struct destroyer destroyer = { .context = second };
	assert_int_equal(pthread_create(&thread, NULL, destroy, &destroyer), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_success(destroyer.destroyed);
	assert_int_equal(destroyer.used, CUDA_ERROR_INVALID_CONTEXT);
	assert_int_equal(cuMemAlloc_v2(&block, MIB), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	assert_int_equal(cuCtxGetDevice(&device), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	assert_int_equal(cuCtxDestroy_v2(second), CUDA_ERROR_INVALID_CONTEXT);
	assert_int_equal(cuCtxSetCurrent(second), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	assert_int_equal(cuCtxSetCurrent((CUcontext)&block), CUDA_ERROR_INVALID_CONTEXT);
	assert_success(cuCtxCreate_v2(&third, 0, 0));
	assert_ptr_not_equal(third, second);
	assert_success(cuCtxDestroy_v2(third));
	assert_success(cuCtxPopCurrent_v2(NULL));
}

static void a_primary_context_cannot_be_destroyed_by_handle(void **state)
{
	CUcontext context;

	(void)state;
	assert_success(cuDevicePrimaryCtxRetain(&context, 1));
	assert_int_equal(cuCtxDestroy_v2(context), CUDA_ERROR_INVALID_CONTEXT);
	assert_success(cuCtxPushCurrent_v2(context));
	assert_int_equal(cuCtxDetach(context), CUDA_ERROR_INVALID_CONTEXT);
	assert_success(cuCtxPopCurrent_v2(NULL));
	assert_success(cuDevicePrimaryCtxRelease_v2(1));
}

static void a_capture_ends_with_its_context(void **state)
{
	CUcontext second;
	CUdeviceptr block;
	CUstream stream;

	(void)state;
	assert_success(cuCtxCreate_v2(&second, 0, 0));
	assert_success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_success(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	assert_success(cuCtxDestroy_v2(second));
	assert_success(cuMemAlloc_v2(&block, MIB));
	assert_success(cuMemFree_v2(block));
}

/* --- green contexts --------------------------------------------------------------------------- */

static CUgreenCtx make_green(unsigned int multiprocessors)
{
	CUdevResource all, part, rest;
	CUdevResourceDesc descriptor;
	CUgreenCtx green;
	unsigned int count = 1;

	assert_success(cuDeviceGetDevResource(1, &all, CU_DEV_RESOURCE_TYPE_SM));
	assert_success(cuDevSmResourceSplitByCount(&part, &count, &all, &rest, 0, multiprocessors));
	assert_int_equal(count, 1);
	assert_int_equal(part.sm.smCount + rest.sm.smCount, all.sm.smCount);
	assert_success(cuDevResourceGenerateDesc(&descriptor, &part, 1));
	assert_success(cuGreenCtxCreate(&green, descriptor, 1, CU_GREEN_CTX_DEFAULT_STREAM));
	return green;
}

static void a_green_context_works_in_the_primary_one(void **state)
{
	CUcontext view, primary, of;
	CUstream stream, implicit;
	CUgreenCtx green, found;
	CUdevResource resource;
	CUdeviceptr block;
	CUdevice device;

	(void)state;
	assert_false(primary_is_active(1));
	green = make_green(10);
	assert_true(primary_is_active(1));
	assert_success(cuGreenCtxGetDevResource(green, &resource, CU_DEV_RESOURCE_TYPE_SM));
	assert_int_equal(resource.sm.smCount, 16);
	assert_success(cuCtxFromGreenCtx(&view, green));
	assert_success(cuCtxPushCurrent_v2(view));
	assert_success(cuCtxGetDevice(&device));
	assert_int_equal(device, 1);
	assert_success(cuDevicePrimaryCtxRetain(&primary, 1));
	assert_ptr_not_equal(view, primary);

	assert_success(cuMemAlloc_v2(&block, MIB));
	assert_success(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, block));
	assert_ptr_equal(of, primary);

	assert_success(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
	assert_success(cuStreamCreate(&implicit, CU_STREAM_NON_BLOCKING));
	CUstream streams[] = { stream, implicit, NULL };
	for (int i = 0; i < 3; i++) {
		assert_success(cuStreamGetCtx_v2(streams[i], &of, &found));
		assert_ptr_equal(of, primary);
		assert_ptr_equal(found, green);
		assert_success(cuStreamGetCtx(streams[i], &of));
		assert_ptr_equal(of, view);
		assert_success(cuStreamGetGreenCtx(streams[i], &found));
		assert_ptr_equal(found, green);
	}
	assert_success(cuStreamDestroy_v2(implicit));

	/* Allocated memory belongs to the primary context, so it outlives the green context. */
	assert_success(cuGreenCtxDestroy(green));
	assert_int_equal(cuGreenCtxDestroy(green), CUDA_ERROR_INVALID_CONTEXT);
	assert_int_equal(cuStreamQuery(stream), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	assert_int_equal(cuStreamDestroy_v2(stream), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	assert_int_equal(cuCtxSetCurrent(view), CUDA_ERROR_INVALID_CONTEXT);
	assert_success(cuCtxPushCurrent_v2(primary));
	assert_int_equal(used_bytes(), MIB);
	assert_success(cuStreamGetCtx_v2(NULL, &of, &found));
	assert_ptr_equal(of, primary);
	assert_null(found);
	assert_success(cuMemFree_v2(block));
	assert_success(cuCtxPopCurrent_v2(NULL));
	assert_success(cuDevicePrimaryCtxRelease_v2(1));
	assert_false(primary_is_active(1));
}

static void the_last_green_context_ends_an_unretained_primary_context(void **state)
{
	CUgreenCtx first = make_green(8), second = make_green(8);
	CUcontext view;
	CUdeviceptr block;

	(void)state;
	assert_success(cuCtxFromGreenCtx(&view, first));
	assert_success(cuCtxPushCurrent_v2(view));
	assert_success(cuMemAlloc_v2(&block, MIB));
	assert_success(cuCtxPopCurrent_v2(NULL));
	assert_success(cuGreenCtxDestroy(first));
	assert_true(primary_is_active(1));
	assert_success(cuGreenCtxDestroy(second));
	assert_false(primary_is_active(1));
	assert_int_equal(cuMemFree_v2(block), CUDA_ERROR_INVALID_VALUE);
}

static void multiprocessors_are_split_in_whole_units(void **state)
{
	CUdevResource all, parts[16];
	unsigned int count = 0;

	(void)state;
	assert_success(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
	assert_int_equal(all.sm.smCount, 64);
	assert_success(cuDevSmResourceSplitByCount(NULL, &count, &all, NULL, 0, 9));
	assert_int_equal(count, 4);
	assert_success(cuDevSmResourceSplitByCount(parts, &count, &all, NULL, 0, 9));
	assert_int_equal(parts[3].sm.smCount, 16);
	assert_int_equal(cuDevSmResourceSplitByCount(parts, &count, &all, NULL, 0, 65),
		CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTEXT_TEST(a_primary_context_lives_until_its_last_release),
		CONTEXT_TEST(a_reset_ends_a_primary_context_and_keeps_its_references),
		CONTEXT_TEST(an_attached_context_ends_with_its_last_detach),
		CONTEXT_TEST(a_context_frees_its_memory_and_keeps_memory_of_no_context),
		CONTEXT_TEST(a_destroyed_context_has_its_own_error),
		CONTEXT_TEST(a_primary_context_cannot_be_destroyed_by_handle),
		CONTEXT_TEST(a_capture_ends_with_its_context),
		CONTEXT_TEST(a_green_context_works_in_the_primary_one),
		CONTEXT_TEST(the_last_green_context_ends_an_unretained_primary_context),
		CONTEXT_TEST(multiprocessors_are_split_in_whole_units),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
