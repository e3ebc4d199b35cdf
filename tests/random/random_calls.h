/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_RANDOM_CALLS_H
#define GMT_TESTS_RANDOM_CALLS_H

/*
 * Shared by the files of a program that calls CUDA at random. The program keeps the things that the
 * calls return in bags, one bag for each kind. Any thread takes from the bags, so addresses and
 * handles move between threads. A thread that takes a thing out owns it alone.
 *
 * An action is a function that makes a few calls, valid or not, through the driver or the runtime.
 * While it runs, its thread holds a shared lock. Another thread could change the meaning of some
 * calls, as of a free whose address it gets meanwhile. For these, a thread holds the lock alone.
 * With one thread, and RANDOM_CALLS_WITHOUT_HANDLES set, equal seeds make equal calls.
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
	FILES_OF_OTHERS = 4,
};

/* The kinds of things. Each has its bag. */
enum what {
	BLOCK,       /* freed by cuMemFree */
	POOLED,      /* freed by cuMemFreeAsync or cuMemFree; other: 1 when a graph allocates it */
	PINNED,
	REGISTERED,  /* other: 1 when the program must free the memory to the C library */
	LOW,         /* pinned or device memory of the old forms */
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
	WHATS,
};

struct thing {
	CUdeviceptr address; /* or handle */
	uint64_t size_bytes;
	uint64_t other;
	CUcontext context; /* the thing ends with it; NULL: it outlives all contexts */
	int device;
};

struct worker {
	uint64_t seed;
	uint64_t calls;
	bool is_alone; /* holds the lock alone */
	CUcontext current; /* from the last ask_context */
	int device;        /* of that context */
};

/* Counts a call. Returns whether it succeeded. */
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

/* bags.c */
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
/* Takes a random thing out. Returns false if the bag is empty. */
bool take(struct worker *worker, enum what what, struct thing *ret_thing);
/*
 * Same as take, but leaves the thing in the bag. Other threads may remove it at any time, unless
 * this thread holds the lock alone.
 */
bool look(struct worker *worker, enum what what, struct thing *ret_thing);
/* Returns whether the bag has space for another thing. */
bool bag_has_space(enum what what);
/*
 * Puts in a thing that was made in the current context. If it outlives contexts, its `context` is
 * NULL.
 */
void put(enum what what, const struct thing *thing);
/* Forgets all things that ended with the context. */
void forget_context(CUcontext context);
/* contexts.c: call once, before all else. */
void contexts_begin(void);
/*
 * contexts.c: updates the worker's current context and device. A green context counts as its
 * device's primary context.
 */
void ask_context(struct worker *worker);
/* Waits until no other thread is inside an action. None enters one until this action ends. */
void be_alone(struct worker *worker);

/* Memory that another process shares with this one. */
struct others {
	int memory_files[FILES_OF_OTHERS];
	size_t memory_bytes[FILES_OF_OTHERS];
	int pool_file;
	CUmemPoolPtrExportData blocks[FILES_OF_OTHERS];
};
extern struct others others;

/*
 * other_process.c: starts the other process. Call it before this process calls CUDA. The other
 * process ends with this one.
 */
void others_begin(void);

/*
 * Defines an action: a function that main.c calls at random. A higher weight means more calls.
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
void end_pool(struct worker *worker);
void make_stream(struct worker *worker);
void end_stream(struct worker *worker);
void release_physical(struct worker *worker);
void free_range(struct worker *worker);
void close_exported(struct worker *worker);
void release_multicast(struct worker *worker);
void end_array(struct worker *worker);
void end_mipmap(struct worker *worker);
void close_ipc(struct worker *worker);
void end_external(struct worker *worker);
void end_graphics(struct worker *worker);
void end_graph(struct worker *worker);
void end_context(struct worker *worker);
void end_green(struct worker *worker);
void unload_code(struct worker *worker);

#endif
