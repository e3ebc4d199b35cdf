/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/mman.h>

#include "graph.h"

/*
 * Memory of graphs. Addresses belong to allocation nodes. The device reserves physical memory at an
 * upload or a launch that needs more than all graphs of the device have reserved. Freed memory
 * stays reserved until a trim. It is reserved in units of SIM_GRANULARITY_BYTES.
 */

static struct sim_graph_memory *memories;

struct sim_graph_memory *sim_graph_memory_find(CUdeviceptr address)
{
	for (struct sim_graph_memory *memory = memories; memory; memory = memory->next)
		if (memory->address == address)
			return memory;
	return NULL;
}

void sim_graph_memory_release(struct sim_graph_memory *memory)
{
	struct sim_graph_memory **link = &memories;

	if (--memory->references > 0)
		return;
	while (*link != memory)
		link = &(*link)->next;
	*link = memory->next;
	munmap((void *)memory->address, memory->size_bytes);
	free(memory);
}

void sim_graph_memory_forget_family(const struct sim_graph_family *family)
{
	for (struct sim_graph_memory *memory = memories; memory; memory = memory->next) {
		if (memory->owner == family)
			memory->owner = NULL;
		if (memory->freed_by == family)
			memory->freed_by = NULL;
	}
}

CUresult sim_graph_node_allocates(struct CUgraphNode_st *node, size_t size_bytes,
	struct sim_device *device)
{
	/* A graph inside a node must not get allocation nodes. */
	if (node->graph->container)
		return CUDA_ERROR_NOT_SUPPORTED;
	struct sim_graph_memory *memory = malloc(sizeof(*memory));
	if (!memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	void *address = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (address == MAP_FAILED) {
		free(memory);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*memory = (struct sim_graph_memory){
		.next = memories,
		.references = 1,
		.address = (uintptr_t)address,
		.size_bytes = size_bytes,
		.device = device,
		.owner = node->graph->family,
	};
	memories = memory;
	node->memory = memory;
	return CUDA_SUCCESS;
}

CUresult sim_graph_node_frees(struct CUgraphNode_st *node, CUdeviceptr address)
{
	struct sim_graph_memory *memory = sim_graph_memory_find(address);
	const void *family = node->graph->family;

	if (node->graph->container)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!memory)
		return CUDA_ERROR_INVALID_VALUE;
	/*
	 * Each graph may free the memory once. Either the graph that allocates it frees it, or other
	 * graphs do.
	 */
	if (memory->freed_by &&
		(memory->freed_by == family || memory->freed_by == memory->owner ||
			memory->owner == family))
		return CUDA_ERROR_INVALID_VALUE;
	memory->freed_by = family;
	memory->references++;
	node->memory = memory;
	return CUDA_SUCCESS;
}

/* --- the memory that a launch needs ----------------------------------------------------------- */

static size_t charge_of(const struct sim_graph_memory *memory)
{
	return sim_round_up(memory->size_bytes, SIM_CHARGE_UNIT_BYTES);
}

static bool is_live(const struct sim_graph_memory *memory)
{
	return sim_block_find_start(memory->address) != NULL;
}

/* Takes physical memory of the device until the graphs have `size_bytes` reserved. */
static CUresult reserve(struct sim_device *device, size_t size_bytes)
{
	size_t wanted_bytes = sim_round_up(size_bytes, SIM_GRANULARITY_BYTES);

	if (wanted_bytes <= device->graph_reserved_bytes)
		return CUDA_SUCCESS;
	if (wanted_bytes < size_bytes ||
		!sim_device_charge(device, wanted_bytes - device->graph_reserved_bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	device->graph_reserved_bytes = wanted_bytes;
	if (wanted_bytes > device->graph_reserved_high_bytes)
		device->graph_reserved_high_bytes = wanted_bytes;
	return CUDA_SUCCESS;
}

/* The used bytes of each device during the launch, and their peak. */
struct forecast {
	size_t used_bytes[SIM_MAX_DEVICES], peak_bytes[SIM_MAX_DEVICES];
};

static void forecast_begin(struct forecast *forecast, const struct sim_graph_memory *memory)
{
	if (!memory->device)
		return;
	size_t *used_bytes = &forecast->used_bytes[memory->device->ordinal];
	size_t *peak_bytes = &forecast->peak_bytes[memory->device->ordinal];
	*used_bytes += charge_of(memory);
	if (*used_bytes > *peak_bytes)
		*peak_bytes = *used_bytes;
}

static void forecast_end(struct forecast *forecast, const struct sim_graph_memory *memory)
{
	if (memory->device)
		forecast->used_bytes[memory->device->ordinal] -= charge_of(memory);
}

/* Starts with the memory that is live when the launch begins. */
static void forecast_start(struct forecast *forecast, const struct CUgraph_st *graph,
	bool frees_previous)
{
	for (const struct CUgraphNode_st *node = graph->first; node; node = node->next) {
		if (node->memory)
			node->memory->will_live = is_live(node->memory);
		for (unsigned int i = 0; i < node->body_count; i++)
			forecast_start(forecast, node->bodies[i], frees_previous);
		if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && frees_previous &&
			node->memory->will_live) {
			node->memory->will_live = false;
			forecast_end(forecast, node->memory);
		}
	}
}

static CUresult forecast_nodes(struct forecast *forecast, const struct CUgraph_st *graph)
{
	CUresult result = CUDA_SUCCESS;

	for (const struct CUgraphNode_st *node = graph->first; node && result == CUDA_SUCCESS;
		node = node->next) {
		if (node->type == CU_GRAPH_NODE_TYPE_GRAPH)
			result = forecast_nodes(forecast, node->bodies[0]);
		if (!node->memory)
			continue;
		bool begins = node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
		if (node->memory->will_live == begins)
			return CUDA_ERROR_INVALID_VALUE;
		node->memory->will_live = begins;
		if (begins)
			forecast_begin(forecast, node->memory);
		else
			forecast_end(forecast, node->memory);
	}
	return result;
}

CUresult sim_graph_reserve(struct CUgraph_st *graph, bool frees_previous)
{
	struct forecast forecast = { 0 };

	for (int i = 0; i < sim_driver.device_count; i++)
		forecast.used_bytes[i] = sim_driver.devices[i].graph_used_bytes;
	forecast_start(&forecast, graph, frees_previous);
	CUresult result = forecast_nodes(&forecast, graph);
	for (int i = 0; i < sim_driver.device_count && result == CUDA_SUCCESS; i++)
		result = reserve(&sim_driver.devices[i], forecast.peak_bytes[i]);
	return result;
}

/* --- the effects of a launch on memory -------------------------------------------------------- */

CUresult sim_graph_memory_begin(struct sim_graph_memory *memory)
{
	struct sim_device *device = memory->device;
	size_t charged_bytes = charge_of(memory);

	if (is_live(memory))
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result =
		device ? reserve(device, device->graph_used_bytes + charged_bytes) : CUDA_SUCCESS;
	if (result != CUDA_SUCCESS)
		return result;
	struct sim_block *block =
		sim_block_new_at(SIM_SPACE_GRAPH, memory->address, memory->size_bytes);
	if (!block)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory->references++;
	block->graph_memory = memory;
	block->device = device;
	if (!device)
		return CUDA_SUCCESS;
	block->charged_bytes = charged_bytes;
	device->graph_used_bytes += charged_bytes;
	if (device->graph_used_bytes > device->graph_used_high_bytes)
		device->graph_used_high_bytes = device->graph_used_bytes;
	return CUDA_SUCCESS;
}

CUresult sim_graph_memory_end(struct sim_graph_memory *memory)
{
	struct sim_block *block = sim_block_find_start(memory->address);

	if (!block)
		return CUDA_ERROR_INVALID_VALUE;
	sim_block_free(block);
	return CUDA_SUCCESS;
}

void sim_graph_end_all(const struct CUgraph_st *graph)
{
	for (const struct CUgraphNode_st *node = graph->first; node; node = node->next) {
		/* Ignores the error of memory that is not allocated. */
		if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
			(void)sim_graph_memory_end(node->memory);
		for (unsigned int i = 0; i < node->body_count; i++)
			sim_graph_end_all(node->bodies[i]);
	}
}

void sim_graph_block_ends(struct sim_block *block)
{
	if (block->device)
		block->device->graph_used_bytes -= block->charged_bytes;
	sim_graph_memory_release(block->graph_memory);
}

/* --- a device's memory for graphs ------------------------------------------------------------- */

void sim_graph_memory_list(struct sim_list *list)
{
	for (int i = 0; i < sim_driver.device_count; i++) {
		const struct sim_device *device = &sim_driver.devices[i];
		if (device->graph_reserved_bytes == 0)
			continue;
		sim_list_add(list,
			(struct simcuda_item){
				.kind = SIMCUDA_KIND_GRAPH_POOL,
				.device = i,
				.size_bytes = device->graph_used_bytes,
				.charged_bytes = device->graph_reserved_bytes - device->graph_used_bytes,
			});
	}
}

/* Returns the device's counter for this attribute, or NULL. */
static size_t *attribute_of(struct sim_device *device, CUgraphMem_attribute attribute)
{
	switch (attribute) {
	case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
		return &device->graph_used_bytes;
	case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
		return &device->graph_used_high_bytes;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
		return &device->graph_reserved_bytes;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
		return &device->graph_reserved_high_bytes;
	}
	return NULL;
}

static CUresult check(struct sim_device *device, CUgraphMem_attribute attribute, const void *value)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	return value && attribute_of(device, attribute) ? sim_capture_check_unsafe_call()
													: CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute,
	void *ret_value)
{
	struct sim_device *device = sim_device_find(ordinal);
	cuuint64_t *bytes = ret_value;
	CUresult result = check(device, attribute, ret_value);

	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	*bytes = *attribute_of(device, attribute);
	sim_unlock();
	return CUDA_SUCCESS;
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void *value)
{
	struct sim_device *device = sim_device_find(ordinal);
	const cuuint64_t *bytes = value;
	CUresult result = check(device, attribute, value);

	if (result != CUDA_SUCCESS)
		return result;
	/* Only the high-water marks can be set, and only to zero. */
	if (*bytes != 0)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
		device->graph_used_high_bytes = device->graph_used_bytes;
	else if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
		device->graph_reserved_high_bytes = device->graph_reserved_bytes;
	else
		result = CUDA_ERROR_INVALID_VALUE;
	sim_unlock();
	return result;
}

CUresult cuDeviceGraphMemTrim(CUdevice ordinal)
{
	struct sim_device *device = sim_device_find(ordinal);

	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	sim_lock();
	size_t kept_bytes = sim_round_up(device->graph_used_bytes, SIM_GRANULARITY_BYTES);
	if (kept_bytes < device->graph_reserved_bytes) {
		sim_device_refund(device, device->graph_reserved_bytes - kept_bytes);
		device->graph_reserved_bytes = kept_bytes;
	}
	sim_unlock();
	return CUDA_SUCCESS;
}
