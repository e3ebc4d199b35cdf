/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_DRIVER_H
#define SIMCUDA_DRIVER_H

/*
 * The state of the simulated driver, which all files of this folder share.
 *
 * NVIDIA's header declares every exported cu* function, and one file here defines it. The function
 * checks its arguments, takes the single lock, works on the state below and returns a CUresult. The
 * calling thread does work on a stream at once, so no work is ever pending.
 *
 * Functions named sim_* are internal. The caller holds the lock, unless a function's comment says
 * otherwise.
 */

/* Makes the header declare the old ABI forms and the per-thread-stream forms as functions. */
#define __CUDA_API_VERSION_INTERNAL
/* This library exports what the headers in this section declare. Everything else is hidden. */
#pragma GCC visibility push(default)
#include <cuda.h>
#include <stddef.h>
#include "extra_declarations.h"
/* Not part of CUDA: functions for tests and for the simulated management library. */
#include "accounting.h"
#pragma GCC visibility pop

#include <stdbool.h>
#include <stdint.h>

#include "device_identity.h"
#include "memory/ranges.h"

enum {
	/* The driver allocates device memory, and charges the device for it, in units of this size. */
	SIM_CHARGE_UNIT_BYTES = 512,
	/* Physical memory of cuMemCreate and of pools comes in units of this size. */
	SIM_GRANULARITY_BYTES = 2 << 20,
	SIM_CONTEXT_STACK_DEPTH = 64,
};

struct CUctx_st {
	struct CUctx_st *next; /* in the list of live contexts; handles are checked against it */
	struct sim_device *device;
	/* for the view of a green context: its primary context; otherwise NULL */
	struct CUctx_st *parent;
	unsigned int references; /* counted by cuCtxAttach; 0: the context has ended */
	uint64_t id;
	unsigned int flags;
	unsigned int peers; /* one bit for each device whose memory this context may access */
	size_t limits[CU_LIMIT_MAX];
	size_t limit_bytes[CU_LIMIT_MAX]; /* charged to the device for a raised limit */
	size_t charged_bytes;             /* charged to the device for the context itself */
};

struct sim_device {
	int ordinal;
	size_t capacity_bytes;
	size_t used_bytes; /* total minus free memory of cuMemGetInfo */
	struct CUctx_st primary; /* always at this address; a live context while active */
	unsigned int primary_references;
	unsigned int primary_flags;
	struct CUmemPoolHandle_st *default_pool;
	struct CUmemPoolHandle_st *current_pool;
	size_t graph_used_bytes, graph_used_high_bytes;         /* used by launched graphs */
	size_t graph_reserved_bytes, graph_reserved_high_bytes; /* reserved for graphs */
};

/* The kind of a block. It decides which function may free the block and what the block costs. */
enum sim_space {
	SIM_SPACE_DEVICE,     /* cuMemAlloc, cuMemAllocPitch */
	SIM_SPACE_MANAGED,    /* cuMemAllocManaged: on the host; no device is charged */
	SIM_SPACE_PINNED,     /* cuMemHostAlloc, cuMemAllocHost */
	SIM_SPACE_REGISTERED, /* cuMemHostRegister: memory of the caller */
	SIM_SPACE_POOL,       /* cuMemAllocAsync, cuMemAllocFromPoolAsync */
	SIM_SPACE_GRAPH,      /* an allocation node of a graph; exists from the graph's launch on */
	SIM_SPACE_IPC,        /* cuIpcOpenMemHandle: memory of another process */
	SIM_SPACE_VARIABLE,   /* a variable of a module; freed with the module */
	SIM_SPACE_EXTERNAL,   /* cuExternalMemoryGetMappedBuffer */
	SIM_SPACE_IMPORTED,   /* cuMemPoolImportPointer: pool memory of another process */
	SIM_SPACE_GRAPHICS,   /* cuGraphicsMapResources: memory of another API */
};

struct sim_block {
	struct sim_range range; /* first, so that a pointer to the range is a pointer to the block */
	enum sim_space space;
	unsigned int flags;      /* as given to the call that made the block */
	unsigned int references; /* SIM_SPACE_IPC: how often the handle is open */
	uint64_t id;             /* CU_POINTER_ATTRIBUTE_BUFFER_ID */
	size_t charged_bytes;    /* returned to the device or the pool when the block is freed */
	struct sim_device *device;
	struct CUctx_st *context; /* freed with this context; NULL: outlives every context */
	struct CUmemPoolHandle_st *pool;
	uint64_t owner; /* imported memory: identifies the exporter; see the caller of sim_block_new */
	struct sim_graph_memory *graph_memory; /* SIM_SPACE_GRAPH: the allocation behind the block */
};

struct sim_driver {
	bool initialized;
	/* this process is a child of the process that called cuInit; CUDA fails here, as in reality */
	bool forked;
	int version;
	/* The next five members are copies of settings; see settings.h. */
	size_t context_bytes, module_bytes;
	bool is_module_lazy, is_limit_charged, is_unbacked;
	int device_count;
	struct sim_device devices[SIM_MAX_DEVICES];
	struct CUctx_st *contexts;
	struct sim_ranges blocks;
	uint64_t next_id;
};

extern struct sim_driver sim_driver;

/* The output of simcuda_list while the files fill it. */
struct sim_list {
	struct simcuda_item *items;
	size_t capacity;
	size_t count; /* may be larger than the capacity */
};

/* driver_state.c */
void sim_lock(void);
void sim_unlock(void);
/* Reads the environment and makes the devices. Only the first call has an effect. Needs no lock. */
void sim_driver_setup(void);
/* Returns CUDA_SUCCESS once cuInit has succeeded in this process. Needs no lock. */
CUresult sim_check_initialized(void);
/* Returns the device of an ordinal, or NULL if there is no such device. Needs no lock. */
struct sim_device *sim_device_find(CUdevice ordinal);
/* Takes `size_bytes` of the device's capacity. Returns false if less is free. */
bool sim_device_charge(struct sim_device *device, size_t size_bytes);
void sim_device_refund(struct sim_device *device, size_t size_bytes);
uint64_t sim_next_id(void);
size_t sim_round_up(size_t size_bytes, size_t unit_bytes);

/* device.c */
/*
 * Checks what calls on a device need: an initialized driver, an output and a valid ordinal. Needs
 * no lock.
 */
CUresult sim_device_check(const void *output, CUdevice ordinal);
/* Returns how many threads a device can run at a time. Needs no lock. */
size_t sim_device_threads(void);

/* current_context.c */
/*
 * Gets the context in which the calling thread's calls happen. This is the current context, or its
 * primary context if the current one is the view of a green context. Returns the error of a call
 * that needs a context if there is none. Needs no lock.
 */
CUresult sim_context_get_current(struct CUctx_st **ret_context);
/* Does the same, but returns the view of a green context as it is. */
CUresult sim_context_get_view(struct CUctx_st **ret_context);
/* Makes the context not current in the calling thread, if it is current there. Needs no lock. */
void sim_context_pop(const struct CUctx_st *context);
void sim_context_reset_limits(struct CUctx_st *context);

/* context.c */
bool sim_context_has_ended(const struct CUctx_st *context);
bool sim_primary_is_active(const struct sim_device *device);
CUresult sim_primary_retain(struct sim_device *device);
CUresult sim_primary_release(struct sim_device *device);
bool sim_context_is_live(const struct CUctx_st *context);
void sim_contexts_list(struct sim_list *list);

/* green_context.c */
/*
 * Returns whether cuCtxFromGreenCtx gave this context. Its green context and the primary context of
 * that must both be live.
 */
bool sim_green_is_view(const struct CUctx_st *context);
void sim_greens_list(struct sim_list *list);

/* blocks.c */
/*
 * Makes a block of zeroed memory that the host commits lazily. Charges no device. Returns NULL if
 * the host has no address space left.
 */
struct sim_block *sim_block_new(enum sim_space space, size_t size_bytes);
/*
 * Does the same below 4 GiB, for callers whose device addresses have 32 bits. Also returns NULL if
 * that range is full.
 */
struct sim_block *sim_block_new_low(enum sim_space space, size_t size_bytes);
/* Records memory of the caller as a block. Maps no memory. */
struct sim_block *sim_block_new_at(enum sim_space space, uintptr_t address, size_t size_bytes);
/* Removes the block and refunds its charge. Unmaps the memory if sim_block_new mapped it. */
void sim_block_free(struct sim_block *block);
/* Returns the block that contains `address`, or NULL. */
struct sim_block *sim_block_find(uintptr_t address);
/* Returns the block that begins at `address`, or NULL. */
struct sim_block *sim_block_find_start(uintptr_t address);
void sim_blocks_free_of_context(const struct CUctx_st *context);

/* array.c, module.c and others: free what belongs to a context that ends */
void sim_arrays_free_of_context(const struct CUctx_st *context);
void sim_external_free_of_context(const struct CUctx_st *context);
void sim_graphics_free_of_context(const struct CUctx_st *context);
void sim_modules_free_of_context(const struct CUctx_st *context);
void sim_modules_list(struct sim_list *list);
void sim_streams_free_of_context(const struct CUctx_st *context);
/* library.c: loads the libraries into a new context. */
CUresult sim_libraries_load_into(struct CUctx_st *context);

/* accounting.c */
/*
 * Adds an item. If the item has no reference count, the function sets the count to 1. Kinds whose
 * handle may be released keep a count of 0.
 */
void sim_list_add(struct sim_list *list, struct simcuda_item item);
/* Returns the device's ordinal, or -1 for no device. */
int sim_ordinal_of(const struct sim_device *device);
/* Each function adds the items that its file keeps. */
void sim_blocks_list(struct sim_list *list);
void sim_arrays_list(struct sim_list *list);
void sim_vmm_list(struct sim_list *list);
void sim_pools_list(struct sim_list *list);
void sim_external_list(struct sim_list *list);
void sim_graphics_list(struct sim_list *list);

/* graph_memory.c */
void sim_graph_memory_list(struct sim_list *list);
/*
 * Updates the device's counters before the caller removes a graph's block. The block's bytes stay
 * reserved but no longer count as used.
 */
void sim_graph_block_ends(struct sim_block *block);

/* pool.c */
CUresult sim_pools_setup(struct sim_device *device);
void sim_pool_free_block(struct sim_block *block);
/*
 * Does what a synchronization does: pools give back reserved memory above their release threshold.
 */
void sim_pools_trim(void);

/* linear_memory.c */
/*
 * Allocates linear memory of the given space. `is_low`: below 4 GiB, for the 32-bit ABI. Takes the
 * lock itself.
 */
CUresult sim_memory_allocate(CUdeviceptr *ret_address, size_t size_bytes, enum sim_space space,
	unsigned int flags, bool is_low);

/* Computes pitch and size for cuMemAllocPitch, or returns the error of that call. Needs no lock. */
CUresult sim_pitch(size_t width_bytes, size_t height, unsigned int element_size_bytes,
	size_t *ret_pitch_bytes, size_t *ret_size_bytes);

/* host_memory.c */
/*
 * Allocates pinned host memory, with the `flags` of cuMemHostAlloc. `is_low`: below 4 GiB, for the
 * 32-bit ABI. Takes the lock itself.
 */
CUresult sim_host_allocate(void **ret_memory, size_t size_bytes, unsigned int flags, bool is_low);

/* physical_memory.c */
void sim_physicals_list(struct sim_list *list);
/* Frees memory that only exported descriptors kept alive, if those descriptors are now closed. */
void sim_physicals_drop_unused(void);

/* vmm.c */
struct sim_mapping_info {
	struct sim_range range;
	struct sim_device *device; /* NULL: host memory, or a multicast object */
	bool is_host;
	unsigned int handle_types; /* types that the memory can be exported as */
	uint64_t id; /* id of the physical memory */
};
/* Describes what is mapped at `address`. Returns false if no memory is mapped there. */
bool sim_mapping_find(uintptr_t address, struct sim_mapping_info *ret_info);

/* stream.c, capture.c */
/*
 * Translates the stream of a per-thread-stream call: the null stream means the thread's own stream.
 */
CUstream sim_per_thread(CUstream stream);
/*
 * Checks a call that CUDA considers unsafe during capture. Returns CUDA_SUCCESS if the calling
 * thread may make it. Otherwise returns the error and invalidates the captures that forbid the
 * call. Takes the lock itself.
 */
CUresult sim_capture_check_unsafe_call(void);

#endif
