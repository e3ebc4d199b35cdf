/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_RANDOM_CALLS_H
#define GMT_TESTS_RANDOM_CALLS_H

/*
 * Shared by the files of a program that calls CUDA at random. The program keeps the resources
 * (addresses and handles) that the calls return in bags, one bag for each kind. Any thread takes
 * resources from the bags, so they move between threads. The thread that took a resource out is
 * its only owner.
 *
 * An action is a function that makes a few calls, valid or not, through the driver or the runtime.
 * While an action runs, its thread holds a shared lock. Some calls would change their meaning if
 * another thread ran: a freed address may become another thread's block. Before such a call, the
 * action takes the lock exclusively. With one thread, and RANDOM_CALLS_WITHOUT_HANDLES set, equal
 * seeds make equal calls.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "../../simcuda/driver/extra_declarations.h"

enum {
	DEVICES = 2,
	UNIT_BYTES = 2 << 20, /* granularity of physical memory */
	BAG_CAPACITY = 40,
	SHARED_COUNT = 4,
};

/* The kinds of resources. Each kind has its bag. `other` is the member of struct resource. */
enum resource_kind {
	BLOCK,       /* freed by cuMemFree */
	POOLED,      /* freed by cuMemFreeAsync or cuMemFree; other: 1 when a graph allocates it */
	PINNED,
	REGISTERED,
	LOW,         /* memory of the functions with 32-bit addresses; other: 1 for pinned memory */
	ARRAY,
	MIPMAP,
	POOL,
	PHYSICAL,    /* address: the handle; other: 1 when it can be exported */
	RANGE,       /* reserved addresses; other: bytes mapped from its start */
	MULTICAST,
	EXPORTED,    /* other: the descriptor */
	IPC,
	EXTERNAL,
	GRAPHICS,    /* other: 1 when mapped */
	STREAM,
	GRAPH,       /* other: struct graph */
	CONTEXT,
	GREEN,
	MODULE,
	LIBRARY,
	RESOURCE_KINDS,
};

struct resource {
	CUdeviceptr address; /* or handle */
	uint64_t size_bytes;
	uint64_t other;    /* its meaning depends on the kind */
	CUcontext context; /* the context that the resource ends with; NULL: it outlives all contexts */
	int device;
};

struct worker {
	uint64_t seed;
	uint64_t calls;
	bool has_exclusive_lock;
	CUcontext current; /* as of the last update_current_context */
	int device; /* of `current` */
};

/* Counts a call. Returns whether the call succeeded. */
static inline bool count_call(struct worker *worker, int result)
{
	worker->calls++;
	return result == 0;
}
#define CALL(worker, call) count_call((worker), (int)(call))

static inline struct cudaExtent extent_of(size_t width, size_t height, size_t depth)
{
	return (struct cudaExtent){ width, height, depth };
}

/* resource_bags.c: returns a random number below `below`. */
uint64_t draw(struct worker *worker, uint64_t below);
static inline bool one_in(struct worker *worker, uint64_t times)
{
	return draw(worker, times) == 0;
}
/* Returns a size that programs request: small, odd or large. */
size_t draw_size(struct worker *worker);
/* Returns an invalid size: zero or too large. */
size_t draw_wrong_size(struct worker *worker);
/* Returns the size of a random number of whole units. */
size_t draw_units(struct worker *worker);
/* Takes a random resource out of its bag. Returns false if the bag is empty. */
bool take(struct worker *worker, enum resource_kind kind, struct resource *ret_resource);
/*
 * Same as take, but leaves the resource in the bag. Other threads may remove it at any time, unless
 * this thread holds the exclusive lock.
 */
bool peek(struct worker *worker, enum resource_kind kind, struct resource *ret_resource);
/* Returns whether the bag has space for another resource. */
bool bag_has_space(enum resource_kind kind);
/*
 * Puts a resource into its bag. A resource that does not fit leaks, as in real programs.
 */
void put(enum resource_kind kind, const struct resource *resource);
/* Removes all resources that ended with the context from the bags. */
void forget_context(CUcontext context);
/* contexts.c: call once, before any action. */
void find_primary_contexts(void);
/*
 * contexts.c: updates the worker's current context and device. A green context counts as its
 * device's primary context.
 */
void update_current_context(struct worker *worker);
/*
 * random_calls.c: waits until no other thread is inside an action. Until this action ends, no other
 * thread begins an action.
 */
void lock_exclusively(struct worker *worker);

/* Memory that another process shares with this process. */
struct other_process {
	int memory_files[SHARED_COUNT];
	size_t memory_bytes[SHARED_COUNT];
	int pool_file;
	CUmemPoolPtrExportData blocks[SHARED_COUNT];
};
extern struct other_process other_process;

/*
 * other_process.c: starts the other process, which ends with this process. Call before this
 * process calls CUDA.
 */
void start_other_process(void);

/*
 * Defines an action: a function that random_calls.c calls at random. A higher weight means more
 * calls.
 *
 *	ACTION(30, allocate)
 *	{
 *		CALL(worker, cuMemAlloc(...));
 *	}
 */
#define ACTION(weight, name) \
	void name(struct worker *worker); \
	__attribute__((constructor)) static void add_##name(void) \
	{ \
		add_action((weight), name); \
	} \
	void name(struct worker *worker)
void add_action(unsigned weight, void (*run)(struct worker *worker));

/* Actions that other actions call. */
void release_block(struct worker *worker);
void release_low(struct worker *worker);
void release_pinned(struct worker *worker);
void unregister_memory(struct worker *worker);
void release_async(struct worker *worker);
void destroy_pool(struct worker *worker);
void create_stream(struct worker *worker);
void destroy_stream(struct worker *worker);
void release_physical(struct worker *worker);
void free_range(struct worker *worker);
void close_exported(struct worker *worker);
void release_multicast(struct worker *worker);
void destroy_array(struct worker *worker);
void destroy_mipmap(struct worker *worker);
void close_ipc(struct worker *worker);
void destroy_external(struct worker *worker);
void unregister_graphics(struct worker *worker);
void destroy_graph(struct worker *worker);
void destroy_context(struct worker *worker);
void destroy_green_context(struct worker *worker);
void unload_code(struct worker *worker);

#endif
