/* SPDX-License-Identifier: MIT */
/*
 * A pool that reports its heaps and regions to NVTX. With HAS_NVTX_HEADERS it is compiled with
 * NVTX's own headers. Otherwise nvtx_memory_by_hand.h replaces them. Its arguments are commands:
 *
 *	alloc                      takes memory for the heaps that follow
 *	heap:NAME:SIZE             a heap in that memory, in the domain "our domain"; prints the
 *	                           address of its handle
 *	wheap:NAME:SIZE            the same, with a wide name
 *	register:OFFSET:SIZE:N     N adjacent regions
 *	handles:OFFSET:SIZE:N      the same, with handles; prints the addresses of the handles
 *	resize:OFFSET:SIZE         resizes a region
 *	unregister:OFFSET drop:I   ends a region, by its address or by the handle number I
 *	process:OFFSET:SIZE        a region of the process-wide heap
 *	array:OFFSET:SIZE          a region of another type, without an address
 *	later:OFFSET:SIZE          a region whose description has a later version
 *	permissions                a call that no tool answers; prints the result
 *	reset end                  resets or ends the heap
 */
#include <cuda_runtime_api.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#ifdef HAS_NVTX_HEADERS
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtMem.h>
#pragma GCC diagnostic pop
#else
#include "nvtx_memory_by_hand.h"
#endif

enum { MEMORY_BYTES = 1 << 20, HANDLES = 64, AT_ONCE = 64 };

static char *memory;
static nvtxDomainHandle_t domain;
static nvtxMemHeapHandle_t heap;
static nvtxMemRegionHandle_t handles[HANDLES];
static size_t handle_count;

static void begin_heap(const char *name, const wchar_t *wide, size_t size_bytes)
{
	nvtxMemVirtualRangeDesc_t range = { .size = size_bytes, .ptr = memory };
	nvtxMemHeapDesc_t description = {
		.extCompatID = NVTX_EXT_COMPATID_MEM,
		.structSize = sizeof(description),
		.usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR,
		.type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
		.typeSpecificDescSize = sizeof(range),
		.typeSpecificDesc = &range,
		.messageType = wide ? NVTX_MESSAGE_TYPE_UNICODE : NVTX_MESSAGE_TYPE_ASCII,
	};

	if (wide)
		description.message.unicode = wide;
	else
		description.message.ascii = name;
	heap = nvtxMemHeapRegister(domain, &description);
	/* The handle is the program's own address (0), or another tool made it (1). */
	printf("heap at %d\n", !heap ? -1 : (char *)heap == memory ? 0 : 1);
}

__attribute__((noinline)) static void register_regions(nvtxMemHeapHandle_t in, size_t offset,
	size_t size_bytes, size_t count, uint32_t type, uint16_t version, nvtxMemRegionHandle_t *to)
{
	nvtxMemVirtualRangeDesc_t ranges[AT_ONCE];
	nvtxMemRegionsRegisterBatch_t batch = {
		.extCompatID = version,
		.structSize = sizeof(batch),
		.regionType = type,
		.heap = in,
		.regionCount = count,
		.regionDescElementSize = sizeof(*ranges),
		.regionDescElements = ranges,
		.regionHandleElementsOut = to,
	};

	for (size_t i = 0; i < count; i++)
		ranges[i] = (nvtxMemVirtualRangeDesc_t){ .size = size_bytes,
			.ptr = memory + offset + i * size_bytes };
	nvtxMemRegionsRegister(domain, &batch);
}

static void resize_region(size_t offset, size_t size_bytes)
{
	nvtxMemVirtualRangeDesc_t range = { .size = size_bytes, .ptr = memory + offset };
	nvtxMemRegionsResizeBatch_t batch = {
		.extCompatID = NVTX_EXT_COMPATID_MEM,
		.structSize = sizeof(batch),
		.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
		.regionDescCount = 1,
		.regionDescElementSize = sizeof(range),
		.regionDescElements = &range,
	};

	nvtxMemRegionsResize(domain, &batch);
}

static void unregister_region(uint32_t type, nvtxMemRegionRef_t region)
{
	nvtxMemRegionsUnregisterBatch_t batch = {
		.extCompatID = NVTX_EXT_COMPATID_MEM,
		.structSize = sizeof(batch),
		.refType = type,
		.refCount = 1,
		.refElementSize = sizeof(region),
		.refElements = &region,
	};

	nvtxMemRegionsUnregister(domain, &batch);
}

static void register_with_handles(size_t offset, size_t size_bytes, size_t count)
{
	register_regions(heap, offset, size_bytes, count, NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
		NVTX_EXT_COMPATID_MEM, handles + handle_count);
	for (size_t i = 0; i < count; i++, handle_count++)
		printf("handle at %td\n",
			(char *)handles[handle_count] >= memory &&
					(char *)handles[handle_count] < memory + MEMORY_BYTES
				? (char *)handles[handle_count] - memory
				: -1);
}

static void use_regions(const char *verb, size_t offset, size_t size_bytes, size_t count)
{
	enum { ADDRESS = NVTX_MEM_TYPE_VIRTUAL_ADDRESS, KNOWN = NVTX_EXT_COMPATID_MEM, ARRAY = 0x11 };

	if (strcmp(verb, "register") == 0)
		register_regions(heap, offset, size_bytes, count ? count : 1, ADDRESS, KNOWN, NULL);
	else if (strcmp(verb, "handles") == 0)
		register_with_handles(offset, size_bytes, count ? count : 1);
	else if (strcmp(verb, "process") == 0)
		register_regions(NVTX_MEM_HEAP_HANDLE_PROCESS_WIDE, offset, size_bytes, 1, ADDRESS, KNOWN,
			NULL);
	else if (strcmp(verb, "array") == 0)
		register_regions(heap, offset, size_bytes, 1, ARRAY, KNOWN, NULL);
	else if (strcmp(verb, "later") == 0)
		register_regions(heap, offset, size_bytes, 1, ADDRESS, KNOWN + 1, NULL);
	else if (strcmp(verb, "resize") == 0)
		resize_region(offset, size_bytes);
	else if (strcmp(verb, "unregister") == 0)
		unregister_region(NVTX_MEM_REGION_REF_TYPE_POINTER,
			(nvtxMemRegionRef_t){ .pointer = memory + offset });
	else if (strcmp(verb, "drop") == 0)
		unregister_region(NVTX_MEM_REGION_REF_TYPE_HANDLE,
			(nvtxMemRegionRef_t){ .handle = handles[offset] });
}

static void use_heap(const char *verb, const char *name, size_t size_bytes)
{
	wchar_t wide[256];

	if (strcmp(verb, "heap") == 0) {
		begin_heap(name, NULL, size_bytes);
	} else if (strcmp(verb, "wheap") == 0) {
		mbstowcs(wide, name, 255);
		begin_heap(NULL, wide, size_bytes);
	} else if (strcmp(verb, "reset") == 0) {
		nvtxMemHeapReset(domain, heap);
	} else if (strcmp(verb, "end") == 0) {
		nvtxMemHeapUnregister(domain, heap);
	} else if (strcmp(verb, "permissions") == 0) {
		printf("permissions %s\n", nvtxMemPermissionsCreate(domain, 0) ? "there" : "(nil)");
	} else if (strcmp(verb, "alloc") == 0 && cudaMalloc((void **)&memory, MEMORY_BYTES)) {
		exit(1);
	}
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	setlocale(LC_ALL, "C.UTF-8");
	domain = nvtxDomainCreateA("our domain");
	for (int i = 1; i < argc; i++) {
		char *rest = strdup(argv[i]), *verb = strsep(&rest, ":");
		const char *words[3] = { "", "0", "0" };

		for (int word = 0; word < 3 && rest; word++)
			words[word] = strsep(&rest, ":");
		use_heap(verb, words[0], strtoul(words[1], NULL, 0));
		use_regions(verb, strtoul(words[0], NULL, 0), strtoul(words[1], NULL, 0),
			strtoul(words[2], NULL, 0));
		/* The recorder must not keep the program's own string. */
		memset(verb, 'X', strlen(argv[i]));
		free(verb);
	}
	return 0;
}
