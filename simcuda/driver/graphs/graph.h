/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_GRAPH_H
#define SIMCUDA_GRAPH_H

/*
 * Graphs: lists of nodes in the order in which they were added, which is an order that their
 * dependencies allow. Of what nodes do, only allocations, frees, host functions, recorded events and
 * the graphs inside them have an effect when the graph is launched.
 */

#include "driver.h"

/*
 * What one allocation node stands for: an address for good, and memory from a launch until a free.
 * Held by nodes (of graphs and of what was instantiated from them), and by the block while it lives:
 * memory that nobody freed outlives its graph.
 */
struct sim_graph_memory {
	struct sim_graph_memory *next; /* in the list of all, by which addresses are checked */
	unsigned int references;
	uintptr_t address;
	size_t size_bytes;
	struct sim_device *device;      /* NULL: host memory */
	const void *owner;              /* the family of the graph that allocates it */
	const void *freed_by;           /* the family of a graph that frees it; NULL: of none yet */
	bool will_live;                 /* scratch, while a launch is thought through */
};

/* What a graph and those instantiated from it have in common. */
struct sim_graph_family {
	unsigned int references;
	unsigned int execs; /* that live */
};

struct sim_graph_edge {
	struct CUgraphNode_st *from;
	CUgraphEdgeData data;
};

struct CUgraphNode_st {
	struct CUgraphNode_st *next;
	struct CUgraph_st *graph;
	CUgraphNodeType type;
	struct CUgraphNode_st *original; /* of a copy: what it is a copy of, which may be gone */
	struct CUgraphNode_st *twin;     /* scratch, while its graph is copied: the copy */
	struct sim_graph_edge *edges;    /* what it depends on */
	size_t edge_count;
	struct sim_graph_memory *memory; /* of nodes that allocate or free */
	union {                          /* as given, by type; what pointers in it point to is not kept */
		CUDA_KERNEL_NODE_PARAMS kernel;
		CUDA_MEMCPY3D copy;
		CUDA_MEMSET_NODE_PARAMS fill;
		CUDA_HOST_NODE_PARAMS host;
		CUevent event;
		uint64_t condition; /* the handle */
	};
	CUgraphConditionalNodeType condition_type;
	bool is_disabled;           /* of an executable graph's node */
	struct CUgraph_st **bodies; /* of conditional nodes and of one with a child graph */
	unsigned int body_count;
};

struct sim_condition {
	struct sim_condition *next;
	uint64_t handle;
	unsigned int value; /* at the start of each launch: nothing changes it, as no kernel runs */
};

struct sim_graph_user_object {
	struct sim_graph_user_object *next;
	struct CUuserObject_st *object;
	unsigned int references;
};

struct CUgraph_st {
	struct CUgraphNode_st *first, *last;
	size_t node_count;
	struct CUgraphNode_st *container; /* the node that it is the body of; NULL: a graph of its own */
	struct sim_graph_family *family;
	struct sim_graph_user_object *user_objects;
	struct sim_condition *conditions;
};

struct CUgraphExec_st {
	struct CUgraph_st *graph; /* a copy, so that the graph it came from may go */
	unsigned long long flags;
};

/* graph.c */
/* NULL when memory is short, here and below. */
struct CUgraph_st *sim_graph_new(void);
/* User objects whose last reference goes are destroyed by a call of their owner: hold no lock. */
void sim_graph_free(struct CUgraph_st *graph);
/* A graph with the same nodes, memory and user objects, of the same family if asked to. */
struct CUgraph_st *sim_graph_copy(struct CUgraph_st *graph, bool is_of_family);
/* Adds a node that depends on nothing. */
struct CUgraphNode_st *sim_graph_add(struct CUgraph_st *graph, CUgraphNodeType type);
/* Takes back the node that was added last. */
void sim_graph_remove_last(struct CUgraph_st *graph);
/* The same, after all that was added before it, as captures do. */
struct CUgraphNode_st *sim_graph_append(struct CUgraph_st *graph, CUgraphNodeType type);
/* Makes the node depend on another one of its graph. False when memory is short. */
bool sim_graph_depend(struct CUgraphNode_st *node, struct CUgraphNode_st *from, const CUgraphEdgeData *data);
/* Whether it has a node that allocates or frees, in graphs inside it too. */
bool sim_graph_has_memory(const struct CUgraph_st *graph);
/* Whether it has a node of that type, in graphs inside it too. */
bool sim_graph_has_type(const struct CUgraph_st *graph, CUgraphNodeType type);

/* user_object.c */
bool sim_graph_share_user_objects(struct CUgraph_st *copy, const struct CUgraph_st *graph);
/* Hold no lock, as for sim_graph_free. */
void sim_graph_free_user_objects(struct CUgraph_st *graph);

/* graph_memory.c; the lock is held for all */
/* Makes the node one that allocates. The family of its graph owns the memory. */
CUresult sim_graph_node_allocates(struct CUgraphNode_st *node, size_t size_bytes, struct sim_device *device);
/* Makes the node one that frees what an allocation node gave; CUDA_ERROR_INVALID_VALUE: it cannot. */
CUresult sim_graph_node_frees(struct CUgraphNode_st *node, CUdeviceptr address);
void sim_graph_memory_release(struct sim_graph_memory *memory);
void sim_graph_memory_forget_family(const struct sim_graph_family *family);
/*
 * Thinks a launch through: CUDA_SUCCESS if all that it frees will live, and all that it allocates will
 * not (`frees_previous`: or is freed before). Then there is physical memory for what it needs.
 */
CUresult sim_graph_reserve(struct CUgraph_st *graph, bool frees_previous);
CUresult sim_graph_memory_begin(struct sim_graph_memory *memory);
CUresult sim_graph_memory_end(struct sim_graph_memory *memory);
/* Frees what earlier launches of the graph left. */
void sim_graph_end_all(const struct CUgraph_st *graph);
/* The memory at that address, of whatever graph; NULL: none is there. */
struct sim_graph_memory *sim_graph_memory_find(CUdeviceptr address);

/* graph_launch.c: which of a conditional node's graphs runs; `body_count` when none does. */
unsigned int sim_graph_chosen_body(const struct CUgraphNode_st *node, const struct CUgraph_st *root);

#endif
