/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <stdio.h>
#include <unistd.h>

#include "../driver/accounting.h"

/* Memory that another API or another process owns and pays for. */

/* --- external memory -------------------------------------------------------------------------- */

static CUexternalMemory import(size_t size_bytes)
{
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC descriptor = {
		.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .size = size_bytes
	};
	CUexternalMemory memory;

	assert_success(cuImportExternalMemory(&memory, &descriptor));
	return memory;
}

static void mapped_buffers_are_freed_one_by_one_and_outlive_their_object(void **state)
{
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = { .offset = 100, .size = 900 };
	CUexternalMemory memory = import(1000);
	CUdeviceptr first, second, none;
	size_t size_bytes;

	(void)state;
	assert_success(cuExternalMemoryGetMappedBuffer(&first, memory, &part));
	assert_success(cuExternalMemoryGetMappedBuffer(&second, memory, &part));
	part.size = 901;
	assert_int_equal(cuExternalMemoryGetMappedBuffer(&none, memory, &part),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(used_bytes(), 0);
	assert_success(cuMemGetAddressRange_v2(NULL, &size_bytes, first + 899));
	assert_int_equal(size_bytes, 900);
	assert_success(cuMemFree_v2(first));
	assert_success(cuDestroyExternalMemory(memory));
	assert_int_equal(cuDestroyExternalMemory(memory), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuExternalMemoryGetMappedBuffer(&none, memory, &part),
		CUDA_ERROR_INVALID_HANDLE);
	assert_success(cuMemsetD8_v2(second, 1, 900));
	assert_success(cuMemFree_v2(second));
	assert_int_equal(cuMemFree_v2(second), CUDA_ERROR_INVALID_VALUE);
}

static void mapped_arrays_are_destroyed_as_arrays_are(void **state)
{
	CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC part = {
		.arrayDesc = { 64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0 },
		.numLevels = 2,
	};
	CUexternalMemory memory = import(64 * 64 * 4 + 32 * 32 * 4);
	CUmipmappedArray mipmap, none;
	CUarray level;

	(void)state;
	assert_success(cuExternalMemoryGetMappedMipmappedArray(&mipmap, memory, &part));
	part.numLevels = 3;
	assert_int_equal(cuExternalMemoryGetMappedMipmappedArray(&none, memory, &part),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(used_bytes(), 0);
	assert_success(cuMipmappedArrayGetLevel(&level, mipmap, 1));
	assert_success(cuDestroyExternalMemory(memory));
	assert_success(cuMipmappedArrayDestroy(mipmap));
}

static void external_memory_ends_with_its_context(void **state)
{
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = { .size = 1000 };
	CUcontext context;
	CUdeviceptr buffer;

	(void)state;
	size_t count = simcuda_list(NULL, 0);
	assert_success(cuCtxCreate_v2(&context, 0, 0));
	CUexternalMemory memory = import(1000);
	assert_success(cuExternalMemoryGetMappedBuffer(&buffer, memory, &part));
	assert_success(cuCtxDestroy_v2(context));
	assert_int_equal(simcuda_list(NULL, 0), count);
	assert_int_equal(cuDestroyExternalMemory(memory), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuMemFree_v2(buffer), CUDA_ERROR_INVALID_VALUE);
}

/* --- graphics --------------------------------------------------------------------------------- */

static void a_buffer_is_accessible_while_it_is_mapped(void **state)
{
	CUgraphicsResource resources[2], twice[2];
	CUdeviceptr address;
	CUdeviceptr_v1 low;
	unsigned int low_bytes;
	size_t size_bytes;
	CUarray array;

	(void)state;
	assert_int_equal(cuGraphicsGLRegisterBuffer(&resources[0], 0, 0), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuGraphicsGLRegisterBuffer(&resources[0], 5, 0));
	assert_success(cuGraphicsGLRegisterBuffer(&resources[1], 6,
		CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY));
	assert_int_equal(cuGraphicsResourceGetMappedPointer_v2(&address, &size_bytes, resources[0]),
		CUDA_ERROR_NOT_MAPPED);
	assert_int_equal(cuGraphicsUnmapResources(1, resources, NULL), CUDA_ERROR_NOT_MAPPED);
	twice[0] = twice[1] = resources[0];
	assert_int_equal(cuGraphicsMapResources(2, twice, NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_success(cuGraphicsMapResources(1, resources, NULL));
	assert_int_equal(cuGraphicsMapResources_ptsz(2, resources, NULL), CUDA_ERROR_ALREADY_MAPPED);
	assert_success(cuGraphicsMapResources_ptsz(1, resources + 1, NULL));
	assert_success(cuGraphicsResourceGetMappedPointer_v2(&address, &size_bytes, resources[0]));
	assert_int_equal(size_bytes, 6 * 65536);
	assert_success(cuMemsetD8_v2(address, 1, size_bytes));
	assert_success(cuGraphicsResourceGetMappedPointer(&low, &low_bytes, resources[0]));
	assert_int_equal(low, address);
	assert_int_equal(low_bytes, size_bytes);
	assert_int_equal(cuGraphicsSubResourceGetMappedArray(&array, resources[0], 0, 0),
		CUDA_ERROR_NOT_MAPPED_AS_ARRAY);
	assert_int_equal(cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGraphicsResourceSetMapFlags_v2(resources[0], 0), CUDA_ERROR_ALREADY_MAPPED);
	assert_int_equal(used_bytes(), 0);
	assert_success(cuGraphicsUnmapResources(2, resources, NULL));
	assert_success(cuGraphicsResourceSetMapFlags(resources[0], 0));
	assert_int_equal(cuMemGetAddressRange_v2(NULL, NULL, address), CUDA_ERROR_NOT_FOUND);
	assert_success(cuGraphicsUnregisterResource(resources[0]));
	assert_success(cuGraphicsUnregisterResource(resources[1]));
	assert_int_equal(cuGraphicsUnregisterResource(resources[0]), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuGraphicsMapResources(1, resources, NULL), CUDA_ERROR_INVALID_HANDLE);
}

static void an_image_is_accessible_as_arrays(void **state)
{
	CUgraphicsResource images[4];
	CUdeviceptr address;
	CUmipmappedArray mipmap;
	CUarray level;

	(void)state;
	assert_success(cuGraphicsGLRegisterImage(&images[0], 3, 0x0de1, 0));
	assert_success(cuGraphicsEGLRegisterImage(&images[1], state, 0));
	assert_success(cuGraphicsVDPAURegisterVideoSurface(&images[2], 1, 0));
	assert_success(cuGraphicsVDPAURegisterOutputSurface(&images[3], 1, 0));
	assert_success(cuGraphicsMapResources(4, images, NULL));
	assert_int_equal(cuGraphicsResourceGetMappedPointer_v2(&address, NULL, images[0]),
		CUDA_ERROR_NOT_MAPPED_AS_POINTER);
	assert_success(cuGraphicsSubResourceGetMappedArray(&level, images[0], 0, 0));
	CUDA_ARRAY_DESCRIPTOR shape;
	assert_success(cuArrayGetDescriptor_v2(&shape, level));
	assert_int_equal(shape.Width, 512);
	assert_int_equal(cuGraphicsSubResourceGetMappedArray(&level, images[0], 1, 0),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGraphicsSubResourceGetMappedArray(&level, images[0], 0, 10),
		CUDA_ERROR_INVALID_VALUE);
	assert_success(cuGraphicsResourceGetMappedMipmappedArray(&mipmap, images[0]));
	assert_int_equal(cuMipmappedArrayDestroy(mipmap), CUDA_ERROR_INVALID_HANDLE);
	assert_success(cuGraphicsUnmapResources(1, images, NULL));
	assert_int_equal(cuArrayGetDescriptor_v2(&shape, level), CUDA_ERROR_INVALID_HANDLE);
	/* Unregistering a mapped resource also unmaps it. */
	size_t count = simcuda_list(NULL, 0);
	assert_success(cuGraphicsUnregisterResource(images[3]));
	assert_int_equal(simcuda_list(NULL, 0), count - 2);
	for (int i = 0; i < 3; i++)
		assert_success(cuGraphicsUnregisterResource(images[i]));
}

/* --- between processes ------------------------------------------------------------------------ */

/* Exports a block and frees it on request. Returns 0, or the number of the step that failed. */
static int export_in_child(int control)
{
	CUcontext context;
	CUdeviceptr block, again;
	CUipcMemHandle handles[2];
	char byte;

	if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuMemAlloc_v2(&block, 5000))
		return 1;
	if (cuIpcGetMemHandle(&handles[0], block + 100))
		return 2;
	/* The exporting process cannot open its own handle. */
	if (cuIpcOpenMemHandle_v2(&again, handles[0], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) !=
		CUDA_ERROR_INVALID_CONTEXT)
		return 3;
	/* The next block at that address is a different block. */
	if (cuMemFree_v2(block) || cuMemAlloc_v2(&again, 5000) || cuIpcGetMemHandle(&handles[1], again))
		return 4;
	if (write(control, handles, sizeof(handles)) != sizeof(handles) || read(control, &byte, 1) != 1)
		return 5;
	return 0;
}

static void a_handle_of_another_process_is_opened_once_and_counted(void **state)
{
	CUipcMemHandle handles[2];
	CUdeviceptr address, again, other;
	CUcontext context;
	char text[12], byte = 0;
	int channel[2], status;
	size_t size_bytes;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, channel), 0);
	pid_t child = fork();
	if (child == 0) {
		close(channel[0]);
		snprintf(text, sizeof(text), "%d", channel[1]);
		execl("/proc/self/exe", "test_imported_memory", text, (char *)NULL);
		_exit(99);
	}
	assert_true(child > 0);
	close(channel[1]);
	assert_int_equal(read(channel[0], handles, sizeof(handles)), sizeof(handles));

	assert_int_equal(cuIpcOpenMemHandle_v2(&address, handles[0], 0), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuIpcOpenMemHandle_v2(&address, handles[0], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	assert_success(cuIpcOpenMemHandle(&again, handles[0], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	assert_int_equal(again, address);
	assert_success(cuIpcOpenMemHandle_v2(&other, handles[1], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	assert_int_not_equal(other, address);
	assert_int_equal(used_bytes(), 0);
	assert_success(cuMemGetAddressRange_v2(NULL, &size_bytes, address));
	assert_int_equal(size_bytes, 5000);
	assert_int_equal(cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
	/* Memory that is open outlives the exporter. */
	assert_int_equal(write(channel[0], &byte, 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
	assert_success(cuIpcCloseMemHandle(address));
	assert_success(cuMemsetD8_v2(address, 1, 5000));
	/* Only one context of a device can have the memory open. */
	assert_success(cuCtxCreate_v2(&context, 0, 0));
	assert_int_equal(cuIpcOpenMemHandle_v2(&again, handles[0], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
		CUDA_ERROR_MAP_FAILED);
	assert_success(cuCtxDestroy_v2(context));
	assert_success(cuIpcCloseMemHandle(address));
	assert_int_equal(cuIpcCloseMemHandle(address), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuIpcCloseMemHandle(other));
	close(channel[0]);
}

int main(int argument_count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		CONTEXT_TEST(mapped_buffers_are_freed_one_by_one_and_outlive_their_object),
		CONTEXT_TEST(mapped_arrays_are_destroyed_as_arrays_are),
		CONTEXT_TEST(external_memory_ends_with_its_context),
		CONTEXT_TEST(a_buffer_is_accessible_while_it_is_mapped),
		CONTEXT_TEST(an_image_is_accessible_as_arrays),
		CONTEXT_TEST(a_handle_of_another_process_is_opened_once_and_counted),
	};
	if (argument_count == 2)
		return export_in_child(atoi(arguments[1]));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
