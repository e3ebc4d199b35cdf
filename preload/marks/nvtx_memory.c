/* SPDX-License-Identifier: MIT */
/*
 * The regions of a heap are its blocks. Regions of the process-wide heap (handle 0) are not blocks:
 * the driver handed out their memory, and the recorder already counts it. Names and permissions are
 * ignored.
 *
 * A region is identified by its address, or by the handle from another tool if the program asked
 * for a handle.
 */
#include "marks/nvtx_memory.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks/nvtx_getenv.h"
#include "marks/custom_heaps.h"
#include "marks/nvtx_names.h"

/* NVTX's interface: numbers and layouts are those of nvtxExtTypes.h and nvToolsExtMem.h. */
enum { MODULE_MEMORY = 1, COMPATIBLE = 0x0102, SEGMENT = 1, TYPE_VIRTUAL_ADDRESS = 1 };
enum { REFERENCE_POINTER = 1, REFERENCE_HANDLE = 2 };
enum { SLOT_FRESH, SLOT_DISABLED }; /* any other value is the address of a function */

struct segment {
	size_t id;
	size_t slot_count;
	intptr_t *slots;
};

struct module {
	uint16_t version;
	uint16_t size_bytes;
	uint16_t id;
	uint16_t compatible;
	size_t segment_count;
	struct segment *segments;
};

struct range {
	size_t size_bytes;
	const void *address;
};

struct heap {
	uint16_t compatible;
	uint16_t size_bytes;
	uint32_t reserved;
	uint32_t usage;
	uint32_t type;
	size_t range_bytes;
	const struct range *range;
	uint32_t category;
	uint32_t message_type;
	const void *message;
};

struct regions {
	uint16_t compatible;
	uint16_t size_bytes;
	uint32_t type;
	const void *heap;
	size_t count;
	size_t stride_bytes;
	const char *ranges;
	const void **ret_handles; /* may be NULL */
};

struct resized_regions {
	uint16_t compatible;
	uint16_t size_bytes;
	uint32_t type;
	size_t count;
	size_t stride_bytes;
	const char *ranges;
};

struct references {
	uint16_t compatible;
	uint16_t size_bytes;
	uint32_t type;
	size_t count;
	size_t stride_bytes;
	const char *items; /* pointers or handles */
};

typedef void function(void);

/*
 * The replaced functions. Columns: number in the module, name, return type, type of the second
 * parameter. The first parameter is the domain.
 */
#define HOOKS(HOOK) \
	HOOK(0, heap_register, const void *, const struct heap *) \
	HOOK(1, heap_unregister, void, const void *) \
	HOOK(2, heap_reset, void, const void *) \
	HOOK(3, regions_register, void, const struct regions *) \
	HOOK(4, regions_resize, void, const struct resized_regions *) \
	HOOK(5, regions_unregister, void, const struct references *)

#define DECLARE(number, name, type, parameter) \
	typedef type name##_function(const void *, parameter); \
	static name##_function on_##name;
HOOKS(DECLARE)

enum {
#define COUNT(number, name, type, parameter) HOOK_##name = number,
	HOOKS(COUNT) HOOK_COUNT
};

static function *const ours[HOOK_COUNT] = {
#define ROW(number, name, type, parameter) [number] = (function *)on_##name,
	HOOKS(ROW)
};

/* The other tool's functions. */
static function *_Atomic next[HOOK_COUNT];

#define NEXT(name) \
	((name##_function *)atomic_load_explicit(&next[HOOK_##name], memory_order_acquire))

/* Checks that a description has the known version and is long enough to read. */
#define IS_KNOWN(description) \
	((description) && (description)->compatible == COMPATIBLE && \
		(description)->size_bytes >= sizeof(*(description)))

static const void *on_heap_register(const void *domain, const struct heap *heap)
{
	heap_register_function *theirs = NEXT(heap_register);
	const void *handle = theirs ? theirs(domain, heap) : NULL;
	char buffer[GMT_NVTX_NAME_BYTES];
	struct gmt_nvtx_full_name name;
	struct range range = { 0 };
	uint32_t number;

	/* The end of the description may be missing: the fields after the range only name the heap. */
	if (!heap || heap->compatible != COMPATIBLE ||
		heap->size_bytes < offsetof(struct heap, category) || heap->type != TYPE_VIRTUAL_ADDRESS)
		return handle;
	if (heap->range && heap->range_bytes >= sizeof(range))
		range = *heap->range;
	gmt_nvtx_full_name_init(&name, domain,
		heap->size_bytes >= sizeof(*heap)
			? gmt_nvtx_text((int32_t)heap->message_type, heap->message, buffer)
			: NULL);
	number = gmt_custom_heap_begin(GMT_MARK_SOURCE_NVTX, name.text, name.length,
		(uintptr_t)range.address, range.size_bytes);
	/* NVTX's rule: the handle of a heap is the address of its memory. */
	if (!theirs)
		handle = range.address ? range.address : (const void *)(uintptr_t)number;
	gmt_custom_heap_set_handle(number, handle);
	return handle;
}

static void on_heap_unregister(const void *domain, const void *heap)
{
	heap_unregister_function *theirs = NEXT(heap_unregister);

	gmt_custom_heap_end(gmt_custom_heap_by_handle(heap));
	if (theirs)
		theirs(domain, heap);
}

static void on_heap_reset(const void *domain, const void *heap)
{
	heap_reset_function *theirs = NEXT(heap_reset);

	gmt_custom_heap_reset(gmt_custom_heap_by_handle(heap));
	if (theirs)
		theirs(domain, heap);
}

static void on_regions_register(const void *domain, const struct regions *regions)
{
	enum { BATCH_BLOCKS = 16 };
	regions_register_function *theirs = NEXT(regions_register);
	struct gmt_heap_block blocks[BATCH_BLOCKS];
	uint32_t heap;

	if (theirs)
		theirs(domain, regions);
	if (!IS_KNOWN(regions) || regions->type != TYPE_VIRTUAL_ADDRESS || !regions->ranges ||
		regions->stride_bytes < sizeof(struct range))
		return;
	heap = gmt_custom_heap_by_handle(regions->heap);
	for (size_t i = 0, filled = 0; i < regions->count; i++) {
		const struct range *range = (const void *)(regions->ranges + i * regions->stride_bytes);
		const void *handle = range->address;

		if (regions->ret_handles && theirs)
			handle = regions->ret_handles[i];
		else if (regions->ret_handles)
			regions->ret_handles[i] = handle;
		blocks[filled++] = (struct gmt_heap_block){ (uintptr_t)handle, range->size_bytes };
		if (filled == BATCH_BLOCKS || i + 1 == regions->count) {
			gmt_custom_heap_alloc(heap, blocks, filled, 0);
			filled = 0;
		}
	}
}

static void on_regions_resize(const void *domain, const struct resized_regions *regions)
{
	regions_resize_function *theirs = NEXT(regions_resize);

	if (IS_KNOWN(regions) && regions->type == TYPE_VIRTUAL_ADDRESS && regions->ranges &&
		regions->stride_bytes >= sizeof(struct range))
		for (size_t i = 0; i < regions->count; i++) {
			const struct range *range = (const void *)(regions->ranges + i * regions->stride_bytes);

			gmt_custom_heap_resize_block((uintptr_t)range->address, range->size_bytes);
		}
	if (theirs)
		theirs(domain, regions);
}

static void on_regions_unregister(const void *domain, const struct references *references)
{
	regions_unregister_function *theirs = NEXT(regions_unregister);

	if (IS_KNOWN(references) && references->items && references->stride_bytes >= sizeof(void *) &&
		(references->type == REFERENCE_POINTER || references->type == REFERENCE_HANDLE))
		for (size_t i = 0; i < references->count; i++)
			gmt_custom_heap_free(0,
				*(const uintptr_t *)(const void *)(references->items +
					i * references->stride_bytes));
	if (theirs)
		theirs(domain, references);
}

/*
 * Returns the function slots of this copy of the extension, or NULL if it is not the memory
 * extension.
 */
static intptr_t *slots_of(const struct module *module)
{
	if (!module || module->size_bytes < sizeof(*module) || module->id != MODULE_MEMORY ||
		module->compatible != COMPATIBLE || !module->segments)
		return NULL;
	for (size_t i = 0; i < module->segment_count; i++)
		if (module->segments[i].id == SEGMENT)
			return module->segments[i].slot_count >= HOOK_COUNT ? module->segments[i].slots : NULL;
	return NULL;
}

int gmt_nvtx_memory_init(void *module, gmt_nvtx_extension_function *tool)
{
	intptr_t *slots = gmt_nvtx_getenv_is_replaced() ? slots_of(module) : NULL;
	int has_tool = tool ? tool(module) : 0;

	if (!slots)
		return has_tool;
	for (unsigned i = 0; i < HOOK_COUNT; i++) {
		if (has_tool && slots[i] != SLOT_FRESH && slots[i] != SLOT_DISABLED &&
			slots[i] != (intptr_t)ours[i])
			/* Pairs with the acquire in NEXT. */
			atomic_store_explicit(&next[i], (function *)slots[i], memory_order_release);
		slots[i] = (intptr_t)ours[i];
	}
	return 1;
}
