/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_BOOKS_H
#define SIMCUDA_BOOKS_H

/*
 * The simulated driver's own books, for tests that compare a profiler's with them. These functions are
 * exported by the simulated libcuda.so.1 and by no real one: look them up with dlsym.
 *
 * For each device, the charged bytes of all items add up to simcuda_used_bytes, always. A function that
 * makes the driver keep something new adds a kind here and lists it (sim_*_list, called in books.c).
 */

#include <stddef.h>
#include <stdint.h>

enum simcuda_kind {
	SIMCUDA_KIND_DEVICE,          /* cuMemAlloc, cuMemAllocPitch */
	SIMCUDA_KIND_MANAGED,         /* cuMemAllocManaged */
	SIMCUDA_KIND_PINNED,          /* cuMemHostAlloc, cuMemAllocHost */
	SIMCUDA_KIND_REGISTERED,      /* cuMemHostRegister */
	SIMCUDA_KIND_POOL_BLOCK,      /* cuMemAllocAsync, cuMemAllocFromPoolAsync; object: its pool */
	SIMCUDA_KIND_GRAPH_BLOCK,     /* an allocation node of a launched graph */
	SIMCUDA_KIND_IPC,             /* cuIpcOpenMemHandle; references: opened so many times */
	SIMCUDA_KIND_EXTERNAL_BUFFER, /* cuExternalMemoryGetMappedBuffer; object: the external memory */
	SIMCUDA_KIND_IMPORTED_BLOCK,  /* cuMemPoolImportPointer; object: the imported pool */
	SIMCUDA_KIND_GRAPHICS_BUFFER, /* a mapped graphics resource's memory; object: the resource */
	SIMCUDA_KIND_ARRAY,           /* cuArrayCreate, cuArray3DCreate; address: the handle */
	SIMCUDA_KIND_MIPMAP,          /* cuMipmappedArrayCreate; object: whose memory it shows, else 0 */
	SIMCUDA_KIND_PHYSICAL,        /* cuMemCreate; address: the handle, which may have been released */
	SIMCUDA_KIND_IMPORTED_PHYSICAL, /* cuMemImportFromShareableHandle of another process's memory */
	SIMCUDA_KIND_MULTICAST,         /* cuMulticastCreate; address: the handle */
	SIMCUDA_KIND_RESERVATION,       /* cuMemAddressReserve */
	SIMCUDA_KIND_MAPPING,           /* cuMemMap; object: the handle */
	SIMCUDA_KIND_BINDING,           /* cuMulticastBind*; address: offset in the multicast `object` */
	SIMCUDA_KIND_TILES,             /* cuMemMapArrayAsync; address: the array; object: the memory handle */
	SIMCUDA_KIND_POOL,              /* size: bytes handed out; charged: bytes reserved */
	SIMCUDA_KIND_GRAPH_POOL,        /* of a device's graphs; size: bytes used; charged: reserved, unused */
	SIMCUDA_KIND_EXTERNAL_MEMORY,   /* cuImportExternalMemory; address: the handle */
	SIMCUDA_KIND_GRAPHICS_RESOURCE, /* cuGraphics*Register*; address: the handle */
	SIMCUDA_KIND_CONTEXT,           /* address: the handle; charged: what it costs */
	SIMCUDA_KIND_GREEN_CONTEXT,     /* address: the CUgreenCtx */
	SIMCUDA_KIND_MODULE,  /* in a context; object: its library, or 0; charged: code and variables */
};

struct simcuda_item {
	enum simcuda_kind kind;
	int device;             /* ordinal; -1: host memory, or of no device */
	uint64_t address;       /* or the handle, as the kind says */
	uint64_t object;        /* what it belongs to, as the kind says; else 0 */
	uint64_t context;       /* the CUcontext that it goes with; 0: it outlives all */
	uint64_t size_bytes;    /* as the program asked for */
	uint64_t charged_bytes; /* what of the device's used bytes is for this item itself */
	/* How often the program holds it; 1 where there is no count. PHYSICAL: 0 once it is released. */
	unsigned int references;
	unsigned int mappings;   /* PHYSICAL: mappings, bindings, tiles that keep it; none: a descriptor does */
};

/*
 * Everything that lives now, in no order. Writes the first `capacity` items to `items` (may be NULL with
 * a capacity of 0) and returns how many there are. Any thread; works without a context.
 */
size_t simcuda_list(struct simcuda_item *items, size_t capacity);
/* Bytes that this process uses of a device; 0: no such device. */
size_t simcuda_used_bytes(int ordinal);

#endif
