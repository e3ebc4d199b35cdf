/* SPDX-License-Identifier: MIT */
/* Each runtime function leads to its driver function: one API shows the effect of the other. */
#include "testing.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>

#define assert_fine(call) assert_int_equal(call, cudaSuccess)

static size_t runtime_used_bytes(void)
{
	size_t free_bytes, total_bytes;

	assert_fine(cudaMemGetInfo(&free_bytes, &total_bytes));
	return total_bytes - free_bytes;
}

static bool primary_is_active(int device)
{
	unsigned int flags;
	int is_active;

	assert_success(cuDevicePrimaryCtxGetState(device, &flags, &is_active));
	return is_active;
}

static void a_device_can_be_initialized_without_being_set(void **state)
{
	int device;

	(void)state;
	assert_success(cuInit(0));
	assert_fine(cudaInitDevice(1, 0, 0));
	assert_true(primary_is_active(1));
	assert_false(primary_is_active(0));
	assert_fine(cudaGetDevice(&device));
	assert_int_equal(device, 0);
	assert_int_equal(cudaInitDevice(2, 0, 0), cudaErrorInvalidDevice);
	assert_int_equal(cudaGetLastError(), cudaErrorInvalidDevice);
}

static void a_reset_ends_the_primary_context_until_the_next_call(void **state)
{
	void *memory;

	(void)state;
	assert_fine(cudaSetDevice(0));
	for (int i = 0; i < 2; i++) {
		assert_fine(cudaMalloc(&memory, MIB));
		assert_int_equal(runtime_used_bytes(), MIB);
		assert_true(primary_is_active(0));
		assert_fine(cudaDeviceReset());
		assert_false(primary_is_active(0));
		assert_int_equal(runtime_used_bytes(), 0);
		assert_true(primary_is_active(0));
	}
	assert_int_equal(cudaFree(memory), cudaErrorInvalidValue);
	assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
}

static void graphs_allocate_copy_and_fill(void **state)
{
	struct cudaMemAllocNodeParams allocation = {
		.poolProps = { .allocType = cudaMemAllocationTypePinned,
			.location = { .type = cudaMemLocationTypeDevice, .id = 0 } },
		.bytesize = 2 * MIB,
	};
	cudaGraphNode_t nodes[4], from[3], to[3];
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	size_t reserved, count = 3;

	(void)state;
	assert_fine(cudaGraphCreate(&graph, 0));
	assert_fine(cudaGraphAddMemAllocNode(&nodes[0], graph, NULL, 0, &allocation));
	struct cudaMemsetParams fill = {
		.dst = allocation.dptr, .elementSize = 4, .width = 5, .height = 1
	};
	struct cudaMemsetParams same_fill;
	assert_fine(cudaGraphAddMemsetNode(&nodes[1], graph, &nodes[0], 1, &fill));
	assert_fine(cudaGraphMemsetNodeGetParams(nodes[1], &same_fill));
	assert_memory_equal(&fill, &same_fill, sizeof(fill));
	assert_fine(cudaGraphAddMemcpyNode1D(&nodes[2], graph, &nodes[1], 1, allocation.dptr,
		allocation.dptr, 100, cudaMemcpyDeviceToDevice));
	struct cudaMemcpy3DParms copy;
	assert_fine(cudaGraphMemcpyNodeGetParams(nodes[2], &copy));
	assert_ptr_equal(copy.dstPtr.ptr, allocation.dptr);
	assert_int_equal(copy.extent.width, 100);
	assert_fine(cudaGraphAddMemFreeNode(&nodes[3], graph, &nodes[2], 1, allocation.dptr));
	assert_fine(cudaGraphGetEdges(graph, from, to, NULL, &count));
	assert_int_equal(count, 3);
	assert_ptr_equal(from[1], nodes[1]);
	assert_ptr_equal(to[1], nodes[2]);

	assert_fine(cudaGraphInstantiate(&exec, graph, 0));
	assert_fine(cudaGraphLaunch(exec, NULL));
	assert_fine(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &reserved));
	assert_int_equal(reserved, 2 * MIB);
	assert_int_equal(runtime_used_bytes(), 2 * MIB);
	assert_fine(cudaDeviceGraphMemTrim(0));
	assert_int_equal(runtime_used_bytes(), 0);
	assert_fine(cudaGraphExecDestroy(exec));
	assert_fine(cudaGraphDestroy(graph));
}

static void arrays_return_their_description(void **state)
{
	struct cudaChannelFormatDesc half4 =
		cudaCreateChannelDesc(16, 16, 16, 16, cudaChannelFormatKindFloat);
	struct cudaChannelFormatDesc channels;
	struct cudaExtent extent;
	cudaMipmappedArray_t mipmap;
	cudaArray_t array, level;
	unsigned int flags;

	(void)state;
	size_t before = runtime_used_bytes();
	assert_fine(cudaMallocArray(&array, &half4, 64, 32, 0));
	assert_true(runtime_used_bytes() - before >= (size_t)64 * 32 * 8);
	assert_fine(cudaArrayGetInfo(&channels, &extent, &flags, array));
	assert_memory_equal(&channels, &half4, sizeof(half4));
	assert_int_equal(extent.width, 64);
	assert_int_equal(extent.height, 32);
	assert_fine(cudaGetChannelDesc(&channels, array));
	assert_int_equal(channels.w, 16);
	assert_fine(cudaFreeArray(array));

	assert_fine(cudaMallocMipmappedArray(&mipmap, &half4, (struct cudaExtent){ 64, 64, 0 }, 3, 0));
	assert_fine(cudaGetMipmappedArrayLevel(&level, mipmap, 1));
	assert_fine(cudaArrayGetInfo(NULL, &extent, NULL, level));
	assert_int_equal(extent.width, 32);
	assert_fine(cudaFreeMipmappedArray(mipmap));
	assert_int_equal(runtime_used_bytes(), before);
}

static void code_is_loaded_and_its_variables_found(void **state)
{
	static char image[] = ".version 8.0\n.target sm_90\n.global .align 4 .b8 table[4096];\n";
	cudaLibrary_t library;
	void *address;
	size_t size;

	(void)state;
	assert_fine(cudaLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
	assert_fine(cudaLibraryGetGlobal(&address, &size, library, "table"));
	assert_int_equal(size, 4096);
	assert_fine(cudaMemset(address, 1, size));
	assert_int_equal(cudaLibraryGetManaged(&address, &size, library, "table"),
		cudaErrorSymbolNotFound);
	assert_int_equal(cudaGetLastError(), cudaErrorSymbolNotFound);
	assert_fine(cudaLibraryUnload(library));
}

static void external_memory_is_mapped_and_freed_like_other_memory(void **state)
{
	struct cudaExternalMemoryHandleDesc description = {
		.type = cudaExternalMemoryHandleTypeOpaqueFd,
		.handle = { .fd = 100 },
		.size = 4 * MIB,
	};
	struct cudaExternalMemoryBufferDesc part = { .offset = MIB, .size = 2 * MIB };
	cudaExternalMemory_t memory;
	void *address;

	(void)state;
	size_t before = runtime_used_bytes();
	assert_fine(cudaImportExternalMemory(&memory, &description));
	assert_fine(cudaExternalMemoryGetMappedBuffer(&address, memory, &part));
	assert_int_equal(runtime_used_bytes(), before);
	assert_fine(cudaFree(address));
	assert_fine(cudaDestroyExternalMemory(memory));
}

static void a_capture_is_a_graph_of_what_the_stream_did(void **state)
{
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphNode_t roots[1], next[1];
	enum cudaGraphNodeType type;
	size_t count = 1;
	void *memory;

	(void)state;
	assert_fine(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	assert_fine(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	assert_fine(cudaMallocAsync(&memory, MIB, stream));
	assert_fine(cudaFreeAsync(memory, stream));
	assert_fine(cudaStreamEndCapture(stream, &graph));
	assert_fine(cudaGraphGetRootNodes(graph, roots, &count));
	assert_fine(cudaGraphNodeGetDependentNodes(roots[0], next, NULL, &count));
	assert_int_equal(count, 1);
	assert_fine(cudaGraphNodeGetType(next[0], &type));
	assert_int_equal(type, cudaGraphNodeTypeMemFree);
	assert_fine(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
	assert_fine(cudaGraphUpload(exec, stream));
	assert_int_equal(runtime_used_bytes(), 2 * MIB);
	assert_fine(cudaGraphLaunch(exec, stream));
	assert_fine(cudaGraphExecDestroy(exec));
	assert_fine(cudaGraphDestroy(graph));
	assert_fine(cudaDeviceGraphMemTrim(0));
	assert_fine(cudaStreamDestroy(stream));
}

/* The functions that a compiler's output calls in a program with a kernel. */
void **__cudaRegisterFatBinary(void *binary);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
	const char *device_name, int thread_limit, void *thread_id, void *block_id, void *block_size,
	void *grid_size, int *warp_size);

static void code_inside_the_program_costs_where_it_is_used(void **state)
{
	static char image, kernels[2];
	dim3 one = { 1, 1, 1 };
	size_t each = (size_t)3 * MIB;

	(void)state;
	size_t before = runtime_used_bytes();
	void **handle = __cudaRegisterFatBinary(&image);
	for (int i = 0; i < 2; i++)
		__cudaRegisterFunction(handle, &kernels[i], NULL, "kernel", -1, NULL, NULL, NULL, NULL,
			NULL);
	assert_int_equal(runtime_used_bytes(), before);
	/* The context already exists. Even if code is not lazy, the launch loads the code. */
	for (int i = 0; i < 2; i++) {
		assert_fine(cudaLaunchKernel(&kernels[i], one, one, NULL, 0, NULL));
		assert_int_equal(runtime_used_bytes() - before, each);
	}
	/* A new context loads the code at once, unless code is lazy. */
	assert_fine(cudaDeviceReset());
	size_t again = runtime_used_bytes();
	assert_fine(cudaLaunchKernel(&kernels[0], one, one, NULL, 0, NULL));
	const char *is_lazy = getenv("SIMCUDA_LAZY_MODULES");
	assert_int_equal(runtime_used_bytes() - again, is_lazy && *is_lazy == '1' ? each : 0);
	__cudaUnregisterFatBinary(handle);
	assert_int_equal(runtime_used_bytes(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_can_be_initialized_without_being_set),
		cmocka_unit_test(a_reset_ends_the_primary_context_until_the_next_call),
		cmocka_unit_test(graphs_allocate_copy_and_fill),
		cmocka_unit_test(arrays_return_their_description),
		cmocka_unit_test(code_is_loaded_and_its_variables_found),
		cmocka_unit_test(external_memory_is_mapped_and_freed_like_other_memory),
		cmocka_unit_test(a_capture_is_a_graph_of_what_the_stream_did),
		cmocka_unit_test(code_inside_the_program_costs_where_it_is_used),
	};

	setenv("SIMCUDA_MODULE_MEMORY", "3M", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
