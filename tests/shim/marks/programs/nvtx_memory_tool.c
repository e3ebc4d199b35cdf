/* SPDX-License-Identifier: MIT */
/* A second tool for NVTX's memory extension. It prints each call, and returns its own handles. */
#include <stdint.h>
#include <stdio.h>

enum { SLOTS_TAKEN = 9 };

struct module {
	uint16_t version, size, id, compatible;
	size_t segment_count;
	struct {
		size_t id, slot_count;
		intptr_t *slots;
	} *segments;
};

struct batch {
	char head[8];
	const void *heap;
	size_t count;
	char unused[16];
	const void **handles;
};

static char a_heap, regions[64], permissions;
static size_t given;

static const void *heap_register(const void *domain, const void *heap)
{
	(void)domain, (void)heap;
	printf("tool: heap\n");
	return &a_heap;
}

static void heap_end(const void *domain, const void *heap)
{
	(void)domain;
	printf("tool: %s ends\n", heap == &a_heap ? "my heap" : "another heap");
}

static void regions_register(const void *domain, const struct batch *batch)
{
	(void)domain;
	printf("tool: register %zu in %s\n", batch->count,
		batch->heap == &a_heap ? "my heap" : "another heap");
	for (size_t i = 0; batch->handles && i < batch->count; i++)
		batch->handles[i] = &regions[given++ % sizeof(regions)];
}

static void regions_change(const void *domain, const void *batch)
{
	(void)domain, (void)batch;
	printf("tool: regions\n");
}

static void *make_permissions(const void *domain, int flags)
{
	(void)domain, (void)flags;
	printf("tool: permissions\n");
	return &permissions;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
	const void *(*get_table)(uint32_t));
__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(struct module *module);

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t))
{
	(void)get_table;
	return 1;
}

int InitializeInjectionNvtxExtension(struct module *module)
{
	static const intptr_t mine[SLOTS_TAKEN] = {
		(intptr_t)heap_register,
		(intptr_t)heap_end,
		(intptr_t)heap_end,
		(intptr_t)regions_register,
		(intptr_t)regions_change,
		(intptr_t)regions_change,
		0,
		0,
		(intptr_t)make_permissions,
	};

	for (unsigned i = 0; i < SLOTS_TAKEN; i++)
		if (mine[i])
			module->segments->slots[i] = mine[i];
	return 1;
}
