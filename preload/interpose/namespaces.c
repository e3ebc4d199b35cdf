/* SPDX-License-Identifier: MIT */
#include "interpose/namespaces.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

#include "audit/audit_interface.h"
#include "interpose/objects.h"
#include "interpose/elf_tables.h"
#include "runtime/hot_data.h"

enum { SPACES = 16, OBJECTS = 512, PATH_BYTES = 1024 }; /* glibc supports 16 namespaces */

/*
 * Written only in the loader's callbacks, by one thread at a time. `end` is written last; it is 0
 * while the entry is free.
 */
static struct object {
	_Atomic uint64_t start;
	_Atomic uint64_t end;
	_Atomic long space;
} objects[OBJECTS];

static struct driver {
	_Atomic(void *) real[GMT_HOOK_COUNT];
	_Atomic uint64_t base; /* written last; 0: no driver was seen in this namespace */
	char path[PATH_BYTES];
} drivers[SPACES];

GMT_HOT_DATA _Atomic bool gmt_namespaces_are_used;
static _Atomic bool is_open, is_full;

void gmt_namespaces_open(void)
{
	atomic_store_explicit(&is_open, true, memory_order_release);
}

/* Returns the namespace of an address; 0: ours. */
static long space_of(const void *address)
{
	if (!atomic_load_explicit(&gmt_namespaces_are_used, memory_order_acquire))
		return 0;
	for (struct object *object = objects; object < objects + OBJECTS; object++) {
		/* Pairs with the release in gpumemtrace_audit_object. */
		uint64_t end = atomic_load_explicit(&object->end, memory_order_acquire);

		if ((uint64_t)address < end &&
			(uint64_t)address >= atomic_load_explicit(&object->start, memory_order_relaxed))
			return atomic_load_explicit(&object->space, memory_order_relaxed);
	}
	return 0;
}

bool gmt_namespaces_has(const void *address)
{
	return space_of(address) != 0;
}

void *gmt_namespaces_real(enum gmt_hook hook, const void *caller)
{
	long space = space_of(caller);

	return space ? atomic_load_explicit(&drivers[space].real[hook], memory_order_acquire) : NULL;
}

void *gmt_namespaces_any(enum gmt_hook hook)
{
	void *real = NULL;

	if (atomic_load_explicit(&gmt_namespaces_are_used, memory_order_acquire))
		for (long space = 1; space < SPACES && !real; space++)
			real = atomic_load_explicit(&drivers[space].real[hook], memory_order_acquire);
	return real;
}

void *gmt_namespaces_pin(const void *function)
{
	long space = space_of(function);

	if (!space || !atomic_load_explicit(&drivers[space].base, memory_order_acquire))
		return NULL;
	return dlmopen(space, drivers[space].path, RTLD_LAZY | RTLD_NOLOAD);
}

__attribute__((visibility("default"))) gmt_audit_object gpumemtrace_audit_object;
void gpumemtrace_audit_object(long space, uint64_t start, uint64_t end, int is_gone)
{
	if (space <= 0 || space >= SPACES)
		return;
	for (struct object *object = objects; object < objects + OBJECTS; object++) {
		uint64_t held = atomic_load_explicit(&object->end, memory_order_relaxed);

		if (is_gone && held == end)
			atomic_store_explicit(&object->end, 0, memory_order_release);
		if (is_gone || held)
			continue;
		atomic_store_explicit(&object->start, start, memory_order_relaxed);
		atomic_store_explicit(&object->space, space, memory_order_relaxed);
		atomic_store_explicit(&object->end, end, memory_order_release);
		return;
	}
	/* The table is full. An unknown caller would get another namespace's driver. */
	if (!is_gone)
		atomic_store(&is_full, true);
}

static int take_first(const ElfW(Sym) * entry, void *argument)
{
	*(const ElfW(Sym) **)argument = entry;
	return 1;
}

/*
 * Learns all functions at once: a caller may get functions by cuGetProcAddress to which it was not
 * bound.
 */
static void learn(struct driver *driver, const struct gmt_audit_binding *binding)
{
	struct gmt_symbol_tables tables;
	size_t i = 0;

	if (atomic_load(&driver->base) == binding->driver_base ||
		!gmt_symbol_tables_read_at(binding->driver_base, binding->driver_dynamic, &tables))
		return;
	for (; binding->driver_path[i] && i < PATH_BYTES - 1; i++)
		driver->path[i] = binding->driver_path[i];
	driver->path[i] = 0;
	for (unsigned hook = GMT_HOOK_NONE + 1; hook < GMT_HOOK_COUNT; hook++) {
		const ElfW(Sym) *entry = NULL;

		if (gmt_hooks[hook].library != GMT_LIBRARY_CUDA)
			continue;
		gmt_symbol_visit(&tables, gmt_hooks[hook].symbol, take_first, &entry);
		atomic_store_explicit(&driver->real[hook],
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
		binding->space < 0 || binding->space >= SPACES ||
		!atomic_load_explicit(&is_open, memory_order_acquire) || atomic_load(&is_full))
		return NULL;
	if (!binding->space)
		return gmt_hooks[hook].wrapper;

	struct driver *driver = &drivers[binding->space];

	learn(driver, binding);
	return atomic_load(&driver->real[hook]) ? gmt_hooks[hook].wrapper : NULL;
}
