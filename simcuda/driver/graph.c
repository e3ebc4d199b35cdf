/* SPDX-License-Identifier: MIT */
#include "graph.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Graphs as objects: made, filled, copied, freed. What a launch does is in graph_launch.c. */

struct CUgraph_st *sim_graph_new(void)
{
	return calloc(1, sizeof(struct CUgraph_st));
}

struct CUgraphNode_st *sim_graph_add(struct CUgraph_st *graph, CUgraphNodeType type)
{
	struct CUgraphNode_st *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->type = type;
	node->graph = graph;
	node->previous = graph->last;
	if (graph->last)
		graph->last->next = node;
	else
		graph->first = node;
	graph->last = node;
	graph->node_count++;
	return node;
}

struct CUgraphNode_st *sim_graph_add_allocation(struct CUgraph_st *graph, size_t size_bytes,
						struct sim_device *device)
{
	struct sim_graph_memory *memory = calloc(1, sizeof(*memory));
	if (!memory)
		return NULL;

	/* The address belongs to the node for good; only while the allocation lives is it a block. */
	void *address = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct CUgraphNode_st *node = address != MAP_FAILED ?
					      sim_graph_add(graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC) :
					      NULL;
	if (!node) {
		if (address != MAP_FAILED)
			munmap(address, size_bytes);
		free(memory);
		return NULL;
	}
	*memory = (struct sim_graph_memory){ 1, (uintptr_t)address, size_bytes, device };
	node->memory = memory;
	return node;
}

static void memory_release(struct sim_graph_memory *memory)
{
	if (--memory->references > 0)
		return;
	struct sim_block *block = sim_block_find_start(memory->address);
	if (block && block->space == SIM_SPACE_GRAPH)
		sim_block_free(block);
	munmap((void *)memory->address, memory->size_bytes);
	free(memory);
}

static void user_object_release(struct CUuserObject_st *object, unsigned int count)
{
	if (object->references > count) {
		object->references -= count;
		return;
	}
	if (object->destroy)
		object->destroy(object->pointer);
	free(object);
}

void sim_graph_free(struct CUgraph_st *graph)
{
	for (struct CUgraphNode_st *node = graph->first, *next; node; node = next) {
		next = node->next;
		if (node->memory) {
			sim_lock();
			memory_release(node->memory);
			sim_unlock();
		}
		for (unsigned int i = 0; i < node->body_count; i++)
			sim_graph_free(node->bodies[i]);
		free(node->bodies);
		free(node);
	}
	for (struct sim_graph_user_object *held = graph->user_objects, *next; held; held = next) {
		next = held->next;
		user_object_release(held->object, held->references);
		free(held);
	}
	free(graph);
}

static bool hold_user_object(struct CUgraph_st *graph, struct CUuserObject_st *object,
			     unsigned int references)
{
	struct sim_graph_user_object *held = malloc(sizeof(*held));

	if (!held)
		return false;
	*held = (struct sim_graph_user_object){ graph->user_objects, object, references };
	graph->user_objects = held;
	return true;
}

struct CUgraph_st *sim_graph_copy(const struct CUgraph_st *graph)
{
	struct CUgraph_st *copy = sim_graph_new();
	if (!copy)
		return NULL;

	for (const struct CUgraphNode_st *node = graph->first; node; node = node->next) {
		struct CUgraphNode_st *twin = sim_graph_add(copy, node->type);
		if (!twin)
			goto fail;
		twin->freed_address = node->freed_address;
		twin->host_function = node->host_function;
		twin->host_argument = node->host_argument;
		if (node->memory) {
			twin->memory = node->memory;
			node->memory->references++;
		}
	}
	for (const struct sim_graph_user_object *held = graph->user_objects; held; held = held->next) {
		if (!hold_user_object(copy, held->object, 1))
			goto fail;
		held->object->references++;
	}
	return copy;
fail:
	sim_graph_free(copy);
	return NULL;
}

CUresult cuGraphCreate(CUgraph *ret_graph, unsigned int flags)
{
	if (!ret_graph || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_graph = sim_graph_new();
	return *ret_graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphDestroy(CUgraph graph)
{
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	sim_graph_free(graph);
	return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph *ret_clone, CUgraph original)
{
	if (!ret_clone || !original)
		return CUDA_ERROR_INVALID_VALUE;
	for (const struct CUgraphNode_st *node = original->first; node; node = node->next)
		if (node->memory || node->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
			return CUDA_ERROR_NOT_SUPPORTED;
	*ret_clone = sim_graph_copy(original);
	return *ret_clone ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* --- user objects --------------------------------------------------------------------------------- */

CUresult cuUserObjectCreate(CUuserObject *ret_object, void *pointer, CUhostFn destroy,
			    unsigned int initial_references, unsigned int flags)
{
	(void)flags;
	if (!ret_object || !destroy || initial_references == 0)
		return CUDA_ERROR_INVALID_VALUE;
	struct CUuserObject_st *object = malloc(sizeof(*object));
	if (!object)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*object = (struct CUuserObject_st){ initial_references, pointer, destroy };
	*ret_object = object;
	return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned int count)
{
	if (!object || count == 0)
		return CUDA_ERROR_INVALID_VALUE;
	object->references += count;
	return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned int count)
{
	if (!object || count == 0)
		return CUDA_ERROR_INVALID_VALUE;
	user_object_release(object, count);
	return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags)
{
	if (!graph || !object || count == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!hold_user_object(graph, object, count))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
		object->references += count;
	return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
	if (!graph || !object || count == 0)
		return CUDA_ERROR_INVALID_VALUE;
	for (struct sim_graph_user_object **link = &graph->user_objects; *link; link = &(*link)->next) {
		struct sim_graph_user_object *held = *link;
		if (held->object == object && held->references >= count) {
			held->references -= count;
			if (held->references == 0) {
				*link = held->next;
				free(held);
			}
			user_object_release(object, count);
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_VALUE;
}
