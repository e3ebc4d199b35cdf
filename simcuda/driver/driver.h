/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_DRIVER_H
#define SIMCUDA_DRIVER_H

/*
 * The simulated driver's state: what the files of this folder share.
 *
 * Every exported cu* function is declared by NVIDIA's own header and defined in one file here; it
 * checks its arguments, takes the one lock, works on the state below, and returns a CUresult. Work
 * on a stream is done at once, in the calling thread, so that nothing is ever pending.
 *
 * Functions named sim_* are internal; unless one says otherwise, the caller holds the lock.
 */

/* Old ABI forms and per-thread-stream forms are functions of their own: have the header declare all. */
#define __CUDA_API_VERSION_INTERNAL
/* What the header declares is what this library exports; all the rest is hidden. */
#pragma GCC visibility push(default)
#include <cuda.h>
#include <stddef.h>
#include "newer.h"
/* Not CUDA's: what tests, and the simulated management library, ask. */
#include "accounting.h"
#pragma GCC visibility pop

#include <stdbool.h>
#include <stdint.h>

#include "identity.h"
#include "memory/ranges.h"

enum {
	/* Device memory is handed out, and counted against the device, in units of this many bytes. */
	SIM_CHARGE_UNIT_BYTES = 512,
	/* Physical memory of cuMemCreate and of pools comes in units of this many bytes. */
	SIM_GRANULARITY_BYTES = 2 << 20,
	SIM_CONTEXT_STACK_DEPTH = 64,
};

struct CUctx_st {
	struct CUctx_st *next; /* in the list of live contexts, by which handles are checked */
	struct sim_device *device;
	struct CUctx_st *parent; /* of the view of a green context: the primary context; else NULL */
	unsigned int references; /* cuCtxAttach; 0: it has ended */
	uint64_t id;
	unsigned int flags;
	unsigned int peers; /* bit per device whose memory this context was let at */
	size_t limits[CU_LIMIT_MAX];
	size_t limit_bytes[CU_LIMIT_MAX]; /* what the device was charged for a raised limit */
	size_t charged_bytes;             /* and for the context itself */
};

struct sim_device {
	int ordinal;
	size_t capacity_bytes;
	size_t used_bytes; /* what cuMemGetInfo calls not free */
	struct CUctx_st primary; /* always at this address; a live context while it is active */
	unsigned int primary_references;
	unsigned int primary_flags;
	struct CUmemPoolHandle_st *default_pool;
	struct CUmemPoolHandle_st *current_pool;
	size_t graph_used_bytes, graph_used_high_bytes;         /* what launched graphs hold now */
	size_t graph_reserved_bytes, graph_reserved_high_bytes; /* what the device gave for that */
};

/* What a block of addresses is; decides who may free it and what it costs. */
enum sim_space {
	SIM_SPACE_DEVICE,     /* cuMemAlloc, cuMemAllocPitch */
	SIM_SPACE_MANAGED,    /* cuMemAllocManaged: on the host, and no device is charged */
	SIM_SPACE_PINNED,     /* cuMemHostAlloc, cuMemAllocHost */
	SIM_SPACE_REGISTERED, /* cuMemHostRegister: the caller's memory */
	SIM_SPACE_POOL,       /* cuMemAllocAsync, cuMemAllocFromPoolAsync */
	SIM_SPACE_GRAPH,      /* a graph's allocation node; exists from its launch on */
	SIM_SPACE_IPC,        /* cuIpcOpenMemHandle: another process's memory */
	SIM_SPACE_VARIABLE,   /* a module's, which goes with the module */
	SIM_SPACE_EXTERNAL,   /* cuExternalMemoryGetMappedBuffer */
	SIM_SPACE_IMPORTED,   /* cuMemPoolImportPointer: another process's pool memory */
	SIM_SPACE_GRAPHICS,   /* cuGraphicsMapResources: another API's memory */
};

struct sim_block {
	struct sim_range range; /* first, so that a range found is a block found */
	enum sim_space space;
	unsigned int flags;      /* as given to the call that made it */
	unsigned int references; /* SIM_SPACE_IPC: opened so many times */
	uint64_t id;             /* CU_POINTER_ATTRIBUTE_BUFFER_ID */
	size_t charged_bytes;    /* what the device or pool gets back */
	struct sim_device *device;
	struct CUctx_st *context; /* goes with this context; NULL: outlives every context */
	struct CUmemPoolHandle_st *pool;
	uint64_t owner; /* what was imported: of whom; see where it is made */
	struct sim_graph_memory *graph_memory; /* SIM_SPACE_GRAPH: what it is the memory of */
};

struct sim_driver {
	bool initialized;
	bool forked; /* a child of the process that called cuInit: CUDA is gone, as in reality */
	int version;
	/* See settings.h for these five. */
	size_t context_bytes, module_bytes;
	bool is_module_lazy, is_limit_charged, is_hollow;
	int device_count;
	struct sim_device devices[SIM_MAX_DEVICES];
	struct CUctx_st *contexts;
	struct sim_ranges blocks;
	uint64_t next_id;
};

extern struct sim_driver sim_driver;

/* What simcuda_list fills. */
struct sim_list {
	struct simcuda_item *items;
	size_t capacity;
	size_t count; /* may be more than there is room for */
};

/* state.c */
void sim_lock(void);
void sim_unlock(void);
/* Reads the environment and makes the devices; needs no lock, and is done by the first caller. */
void sim_driver_setup(void);
/* CUDA_SUCCESS once cuInit succeeded in this process. Needs no lock. */
CUresult sim_check_initialized(void);
/* The device of an ordinal; NULL when there is none. Needs no lock. */
struct sim_device *sim_device_find(CUdevice ordinal);
/* Takes `size_bytes` of the device's capacity; false when it has too little left. */
bool sim_device_charge(struct sim_device *device, size_t size_bytes);
void sim_device_refund(struct sim_device *device, size_t size_bytes);
uint64_t sim_next_id(void);
size_t sim_round_up(size_t size_bytes, size_t unit_bytes);

/* device.c */
/* How many threads a device can run at a time. Needs no lock. */
size_t sim_device_threads(void);

/* current.c */
/*
 * The context in which this thread's calls happen: its current one, and the primary one where that is
 * the view of a green context. Or the error of a call that needs one. No lock needed.
 */
CUresult sim_context_get_current(struct CUctx_st **ret_context);
/* The same, but views are what they are. */
CUresult sim_context_get_view(struct CUctx_st **ret_context);
/* If the context is this thread's current one, it is no longer. No lock needed. */
void sim_context_pop(const struct CUctx_st *context);
void sim_context_reset_limits(struct CUctx_st *context);

/* context.c */
bool sim_context_has_ended(const struct CUctx_st *context);
bool sim_primary_is_active(const struct sim_device *device);
CUresult sim_primary_retain(struct sim_device *device);
CUresult sim_primary_release(struct sim_device *device);
bool sim_context_is_live(const struct CUctx_st *context);
void sim_contexts_list(struct sim_list *list);

/* green.c */
/* Whether it is what cuCtxFromGreenCtx gave, of a green context that lives in a live primary one. */
bool sim_green_is_view(const struct CUctx_st *context);
void sim_greens_list(struct sim_list *list);

/* blocks.c */
/*
 * Makes a block of fresh, zeroed, lazily committed memory. Charges nothing. NULL when the host has
 * no address space left.
 */
struct sim_block *sim_block_new(enum sim_space space, size_t size_bytes);
/* The same below 4 GiB, for callers whose device addresses have 32 bits. NULL also when that is full. */
struct sim_block *sim_block_new_low(enum sim_space space, size_t size_bytes);
/* Books caller's memory as a block, without mapping anything. */
struct sim_block *sim_block_new_at(enum sim_space space, uintptr_t address, size_t size_bytes);
/* Unmaps the block, if it was mapped by sim_block_new, and forgets it. Refunds what it was charged. */
void sim_block_free(struct sim_block *block);
/* The block that contains `address`; NULL when none does. */
struct sim_block *sim_block_find(uintptr_t address);
/* The block that begins at `address`; NULL when none does. */
struct sim_block *sim_block_find_start(uintptr_t address);
void sim_blocks_free_of_context(const struct CUctx_st *context);

/* array.c and module.c: what goes with a context */
void sim_arrays_free_of_context(const struct CUctx_st *context);
void sim_external_free_of_context(const struct CUctx_st *context);
void sim_graphics_free_of_context(const struct CUctx_st *context);
void sim_modules_free_of_context(const struct CUctx_st *context);
void sim_modules_list(struct sim_list *list);
void sim_streams_free_of_context(const struct CUctx_st *context);
/* library.c: what comes with one */
CUresult sim_libraries_load_into(struct CUctx_st *context);

/* books.c */
/* An item without references counts as held once, except for what handles name, which may be released. */
void sim_list_add(struct sim_list *list, struct simcuda_item item);
/* The device's ordinal; -1 for no device. */
int sim_ordinal_of(const struct sim_device *device);
/* Each adds what its file keeps. */
void sim_blocks_list(struct sim_list *list);
void sim_arrays_list(struct sim_list *list);
void sim_vmm_list(struct sim_list *list);
void sim_pools_list(struct sim_list *list);
void sim_external_list(struct sim_list *list);
void sim_graphics_list(struct sim_list *list);

/* graph_memory.c */
void sim_graph_memory_list(struct sim_list *list);
/* The block, of a graph, is about to go: what it used of its device is free again, and reserved. */
void sim_graph_block_ends(struct sim_block *block);

/* pool.c */
CUresult sim_pools_setup(struct sim_device *device);
void sim_pool_free_block(struct sim_block *block);
/* What a synchronization does: pools give back what they hold above their release threshold. */
void sim_pools_trim(void);

/* memory.c */
/* cuMemAlloc of one space or another; `is_low`: at an address of 32 bits. Takes the lock itself. */
CUresult sim_memory_allocate(CUdeviceptr *ret_address, size_t size_bytes, enum sim_space space,
			     unsigned int flags, bool is_low);

/* What cuMemAllocPitch makes of its arguments; the error when it makes nothing. Needs no lock. */
CUresult sim_pitch(size_t width_bytes, size_t height, unsigned int element_size_bytes,
		   size_t *ret_pitch_bytes, size_t *ret_size_bytes);

/* host.c */
CUresult sim_host_allocate(void **ret_memory, size_t size_bytes, unsigned int flags, bool is_low);

/* physical.c */
void sim_physicals_list(struct sim_list *list);
/* Gives back what only exported descriptors kept alive, and those are closed. */
void sim_physicals_sweep(void);

/* vmm.c */
struct sim_mapping_info {
	struct sim_range range;
	struct sim_device *device; /* NULL: host memory, or a multicast object */
	bool is_host;
	unsigned int handle_types; /* that it can be exported as */
	uint64_t id;               /* of the physical memory */
};
/* Says what is mapped at `address`; false when nothing is. */
bool sim_mapping_find(uintptr_t address, struct sim_mapping_info *ret_info);

/* stream.c, capture.c */
/* Of a per-thread-stream call: the null stream is the thread's own one. */
CUstream sim_per_thread(CUstream stream);
/*
 * For calls that CUDA calls unsafe during capture: CUDA_SUCCESS, or the error for a thread that is
 * not allowed to, which also spoils the captures concerned. Takes the lock itself.
 */
CUresult sim_capture_check_unsafe_call(void);

#endif
