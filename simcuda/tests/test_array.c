/* SPDX-License-Identifier: MIT */
#include "testing.h"

/* Arrays: their size, and the memory mapped to sparse and deferred arrays. */

enum { UNIT = 2 << 20, TILE = 1 << 16 };

static CUarray make_array(size_t width, size_t height, size_t depth, CUarray_format format,
	unsigned int channels, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = { width, height, depth, format, channels, flags };
	CUarray array;

	assert_success(cuArray3DCreate_v2(&array, &descriptor));
	return array;
}

static CUmemGenericAllocationHandle make_tile_pool(size_t size_bytes)
{
	CUmemAllocationProp properties = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	CUmemGenericAllocationHandle handle;

	properties.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
	assert_success(cuMemCreate(&handle, size_bytes, &properties, 0));
	return handle;
}

static void the_size_of_a_format_is_that_of_its_elements(void **state)
{
	static const struct {
		CUarray_format format;
		unsigned int channels;
		size_t size_bytes; /* for 64 x 64 elements */
	} formats[] = {
		{ CU_AD_FORMAT_UNSIGNED_INT8, 1, 4096 },
		{ CU_AD_FORMAT_FLOAT, 4, 65536 },
		{ CU_AD_FORMAT_UNORM_INT8X4, 4, 16384 },
		{ CU_AD_FORMAT_SNORM_INT16X2, 2, 16384 },
		{ CU_AD_FORMAT_BC1_UNORM, 4, 2048 },
		{ CU_AD_FORMAT_BC7_UNORM, 4, 4096 },
		{ CU_AD_FORMAT_NV12, 3, 6144 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		CUarray array = make_array(64, 64, 0, formats[i].format, formats[i].channels, 0);
		assert_int_equal(used_bytes(), formats[i].size_bytes);
		assert_success(cuArrayDestroy(array));
		assert_int_equal(used_bytes(), 0);
	}
	CUDA_ARRAY3D_DESCRIPTOR three = { 64, 64, 0, CU_AD_FORMAT_FLOAT, 3, 0 };
	CUarray none;
	assert_int_equal(cuArray3DCreate_v2(&none, &three), CUDA_ERROR_INVALID_VALUE);
	three = (CUDA_ARRAY3D_DESCRIPTOR){ SIZE_MAX, SIZE_MAX, 0, CU_AD_FORMAT_FLOAT, 4, 0 };
	assert_int_equal(cuArray3DCreate_v2(&none, &three), CUDA_ERROR_OUT_OF_MEMORY);
}

static void planes_and_levels_are_views_of_their_array(void **state)
{
	CUarray array = make_array(64, 32, 0, CU_AD_FORMAT_NV12, 3, 0), plane, level;
	CUDA_ARRAY3D_DESCRIPTOR descriptor = { 64, 32, 6, CU_AD_FORMAT_UNSIGNED_INT8, 1,
		CUDA_ARRAY3D_LAYERED };
	CUmipmappedArray mipmap;

	(void)state;
	assert_success(cuArrayGetPlane(&plane, array, 1));
	CUDA_ARRAY_DESCRIPTOR shape;
	assert_success(cuArrayGetDescriptor_v2(&shape, plane));
	assert_int_equal(shape.Width, 32);
	assert_int_equal(shape.Height, 16);
	assert_int_equal(shape.NumChannels, 2);
	assert_int_equal(cuArrayGetPlane(&plane, array, 2), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuArrayGetPlane(&level, plane, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuArrayDestroy(plane), CUDA_ERROR_INVALID_HANDLE);
	assert_success(cuArrayDestroy(array));
	assert_int_equal(cuArrayGetDescriptor_v2(&shape, plane), CUDA_ERROR_INVALID_HANDLE);

	/* The array has at most seven levels. Each level keeps six layers. */
	assert_success(cuMipmappedArrayCreate(&mipmap, &descriptor, 30));
	/* 6 x (2048 + 512 + 128 + 32 + 8 + 2 + 1), in units of 512 */
	assert_int_equal(used_bytes(), 16896);
	assert_success(cuMipmappedArrayGetLevel(&level, mipmap, 6));
	assert_int_equal(cuMipmappedArrayGetLevel(&plane, mipmap, 7), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuArrayDestroy(level), CUDA_ERROR_INVALID_HANDLE);
	assert_success(cuMipmappedArrayDestroy(mipmap));
	assert_int_equal(cuMipmappedArrayDestroy(mipmap), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(used_bytes(), 0);
}

static void a_mapped_tile_keeps_its_memory_alive(void **state)
{
	CUarray array = make_array(1024, 1024, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE);
	CUmemGenericAllocationHandle memory;
	CUDA_ARRAY_SPARSE_PROPERTIES properties;

	(void)state;
	assert_int_equal(used_bytes(), 0);
	assert_success(cuArrayGetSparseProperties(&properties, array));
	assert_int_equal(properties.tileExtent.width * properties.tileExtent.height * 4, TILE);
	memory = make_tile_pool(UNIT);
	CUarrayMapInfo info = { .resourceType = CU_RESOURCE_TYPE_ARRAY,
		.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL,
		.memOperationType = CU_MEM_OPERATION_TYPE_MAP,
		.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC,
		.deviceBitMask = 1 };
	info.resource.array = array;
	info.memHandle.memHandle = memory;
	info.subresource.sparseLevel.extentWidth = 2 * properties.tileExtent.width;
	info.subresource.sparseLevel.extentHeight = properties.tileExtent.height;
	info.subresource.sparseLevel.extentDepth = 1;
	assert_success(cuMemMapArrayAsync(&info, 1, NULL));
	info.subresource.sparseLevel.offsetX = 1;
	assert_int_equal(cuMemMapArrayAsync(&info, 1, NULL), CUDA_ERROR_INVALID_VALUE);
	info.subresource.sparseLevel.offsetX = 1024 - properties.tileExtent.width;
	assert_int_equal(cuMemMapArrayAsync(&info, 1, NULL), CUDA_ERROR_INVALID_VALUE);
	info.subresource.sparseLevel.offsetX = 2 * properties.tileExtent.width;
	info.offset = UNIT - TILE;
	assert_int_equal(cuMemMapArrayAsync(&info, 1, NULL), CUDA_ERROR_INVALID_VALUE);
	info.offset = UNIT - 2 * TILE;
	assert_success(cuMemMapArrayAsync_ptsz(&info, 1, NULL));
	assert_success(cuMemRelease(memory));
	assert_int_equal(used_bytes(), UNIT);

	/* One call unmaps both parts: all tiles of the first row. */
	info.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
	info.memHandle.memHandle = 0;
	info.offset = 0;
	info.subresource.sparseLevel.extentWidth = 2 * properties.tileExtent.width;
	assert_success(cuMemMapArrayAsync(&info, 1, NULL));
	assert_int_equal(used_bytes(), UNIT);
	info.subresource.sparseLevel.offsetX = 0;
	info.subresource.sparseLevel.extentWidth = 1024;
	assert_success(cuMemMapArrayAsync(&info, 1, NULL));
	assert_int_equal(used_bytes(), 0);
	assert_success(cuArrayDestroy(array));
}

static void a_deferred_array_is_mapped_whole_and_releases_its_memory_at_its_end(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = { 256, 256, 0, CU_AD_FORMAT_FLOAT, 1,
		CUDA_ARRAY3D_DEFERRED_MAPPING };
	CUDA_ARRAY_MEMORY_REQUIREMENTS requirements;
	CUmipmappedArray mipmap;
	CUarray plain = make_array(256, 256, 0, CU_AD_FORMAT_FLOAT, 1, 0);

	(void)state;
	assert_int_equal(cuArrayGetMemoryRequirements(&requirements, plain, 0),
		CUDA_ERROR_INVALID_VALUE);
	assert_success(cuArrayDestroy(plain));
	assert_success(cuMipmappedArrayCreate(&mipmap, &descriptor, 3));
	assert_int_equal(used_bytes(), 0);
	assert_success(cuMipmappedArrayGetMemoryRequirements(&requirements, mipmap, 0));
	assert_true(requirements.size >= 256 * 256 * 4 + 128 * 128 * 4 + 64 * 64 * 4);
	CUmemGenericAllocationHandle memory = make_tile_pool(UNIT), other = make_tile_pool(UNIT);
	CUarrayMapInfo info = { .resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
		.memOperationType = CU_MEM_OPERATION_TYPE_MAP,
		.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC,
		.deviceBitMask = 1 };
	info.resource.mipmap = mipmap;
	info.memHandle.memHandle = memory;
	assert_success(cuMemMapArrayAsync(&info, 1, NULL));
	assert_success(cuMemRelease(memory));
	/* Maps other memory in the same place, which releases the first memory. */
	assert_int_equal(used_bytes(), 2 * UNIT);
	info.memHandle.memHandle = other;
	assert_success(cuMemMapArrayAsync(&info, 1, NULL));
	assert_int_equal(used_bytes(), UNIT);
	assert_success(cuMemRelease(other));
	assert_int_equal(used_bytes(), UNIT);
	assert_success(cuMipmappedArrayDestroy(mipmap));
	assert_int_equal(used_bytes(), 0);
	assert_int_equal(cuMemMapArrayAsync(&info, 1, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void arrays_and_their_memory_end_with_their_context(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = { 256, 256, 0, CU_AD_FORMAT_FLOAT, 1,
		CUDA_ARRAY3D_DEFERRED_MAPPING };
	CUcontext context;
	CUarray array;

	(void)state;
	assert_success(cuCtxCreate_v2(&context, 0, 0));
	assert_success(cuArray3DCreate_v2(&array, &descriptor));
	make_array(64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0);
	CUmemGenericAllocationHandle memory = make_tile_pool(UNIT);
	CUarrayMapInfo info = { .resourceType = CU_RESOURCE_TYPE_ARRAY,
		.memOperationType = CU_MEM_OPERATION_TYPE_MAP,
		.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC,
		.deviceBitMask = 1 };
	info.resource.array = array;
	info.memHandle.memHandle = memory;
	assert_success(cuMemMapArrayAsync(&info, 1, NULL));
	assert_success(cuMemRelease(memory));
	assert_int_equal(used_bytes(), UNIT + 16384);
	assert_success(cuCtxDestroy_v2(context));
	assert_int_equal(used_bytes(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTEXT_TEST(the_size_of_a_format_is_that_of_its_elements),
		CONTEXT_TEST(planes_and_levels_are_views_of_their_array),
		CONTEXT_TEST(a_mapped_tile_keeps_its_memory_alive),
		CONTEXT_TEST(a_deferred_array_is_mapped_whole_and_releases_its_memory_at_its_end),
		CONTEXT_TEST(arrays_and_their_memory_end_with_their_context),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
