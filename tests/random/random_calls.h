/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_RANDOM_CALLS_H
#define GMT_TESTS_RANDOM_CALLS_H

/*
 * A program that calls CUDA at random: what its files share. What the calls give is kept in bags,
 * one for each kind of thing, from which any thread takes; so that addresses and handles go from
 * thread to thread. Who has taken a thing out has it alone.
 *
 * An action is a function that makes a few calls, valid or not, through the driver or the runtime.
 * While it runs, its thread holds a lock that others hold too; a call whose meaning another thread
 * could change in the middle (the free of an address that may be somebody else's by now) is made
 * with that lock held alone. With one thread, equal seeds make equal calls.
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
	UNIT_BYTES = 2 << 20, /* what physical memory comes in */
	BAG_CAPACITY = 40,
	FILES_OF_OTHERS = 4,
};

/* What things there are; each has its bag. */
enum what {
	BLOCK,       /* freed by cuMemFree */
	POOLED,      /* freed by cuMemFreeAsync or cuMemFree; other: 1 when a graph allocates it */
	PINNED,
	REGISTERED,  /* other: 1 when the memory is ours to give back to the C library */
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
	CUcontext context; /* goes with it; NULL: it outlives all */
	int device;
};

struct worker {
	uint64_t seed;
	uint64_t calls;
	bool is_alone; /* holds the lock alone */
	CUcontext current; /* as it was last asked for */
	int device;        /* of that context */
};

/* Each call's result passes through this, which counts it; whether the call succeeded. */
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
/* Bytes as programs ask for them: small, odd, large. */
size_t draw_size(struct worker *worker);
/* Of no use to anybody: zero, or too many. */
size_t draw_wrong_size(struct worker *worker);
/* Some number of whole units. */
size_t draw_units(struct worker *worker);
/* Takes a thing out, at random; false when there is none. */
bool take(struct worker *worker, enum what what, struct thing *ret_thing);
/* The same, without taking it out: it may be gone at once, unless the lock is held alone. */
bool look(struct worker *worker, enum what what, struct thing *ret_thing);
/* Whether there is room for one more. */
bool has_room(enum what what);
/*
 * Puts a thing in, made in the current context; one that outlives contexts is put with `context`
 * NULL.
 */
void put(enum what what, const struct thing *thing);
/* Forgets what went with the context. */
void forget_context(CUcontext context);
/* contexts.c: before all else, once. */
void contexts_begin(void);
/* contexts.c: asks what the current context is; of a green one its device's primary one. */
void ask_context(struct worker *worker);
/* From now on no other thread is inside an action. */
void be_alone(struct worker *worker);

/* What another process shares with this one. */
struct others {
	int memory_files[FILES_OF_OTHERS];
	size_t memory_bytes[FILES_OF_OTHERS];
	int pool_file;
	CUmemPoolPtrExportData blocks[FILES_OF_OTHERS];
};
extern struct others others;

/* others.c: starts the other process, before this one has called CUDA. It ends with this one. */
void others_begin(void);

/* What is done, from actions.def. */
#define ACTION(weight, name) void name(struct worker *worker);
#include "actions.def"
#undef ACTION

#endif
