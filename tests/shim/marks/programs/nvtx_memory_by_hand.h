/* SPDX-License-Identifier: MIT */
#ifndef NVTX_MEMORY_BY_HAND_H
#define NVTX_MEMORY_BY_HAND_H

/*
 * The parts of NVTX and its memory extension that a program has, for builds without the headers:
 * layouts, numbers, and a start that does the same as NVTX's. Only for nvtx_memory.c.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <wchar.h>

enum {
	NVTX_EXT_COMPATID_MEM = 0x0102,
	NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR = 1,
	NVTX_MEM_TYPE_VIRTUAL_ADDRESS = 1,
	NVTX_MEM_REGION_REF_TYPE_POINTER = 1,
	NVTX_MEM_REGION_REF_TYPE_HANDLE = 2,
	NVTX_MESSAGE_TYPE_ASCII = 1,
	NVTX_MESSAGE_TYPE_UNICODE = 2,
	MODULE_MEM = 1,
	MEMORY_SLOTS = 63,
	CORE_SLOTS = 16,
};

#define NVTX_MEM_HEAP_HANDLE_PROCESS_WIDE NULL

typedef void *nvtxDomainHandle_t;
typedef void *nvtxMemHeapHandle_t;
typedef void *nvtxMemRegionHandle_t;
typedef void *nvtxMemPermissionsHandle_t;

typedef union {
	const void *pointer;
	nvtxMemRegionHandle_t handle;
} nvtxMemRegionRef_t;

typedef struct {
	size_t size;
	const void *ptr;
} nvtxMemVirtualRangeDesc_t;

typedef struct {
	uint16_t extCompatID, structSize;
	uint32_t reserved0, usage, type;
	size_t typeSpecificDescSize;
	const void *typeSpecificDesc;
	uint32_t category, messageType;
	union {
		const char *ascii;
		const wchar_t *unicode;
	} message;
} nvtxMemHeapDesc_t;

typedef struct {
	uint16_t extCompatID, structSize;
	uint32_t regionType;
	nvtxMemHeapHandle_t heap;
	size_t regionCount, regionDescElementSize;
	const void *regionDescElements;
	nvtxMemRegionHandle_t *regionHandleElementsOut;
} nvtxMemRegionsRegisterBatch_t;

typedef struct {
	uint16_t extCompatID, structSize;
	uint32_t regionType;
	size_t regionDescCount, regionDescElementSize;
	const void *regionDescElements;
} nvtxMemRegionsResizeBatch_t;

typedef struct {
	uint16_t extCompatID, structSize;
	uint32_t refType;
	size_t refCount, refElementSize;
	const nvtxMemRegionRef_t *refElements;
} nvtxMemRegionsUnregisterBatch_t;

static intptr_t memory_slots[MEMORY_SLOTS];
static void (*core2[CORE_SLOTS])(void), (**core2_slots[CORE_SLOTS])(void);
static int is_started;

static int get_functions(int module, void (****ret_table)(void), unsigned *ret_count)
{
	if (module != 5)
		return 0;
	*ret_table = core2_slots;
	*ret_count = CORE_SLOTS;
	return 1;
}

static const void *get_table(uint32_t table)
{
	static const struct {
		size_t size;
		int (*get_functions)(int, void (****)(void), unsigned *);
	} callbacks = { sizeof(callbacks), get_functions };

	return table == 1 ? &callbacks : NULL;
}

/* Starts NVTX. If no tool takes the memory functions, clears them, so that they are not called. */
static void start(void)
{
	struct {
		size_t id, slots;
		intptr_t *functions;
	} segment = { 1, MEMORY_SLOTS, memory_slots };
	struct {
		uint16_t version, size, id, compatible;
		size_t segments;
		void *segment, *export, *more;
	} module = { 3, sizeof(module), MODULE_MEM, NVTX_EXT_COMPATID_MEM, 1, &segment, NULL, NULL };
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*initialize)(const void *(*)(uint32_t)) = NULL, (*extend)(void *) = NULL;

	is_started = 1;
	for (int i = 1; i < CORE_SLOTS; i++)
		core2_slots[i] = &core2[i];
	if (!library)
		return;
	*(void **)&initialize = dlsym(library, "InitializeInjectionNvtx2");
	*(void **)&extend = dlsym(library, "InitializeInjectionNvtxExtension");
	if (initialize)
		initialize(get_table);
	if (!extend || !extend(&module))
		for (int i = 0; i < MEMORY_SLOTS; i++)
			memory_slots[i] = 0;
}

static void *call(unsigned slot, const void *domain, const void *description)
{
	if (!is_started)
		start();
	return memory_slots[slot] > 1
		? ((void *(*)(const void *, const void *))memory_slots[slot])(domain, description)
		: NULL;
}

static nvtxDomainHandle_t nvtxDomainCreateA(const char *name)
{
	if (!is_started)
		start();
	return core2[12] ? ((void *(*)(const char *))core2[12])(name) : NULL;
}

#define nvtxMemHeapRegister(domain, description) call(0, domain, description)
#define nvtxMemHeapUnregister(domain, heap) call(1, domain, heap)
#define nvtxMemHeapReset(domain, heap) call(2, domain, heap)
#define nvtxMemRegionsRegister(domain, batch) call(3, domain, batch)
#define nvtxMemRegionsResize(domain, batch) call(4, domain, batch)
#define nvtxMemRegionsUnregister(domain, batch) call(5, domain, batch)
#define nvtxMemPermissionsCreate(domain, flags) call(8, domain, (void *)(intptr_t)(flags))

#endif
