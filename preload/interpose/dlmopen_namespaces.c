/* SPDX-License-Identifier: MIT */
#include "interpose/dlmopen_namespaces.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

#include "audit/audit_interface.h"
#include "interpose/elf_tables.h"
#include "runtime/hot_data.h"

enum {
	MAX_NAMESPACES = 16, /* glibc's limit */
	MAX_OBJECTS = 512,
	PATH_BYTES = 1024,
};

/*
 * The objects in other namespaces. Only the loader's callbacks write them, so one thread at a time.
 * `end` is written last. It is 0 in a free entry.
 */
static struct object {
	_Atomic uint64_t start;
	_Atomic uint64_t end;
	_Atomic long namespace_id;
} objects[MAX_OBJECTS];

/* The driver of each namespace. */
static struct driver {
	_Atomic(void *) original[GMT_HOOK_COUNT];
	_Atomic uint64_t base; /* written last; 0: no driver was seen in this namespace */
	char path[PATH_BYTES];
} drivers[MAX_NAMESPACES];

GMT_HOT_DATA _Atomic bool gmt_namespaces_are_used;
static _Atomic bool are_wrappers_allowed;
static _Atomic bool is_full; /* an object found no room in `objects` */

void gmt_namespaces_allow_wrappers(void)
{
	atomic_store_explicit(&are_wrappers_allowed, true, memory_order_release);
}

/* Returns the namespace of an address; 0: the program's own. */
static long namespace_of(const void *address)
{
	if (!atomic_load_explicit(&gmt_namespaces_are_used, memory_order_acquire))
		return 0;
	for (struct object *object = objects; object < objects + MAX_OBJECTS; object++) {
		/* Pairs with the release in gpumemtrace_audit_object. */
		uint64_t end = atomic_load_explicit(&object->end, memory_order_acquire);

		if ((uint64_t)address < end &&
			(uint64_t)address >= atomic_load_explicit(&object->start, memory_order_relaxed))
			return atomic_load_explicit(&object->namespace_id, memory_order_relaxed);
	}
	return 0;
}

bool gmt_namespaces_contain(const void *address)
{
	return namespace_of(address) != 0;
}

void *gmt_namespaces_original(enum gmt_hook hook, const void *caller)
{
	long namespace_id = namespace_of(caller);

	return namespace_id
		? atomic_load_explicit(&drivers[namespace_id].original[hook], memory_order_acquire)
		: NULL;
}

void *gmt_namespaces_any_original(enum gmt_hook hook)
{
	void *original = NULL;

	if (atomic_load_explicit(&gmt_namespaces_are_used, memory_order_acquire))
		for (long namespace_id = 1; namespace_id < MAX_NAMESPACES && !original; namespace_id++)
			original =
				atomic_load_explicit(&drivers[namespace_id].original[hook], memory_order_acquire);
	return original;
}

void *gmt_namespaces_pin(const void *function)
{
	long namespace_id = namespace_of(function);

	if (!namespace_id || !atomic_load_explicit(&drivers[namespace_id].base, memory_order_acquire))
		return NULL;
	return dlmopen(namespace_id, drivers[namespace_id].path, RTLD_LAZY | RTLD_NOLOAD);
}

__attribute__((visibility("default"))) gmt_audit_object gpumemtrace_audit_object;
void gpumemtrace_audit_object(long namespace_id, uint64_t start, uint64_t end, int is_unloaded)
{
	if (namespace_id <= 0 || namespace_id >= MAX_NAMESPACES)
		return;
	for (struct object *object = objects; object < objects + MAX_OBJECTS; object++) {
		uint64_t known_end = atomic_load_explicit(&object->end, memory_order_relaxed);

		if (is_unloaded && known_end == end)
			atomic_store_explicit(&object->end, 0, memory_order_release);
		if (is_unloaded || known_end)
			continue;
		atomic_store_explicit(&object->start, start, memory_order_relaxed);
		atomic_store_explicit(&object->namespace_id, namespace_id, memory_order_relaxed);
		atomic_store_explicit(&object->end, end, memory_order_release);
		return;
	}
	/* From now on, no caller gets a wrapper: an unknown caller would call the wrong driver. */
	if (!is_unloaded)
		atomic_store(&is_full, true);
}

static int take_first(const ElfW(Sym) * entry, void *argument)
{
	*(const ElfW(Sym) **)argument = entry;
	return 1;
}

/*
 * Stores all functions of a driver, unless they are stored already. A caller may also get functions
 * by cuGetProcAddress to which the loader never binds it.
 */
static void find_driver_functions(struct driver *driver, const struct gmt_audit_binding *binding)
{
	struct gmt_elf_tables tables;
	size_t i = 0;

	if (atomic_load(&driver->base) == binding->driver_base ||
		!gmt_elf_tables_read_at(binding->driver_base, binding->driver_dynamic, &tables))
		return;
	for (; binding->driver_path[i] && i < PATH_BYTES - 1; i++)
		driver->path[i] = binding->driver_path[i];
	driver->path[i] = 0;
	for (unsigned hook = GMT_HOOK_NONE + 1; hook < GMT_HOOK_COUNT; hook++) {
		const ElfW(Sym) *entry = NULL;

		if (gmt_hooks[hook].library != GMT_LIBRARY_CUDA)
			continue;
		gmt_elf_tables_visit(&tables, gmt_hooks[hook].symbol, take_first, &entry);
		atomic_store_explicit(&driver->original[hook],
			entry ? (void *)(tables.base + entry->st_value) : NULL, memory_order_release);
	}
	atomic_store_explicit(&driver->base, binding->driver_base, memory_order_release);
	atomic_store_explicit(&gmt_namespaces_are_used, true, memory_order_release);
}

__attribute__((visibility("default"))) gmt_audit_bind gpumemtrace_audit_bind;
void *gpumemtrace_audit_bind(const struct gmt_audit_binding *binding)
{
	enum gmt_hook hook = gmt_hook_by_symbol(binding->symbol);

	if (hook == GMT_HOOK_NONE || gmt_hooks[hook].library != GMT_LIBRARY_CUDA ||
		binding->namespace_id < 0 || binding->namespace_id >= MAX_NAMESPACES ||
		!atomic_load_explicit(&are_wrappers_allowed, memory_order_acquire) || atomic_load(&is_full))
		return NULL;
	if (!binding->namespace_id)
		return gmt_hooks[hook].wrapper;

	struct driver *driver = &drivers[binding->namespace_id];

	find_driver_functions(driver, binding);
	return atomic_load(&driver->original[hook]) ? gmt_hooks[hook].wrapper : NULL;
}
