/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_GRAPH_H
#define SIMCUDA_GRAPH_H

/*
 * Graphs: lists of nodes in the order in which they were added. This order always satisfies the
 * dependencies. At a launch, only these nodes have an effect: allocations, frees, host functions,
 * recorded events and graphs inside nodes.
 */

#include "driver.h"

/*
 * The allocation of one allocation node: a permanent address, with memory from a launch until a
 * free. Nodes hold it (in graphs and in executable graphs), and so does the block while it lives.
 * Memory that is not freed therefore outlives its graph.
 */
struct sim_graph_memory {
	/* in the list of all allocations; addresses are checked against it */
	struct sim_graph_memory *next;
	unsigned int references;
	uintptr_t address;
	size_t size_bytes;
	struct sim_device *device;      /* NULL: host memory */
	const void *owner;              /* the family of the graph that allocates the memory */
	/* the family of a graph that frees the memory; NULL: no graph does yet */
	const void *freed_by;
	bool will_live;                 /* temporary: used while a launch is checked */
};

/* The shared part of a graph and its executable graphs. */
struct sim_graph_family {
	unsigned int references;
	unsigned int execs; /* number of live executable graphs */
};

struct sim_graph_edge {
	struct CUgraphNode_st *from;
	CUgraphEdgeData data;
};

struct CUgraphNode_st {
	struct CUgraphNode_st *next;
	struct CUgraph_st *graph;
	CUgraphNodeType type;
	/* in a copy: the node it was copied from, which may be freed */
	struct CUgraphNode_st *original;
	struct CUgraphNode_st *counterpart;     /* temporary: the copy, while the graph is copied */
	struct sim_graph_edge *edges;    /* the nodes that this node depends on */
	size_t edge_count;
	struct sim_graph_memory *memory; /* for nodes that allocate or free */
	/* parameters as given, by type; the driver does not copy the memory that they point to */
	union {
		CUDA_KERNEL_NODE_PARAMS kernel;
		CUDA_MEMCPY3D copy;
		CUDA_MEMSET_NODE_PARAMS fill;
		CUDA_HOST_NODE_PARAMS host;
		CUevent event;
		uint64_t condition; /* the handle */
	};
	CUgraphConditionalNodeType condition_type;
	bool is_disabled;           /* for a node of an executable graph */
	struct CUgraph_st **bodies; /* for conditional nodes and for nodes with a child graph */
	unsigned int body_count;
};

struct sim_condition {
	struct sim_condition *next;
	uint64_t handle;
	unsigned int value; /* at the start of each launch; stays constant, because no kernel runs */
};

struct sim_graph_user_object {
	struct sim_graph_user_object *next;
	struct CUuserObject_st *object;
	unsigned int references;
};

struct CUgraph_st {
	struct CUgraphNode_st *first, *last;
	size_t node_count;
	/* the node that has this graph as its body; NULL: top-level graph */
	struct CUgraphNode_st *container;
	struct sim_graph_family *family;
	struct sim_graph_user_object *user_objects;
	struct sim_condition *conditions;
};

struct CUgraphExec_st {
	struct CUgraph_st *graph; /* a copy, so that the original graph may be freed */
	unsigned long long flags;
};

/* graph.c */
/* Makes an empty graph. This function and those below return NULL if memory is short. */
struct CUgraph_st *sim_graph_new(void);
/*
 * Frees a graph. The caller holds no lock, because this may call the destructors of user objects.
 */
void sim_graph_free(struct CUgraph_st *graph);
/* Copies a graph with its nodes, memory and user objects. `is_of_family`: into the same family. */
struct CUgraph_st *sim_graph_copy(struct CUgraph_st *graph, bool is_of_family);
/* Adds a node without dependencies. */
struct CUgraphNode_st *sim_graph_add(struct CUgraph_st *graph, CUgraphNodeType type);
/* Removes the node that was added last. */
void sim_graph_remove_last(struct CUgraph_st *graph);
/* Adds a node that depends on the node added last, as captures do. */
struct CUgraphNode_st *sim_graph_append(struct CUgraph_st *graph, CUgraphNodeType type);
/* Makes the node depend on another node of its graph. Returns false if memory is short. */
bool sim_graph_depend(struct CUgraphNode_st *node, struct CUgraphNode_st *from,
	const CUgraphEdgeData *data);
/* Returns whether the graph, or a graph inside it, has a node that allocates or frees. */
bool sim_graph_has_memory(const struct CUgraph_st *graph);
/* Returns whether the graph, or a graph inside it, has a node of that type. */
bool sim_graph_has_type(const struct CUgraph_st *graph, CUgraphNodeType type);

/* user_object.c */
bool sim_graph_share_user_objects(struct CUgraph_st *copy, const struct CUgraph_st *graph);
/* Drops the graph's user objects. The caller holds no lock, as for sim_graph_free. */
void sim_graph_free_user_objects(struct CUgraph_st *graph);

/* graph_memory.c; the caller holds the lock for all functions */
/* Makes the node an allocation node. The family of its graph owns the memory. */
CUresult sim_graph_node_allocates(struct CUgraphNode_st *node, size_t size_bytes,
	struct sim_device *device);
/*
 * Makes the node free the memory of an allocation node. Returns CUDA_ERROR_INVALID_VALUE if that is
 * not possible.
 */
CUresult sim_graph_node_frees(struct CUgraphNode_st *node, CUdeviceptr address);
void sim_graph_memory_release(struct sim_graph_memory *memory);
void sim_graph_memory_forget_family(const struct sim_graph_family *family);
/*
 * Checks a launch in advance. Returns CUDA_SUCCESS if all memory that the launch frees is live at
 * that point, and all memory that it allocates is not. `frees_previous`: the launch first frees
 * memory that earlier launches left. On success, the device has reserved the physical memory that
 * the launch needs.
 */
CUresult sim_graph_reserve(struct CUgraph_st *graph, bool frees_previous);
CUresult sim_graph_memory_begin(struct sim_graph_memory *memory);
CUresult sim_graph_memory_end(struct sim_graph_memory *memory);
/* Frees the memory that earlier launches of the graph left allocated. */
void sim_graph_end_all(const struct CUgraph_st *graph);
/* Returns the allocation at that address, of any graph, or NULL. */
struct sim_graph_memory *sim_graph_memory_find(CUdeviceptr address);

/*
 * graph_launch.c: Returns the index of the body that a conditional node runs, or `body_count` if it
 * runs no body.
 */
unsigned int sim_graph_chosen_body(const struct CUgraphNode_st *node,
	const struct CUgraph_st *root);

#endif
