/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_ACCOUNTING_H
#define SIMCUDA_ACCOUNTING_H

/*
 * The simulated driver's own accounting. Tests compare a profiler's accounting with it. The
 * simulated libcuda.so.1 exports these functions and no real driver does, so look them up with
 * dlsym.
 *
 * For each device, the charged bytes of all items always add up to simcuda_used_bytes. A function
 * that makes the driver keep a new kind of object adds a kind here and lists its objects.
 * accounting.c calls each sim_*_list function for that.
 */

#include <stddef.h>
#include <stdint.h>

enum simcuda_kind {
	SIMCUDA_KIND_DEVICE,          /* cuMemAlloc, cuMemAllocPitch */
	SIMCUDA_KIND_MANAGED,         /* cuMemAllocManaged */
	SIMCUDA_KIND_PINNED,          /* cuMemHostAlloc, cuMemAllocHost */
	SIMCUDA_KIND_REGISTERED,      /* cuMemHostRegister */
	SIMCUDA_KIND_POOL_BLOCK,      /* cuMemAllocAsync, cuMemAllocFromPoolAsync; object: the pool */
	SIMCUDA_KIND_GRAPH_BLOCK,     /* an allocation node of a launched graph */
	SIMCUDA_KIND_IPC,             /* cuIpcOpenMemHandle; references: how often it is open */
	SIMCUDA_KIND_EXTERNAL_BUFFER, /* cuExternalMemoryGetMappedBuffer; object: the external memory */
	SIMCUDA_KIND_IMPORTED_BLOCK, /* cuMemPoolImportPointer; object: the imported pool */
	SIMCUDA_KIND_GRAPHICS_BUFFER, /* memory of a mapped graphics resource; object: the resource */
	SIMCUDA_KIND_ARRAY, /* cuArrayCreate, cuArray3DCreate; address: the handle */
	/* cuMipmappedArrayCreate; object: the owner of the memory, or 0 */
	SIMCUDA_KIND_MIPMAP,
	SIMCUDA_KIND_PHYSICAL, /* cuMemCreate; address: the handle, which may be released */
	SIMCUDA_KIND_IMPORTED_PHYSICAL, /* cuMemImportFromShareableHandle: memory of another process */
	SIMCUDA_KIND_MULTICAST, /* cuMulticastCreate; address: the handle */
	SIMCUDA_KIND_RESERVATION, /* cuMemAddressReserve */
	SIMCUDA_KIND_MAPPING, /* cuMemMap; object: the handle */
	/* cuMulticastBind*; address: offset in the multicast `object` */
	SIMCUDA_KIND_BINDING,
	/* cuMemMapArrayAsync; address: the array; object: the memory handle */
	SIMCUDA_KIND_TILES,
	SIMCUDA_KIND_POOL, /* size: bytes in use; charged: bytes reserved */
	/* memory of a device's graphs; size: bytes used; charged: bytes reserved but not used */
	SIMCUDA_KIND_GRAPH_POOL,
	SIMCUDA_KIND_EXTERNAL_MEMORY, /* cuImportExternalMemory; address: the handle */
	SIMCUDA_KIND_GRAPHICS_RESOURCE, /* cuGraphics*Register*; address: the handle */
	SIMCUDA_KIND_CONTEXT, /* address: the handle; charged: the cost of the context */
	SIMCUDA_KIND_GREEN_CONTEXT, /* address: the CUgreenCtx */
	/* one per context; object: its library, or 0; charged: code and variables */
	SIMCUDA_KIND_MODULE,
};

struct simcuda_item {
	enum simcuda_kind kind;
	int device; /* ordinal; -1: host memory, or no device */
	uint64_t address; /* the address or the handle; see the kind */
	uint64_t object; /* the object that the item belongs to; see the kind; otherwise 0 */
	uint64_t context; /* the CUcontext that the item ends with; 0: outlives every context */
	uint64_t size_bytes; /* as the program requested */
	uint64_t charged_bytes; /* the part of the device's used bytes that this item itself takes */
	/*
	 * How many references the program holds; 1 for kinds without a count. PHYSICAL: 0 once
	 * released.
	 */
	unsigned int references;
	/*
	 * PHYSICAL: number of mappings, bindings and tiles that keep the memory. If this and
	 * `references` are 0, an exported descriptor keeps it.
	 */
	unsigned int mappings;
};

/*
 * Lists all live items, in no particular order. Writes the first `capacity` items to `items`, which
 * may be NULL if the capacity is 0. Returns the number of live items. Any thread may call it. Needs
 * no context.
 */
size_t simcuda_list(struct simcuda_item *items, size_t capacity);
/* Returns the bytes of a device that this process uses, or 0 if there is no such device. */
size_t simcuda_used_bytes(int ordinal);

#endif
