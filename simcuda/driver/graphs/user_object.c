/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "graph.h"

/*
 * User objects: the driver calls a destructor of the program when the last graph that uses the
 * object is gone.
 */

struct CUuserObject_st {
	unsigned int references;
	void *pointer;
	CUhostFn destroy;
};

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

bool sim_graph_share_user_objects(struct CUgraph_st *copy, const struct CUgraph_st *graph)
{
	for (const struct sim_graph_user_object *held = graph->user_objects; held; held = held->next) {
		if (!hold_user_object(copy, held->object, 1))
			return false;
		held->object->references++;
	}
	return true;
}

void sim_graph_free_user_objects(struct CUgraph_st *graph)
{
	for (struct sim_graph_user_object *held = graph->user_objects, *next; held; held = next) {
		next = held->next;
		user_object_release(held->object, held->references);
		free(held);
	}
}

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

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
	unsigned int flags)
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
