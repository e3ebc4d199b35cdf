/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_GRAPH_H
#define SIMCUDA_GRAPH_H

/*
 * Graphs: lists of nodes in the order in which they were added. Of what nodes do, only allocations,
 * frees and host functions have an effect when the graph is launched.
 */

#include "driver.h"

/* Addresses of one allocation node, shared by the graph and what was instantiated from it. */
struct sim_graph_memory {
	unsigned int references;
	uintptr_t address;
	size_t size_bytes;
	struct sim_device *device;
};

struct CUgraphNode_st {
	struct CUgraphNode_st *next;
	struct CUgraphNode_st *previous; /* what it depends on */
	struct CUgraph_st *graph;
	CUgraphNodeType type;
	struct sim_graph_memory *memory; /* CU_GRAPH_NODE_TYPE_MEM_ALLOC */
	CUdeviceptr freed_address;       /* CU_GRAPH_NODE_TYPE_MEM_FREE */
	CUhostFn host_function;          /* CU_GRAPH_NODE_TYPE_HOST */
	void *host_argument;
	struct CUgraph_st **bodies; /* CU_GRAPH_NODE_TYPE_CONDITIONAL */
	unsigned int body_count;
};

struct CUuserObject_st {
	unsigned int references;
	void *pointer;
	CUhostFn destroy;
};

struct sim_graph_user_object {
	struct sim_graph_user_object *next;
	struct CUuserObject_st *object;
	unsigned int references;
};

struct CUgraph_st {
	struct CUgraphNode_st *first, *last;
	size_t node_count;
	struct sim_graph_user_object *user_objects;
};

struct CUgraphExec_st {
	struct CUgraph_st *graph; /* a copy, so that the graph it came from may go */
	unsigned long long flags;
};

struct CUgraph_st *sim_graph_new(void);
/* User objects whose last reference goes are destroyed by a call of their owner: hold no lock. */
void sim_graph_free(struct CUgraph_st *graph);
/* A graph with the same nodes, memory and user objects; NULL when memory is short. */
struct CUgraph_st *sim_graph_copy(const struct CUgraph_st *graph);
/* NULL when memory is short. */
struct CUgraphNode_st *sim_graph_add(struct CUgraph_st *graph, CUgraphNodeType type);
/* Fixes the address of an allocation that each launch makes. */
struct CUgraphNode_st *sim_graph_add_allocation(struct CUgraph_st *graph, size_t size_bytes,
						struct sim_device *device);

#endif
