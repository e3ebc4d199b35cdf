/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <pthread.h>
#include <unistd.h>

#include "../driver/accounting.h"

/*
 * Random calls, valid and invalid, from several threads. The driver's accounting must stay
 * consistent, and all memory must come back. An argument sets the number of calls of each thread.
 */

enum {
	THREADS = 4,
	ROUNDS = 8,
	SLOTS = 24,
	UNIT = 2 << 20,
	LISTED = 1 << 14,
};

/*
 * The kind of object in a slot, by the call that made it. A thread chooses its next action from the
 * same kinds.
 */
enum what {
	NOTHING,
	BLOCK,
	MANAGED,
	LOW_BLOCK,
	POOLED,
	OF_DOOMED_POOL, /* its pool is already destroyed */
	PINNED,
	REGISTERED,
	ARRAY,
	MIPMAP,
	PHYSICAL,
	MAPPED,   /* reserved and mapped; the handle was released */
	EXPORTED, /* only an exported descriptor is left */
	IMPORTED,
	MULTICAST,
	EXTERNAL,
	GRAPHICS,
	WHATS,
};

struct slot {
	enum what what;
	CUdeviceptr address;
	size_t size_bytes;
	void *memory; /* memory, or a handle that is a pointer */
	CUmemGenericAllocationHandle handle;
	int file;
};

struct worker {
	pthread_t thread;
	CUcontext context;
	unsigned int seed;
	int ordinal;
	struct slot slots[SLOTS];
};

static size_t calls_per_round = 2500;
static pthread_barrier_t barrier;
static struct simcuda_item items[LISTED];

static size_t random_below(struct worker *worker, size_t limit)
{
	return (size_t)rand_r(&worker->seed) % limit;
}

static CUmemAllocationProp properties_of(const struct worker *worker)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = worker->ordinal },
	};
}

/* --- filling a slot --------------------------------------------------------------------------- */

static bool make_mapped(const struct worker *worker, struct slot *slot)
{
	CUmemAllocationProp properties = properties_of(worker);

	if (cuMemCreate(&slot->handle, slot->size_bytes, &properties, 0) != CUDA_SUCCESS)
		return false;
	assert_success(cuMemAddressReserve(&slot->address, slot->size_bytes, 0, 0, 0));
	assert_success(cuMemMap(slot->address, slot->size_bytes, 0, slot->handle, 0));
	assert_success(cuMemRelease(slot->handle));
	return true;
}

static bool make_exported(const struct worker *worker, struct slot *slot, bool imports)
{
	CUmemAllocationProp properties = properties_of(worker);
	CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

	if (cuMemCreate(&slot->handle, slot->size_bytes, &properties, 0) != CUDA_SUCCESS)
		return false;
	assert_success(cuMemExportToShareableHandle(&slot->file, slot->handle, type, 0));
	assert_success(cuMemRelease(slot->handle));
	if (imports) {
		void *os_handle = (void *)(intptr_t)slot->file;
		assert_success(cuMemImportFromShareableHandle(&slot->handle, os_handle, type));
		assert_int_equal(close(slot->file), 0);
	}
	return true;
}

/* Makes a multicast object that alone keeps its bound memory alive. */
static bool make_multicast(const struct worker *worker, struct slot *slot)
{
	CUmulticastObjectProp object = { .numDevices = 1, .size = slot->size_bytes };
	CUmemAllocationProp properties = properties_of(worker);
	CUmemGenericAllocationHandle memory;

	if (cuMemCreate(&memory, slot->size_bytes, &properties, 0) != CUDA_SUCCESS)
		return false;
	assert_success(cuMulticastCreate(&slot->handle, &object));
	assert_success(cuMulticastAddDevice(slot->handle, worker->ordinal));
	assert_success(cuMulticastBindMem(slot->handle, 0, memory, 0, slot->size_bytes, 0));
	assert_success(cuMemRelease(memory));
	return true;
}

static bool make_of_doomed_pool(const struct worker *worker, struct slot *slot)
{
	CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, worker->ordinal } };
	CUmemoryPool pool;

	assert_success(cuMemPoolCreate(&pool, &properties));
	bool fine =
		cuMemAllocFromPoolAsync(&slot->address, slot->size_bytes, pool, NULL) == CUDA_SUCCESS;
	assert_success(cuMemPoolDestroy(pool));
	return fine;
}

static bool make_external(struct slot *slot)
{
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC whole = { .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
		.size = slot->size_bytes };
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = { .size = slot->size_bytes };
	CUexternalMemory memory;

	assert_success(cuImportExternalMemory(&memory, &whole));
	assert_success(cuExternalMemoryGetMappedBuffer(&slot->address, memory, &part));
	assert_success(cuDestroyExternalMemory(memory));
	return true;
}

static bool make_array(struct worker *worker, struct slot *slot)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = { 1 + random_below(worker, 200),
		1 + random_below(worker, 200), random_below(worker, 4), CU_AD_FORMAT_HALF, 4, 0 };

	if (slot->what == ARRAY)
		return cuArray3DCreate_v2((CUarray *)&slot->memory, &descriptor) == CUDA_SUCCESS;
	return cuMipmappedArrayCreate((CUmipmappedArray *)&slot->memory, &descriptor, 4) ==
		CUDA_SUCCESS;
}

static bool make_graphics(struct worker *worker, struct slot *slot)
{
	CUgraphicsResource resource;

	assert_success(cuGraphicsGLRegisterBuffer(&resource,
		(unsigned int)(1 + random_below(worker, 99)), 0));
	if (random_below(worker, 2))
		assert_success(cuGraphicsMapResources(1, &resource, NULL));
	slot->memory = resource;
	return true;
}

/* Fills a slot. Returns false if memory was short. */
static bool make(struct worker *worker, struct slot *slot)
{
	CUmemAllocationProp properties = properties_of(worker);
	CUdeviceptr_v1 low = 0;
	size_t small_bytes = 1 + random_below(worker, 4 << 20);

	slot->size_bytes = (1 + random_below(worker, 8)) * UNIT;
	switch (slot->what) {
	case BLOCK:
		return cuMemAlloc_v2(&slot->address, small_bytes) == CUDA_SUCCESS;
	case MANAGED:
		return cuMemAllocManaged(&slot->address, small_bytes, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS;
	case LOW_BLOCK:
		if (cuMemAlloc(&low, (unsigned int)small_bytes) != CUDA_SUCCESS)
			return false;
		slot->address = low;
		return true;
	case POOLED:
		return cuMemAllocAsync(&slot->address, small_bytes, NULL) == CUDA_SUCCESS;
	case OF_DOOMED_POOL:
		return make_of_doomed_pool(worker, slot);
	case PINNED:
		return cuMemHostAlloc(&slot->memory, small_bytes, 0) == CUDA_SUCCESS;
	case REGISTERED:
		slot->memory = malloc(small_bytes);
		assert_success(cuMemHostRegister_v2(slot->memory, small_bytes, 0));
		return true;
	case ARRAY:
	case MIPMAP:
		return make_array(worker, slot);
	case PHYSICAL:
		return cuMemCreate(&slot->handle, slot->size_bytes, &properties, 0) == CUDA_SUCCESS;
	case MAPPED:
		return make_mapped(worker, slot);
	case EXPORTED:
	case IMPORTED:
		return make_exported(worker, slot, slot->what == IMPORTED);
	case MULTICAST:
		return make_multicast(worker, slot);
	case EXTERNAL:
		return make_external(slot);
	default:
		return make_graphics(worker, slot);
	}
}

/* --- emptying a slot -------------------------------------------------------------------------- */

static void clear(struct worker *worker, struct slot *slot)
{
	switch (slot->what) {
	case NOTHING:
		return;
	case POOLED:
	case OF_DOOMED_POOL:
		assert_success(random_below(worker, 2) ? cuMemFreeAsync(slot->address, NULL)
											   : cuMemFree_v2(slot->address));
		break;
	case PINNED:
		assert_success(cuMemFreeHost(slot->memory));
		break;
	case REGISTERED:
		assert_success(cuMemHostUnregister(slot->memory));
		free(slot->memory);
		break;
	case ARRAY:
		assert_success(cuArrayDestroy(slot->memory));
		break;
	case MIPMAP:
		assert_success(cuMipmappedArrayDestroy(slot->memory));
		break;
	case MAPPED:
		assert_int_equal(cuMemAddressFree(slot->address, slot->size_bytes),
			CUDA_ERROR_INVALID_VALUE);
		assert_success(cuMemUnmap(slot->address, slot->size_bytes));
		assert_success(cuMemAddressFree(slot->address, slot->size_bytes));
		break;
	case EXPORTED:
		assert_int_equal(close(slot->file), 0);
		break;
	case PHYSICAL:
	case IMPORTED:
	case MULTICAST:
		assert_success(cuMemRelease(slot->handle));
		break;
	case GRAPHICS:
		assert_success(cuGraphicsUnregisterResource(slot->memory));
		break;
	default:
		assert_success(cuMemFree_v2(slot->address));
	}
	slot->what = NOTHING;
}

/* Makes invalid calls. They must have no effect. */
static void do_wrong(struct worker *worker)
{
	int local;

	assert_int_equal(cuMemFree_v2((CUdeviceptr)(uintptr_t)&local), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemFreeAsync(1, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemRelease(12345), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemUnmap(UNIT, UNIT), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuArrayDestroy((CUarray)worker), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuIpcCloseMemHandle(UNIT), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemHostUnregister(&local), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	assert_int_equal(cuMemPoolDestroy((CUmemoryPool)worker), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGraphicsUnregisterResource((CUgraphicsResource)worker),
		CUDA_ERROR_INVALID_HANDLE);
}

/* Compares the item list with the used bytes. No other thread runs during this call. */
static void check_accounting(void)
{
	size_t sum_bytes[2] = { 0, 0 };
	size_t count = simcuda_list(items, LISTED);

	assert_true(count <= LISTED);
	for (size_t i = 0; i < count; i++)
		if (items[i].device >= 0)
			sum_bytes[items[i].device] += items[i].charged_bytes;
	assert_int_equal(sum_bytes[0], simcuda_used_bytes(0));
	assert_int_equal(sum_bytes[1], simcuda_used_bytes(1));
}

static void *work(void *argument)
{
	struct worker *worker = argument;

	assert_success(cuCtxSetCurrent(worker->context));
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < calls_per_round; i++) {
			struct slot *slot = &worker->slots[random_below(worker, SLOTS)];
			if (slot->what != NOTHING) {
				clear(worker, slot);
				continue;
			}
			slot->what = (enum what)(1 + random_below(worker, WHATS - 1));
			if (!make(worker, slot))
				slot->what = NOTHING;
			if (random_below(worker, 16) == 0)
				do_wrong(worker);
		}
		if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			check_accounting();
		pthread_barrier_wait(&barrier);
	}
	for (int i = 0; i < SLOTS; i++)
		clear(worker, &worker->slots[i]);
	return NULL;
}

static void the_accounting_of_random_calls_adds_up_and_returns_to_its_start(void **state)
{
	static struct worker workers[THREADS];
	CUcontext contexts[2];

	(void)state;
	assert_success(cuInit(0));
	for (int i = 0; i < 2; i++)
		assert_success(cuCtxCreate_v2(&contexts[i], 0, i));
	size_t count = simcuda_list(NULL, 0);
	size_t began_bytes[2] = { simcuda_used_bytes(0), simcuda_used_bytes(1) };
	assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
	for (int i = 0; i < THREADS; i++) {
		workers[i].ordinal = i % 2;
		workers[i].context = contexts[i % 2];
		workers[i].seed = (unsigned int)i + 1;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
	check_accounting();
	/* A synchronization makes the pools give back their unused memory. */
	assert_success(cuCtxSynchronize());
	assert_int_equal(simcuda_used_bytes(0), began_bytes[0]);
	assert_int_equal(simcuda_used_bytes(1), began_bytes[1]);
	assert_int_equal(simcuda_list(NULL, 0), count);
	for (int i = 0; i < 2; i++)
		assert_success(cuCtxDestroy_v2(contexts[i]));
}

int main(int argument_count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_accounting_of_random_calls_adds_up_and_returns_to_its_start),
	};

	if (argument_count == 2)
		calls_per_round = strtoul(arguments[1], NULL, 10) / ROUNDS;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
