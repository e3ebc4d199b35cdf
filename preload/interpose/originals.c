/* SPDX-License-Identifier: MIT */
#include "interpose/originals.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/recorder_stack.h"
#include "runtime/initialize.h"
#include "interpose/dlerror.h"
#include "interpose/patched_originals.h"
#include "interpose/libc_dlsym.h"
#include "interpose/dlmopen_namespaces.h"
#include "interpose/loaded_objects.h"
#include "interpose/elf_symbols.h"
#include "interpose/elf_tables.h"
#include "runtime/hot_data.h"
#include "runtime/stages.h"

_Atomic(void *) gmt_original_of_driver[GMT_HOOK_COUNT];

enum { CALLERS = 32, FIRST_CALLERS = 1024 };

struct caller {
	_Atomic uint32_t version;
	_Atomic uint64_t start;
	_Atomic uint64_t end;
	_Atomic(void *) original;
	_Atomic uint32_t generation;
};

static struct {
	/*
	 * The next definition of each name after this library in the global scope, when the process
	 * starts: of another preload, or of a library to which the program was linked. The constructor
	 * looks it up, because the look-up takes the loader's lock.
	 */
	void *next_at_start[GMT_HOOK_COUNT];
	/* That definition is a driver function outside of the driver: another preload interposes it. */
	bool is_interposed[GMT_HOOK_COUNT];
	/* Position + 1 of the first object before this library that exports the name; 0: none */
	uint32_t defined_before[GMT_HOOK_COUNT];
	/* Stored by a look-up that sees the function itself. For the driver, this value is final. */
	_Atomic(void *) stored[GMT_HOOK_COUNT];
	/*
	 * For each hook, a cache of calling objects. A thread that writes needs `write_lock`; without
	 * the lock it continues and does not cache. A thread that reads takes no lock: `version` is odd
	 * while an entry changes.
	 */
	struct caller callers[GMT_HOOK_COUNT][CALLERS];
	_Atomic uint32_t next_replaced[GMT_HOOK_COUNT];
	atomic_flag write_lock;
	/*
	 * The entries of gmt_original_first_callers, taken one by one under `write_lock`. An entry is
	 * never reused, because another thread may be reading it.
	 */
	struct gmt_original_caller first_callers[FIRST_CALLERS];
	uint32_t first_callers_taken;
} originals = { .write_lock = ATOMIC_FLAG_INIT };

GMT_HOT_DATA _Atomic uint32_t gmt_original_generation;

struct gmt_original_caller *_Atomic gmt_original_first_callers[GMT_HOOK_COUNT];

static bool is_in_driver(const void *function)
{
	struct gmt_object object;

	return gmt_object_find(function, &object) &&
		gmt_path_name_begins_with(object.path, "libcuda.so");
}

static int stop_at_first(const ElfW(Sym) * entry, void *argument)
{
	(void)entry;
	(void)argument;
	return 1;
}

/* The state of gmt_original_scan_global_scope, which visits the objects in the loader's order. */
struct scope_scan {
	uint32_t order;
	bool is_defined_after[GMT_HOOK_COUNT];
};

static int scan_object(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct scope_scan *scan = argument;
	struct gmt_elf_tables tables;
	uint32_t self = gmt_object_self()->order, order = scan->order++;

	(void)size;
	if (order == self || !gmt_elf_tables_read(info, &tables))
		return 0;
	for (unsigned hook = GMT_HOOK_NONE + 1; hook < GMT_HOOK_COUNT; hook++) {
		bool *defined_after = &scan->is_defined_after[hook];

		if ((order < self ? originals.defined_before[hook] : *defined_after) ||
			!gmt_elf_tables_visit(&tables, gmt_hooks[hook].symbol, stop_at_first, NULL))
			continue;
		if (order < self)
			originals.defined_before[hook] = order + 1;
		else
			*defined_after = true;
	}
	return 0;
}

void gmt_original_scan_global_scope(void)
{
	static struct scope_scan scan;

	gmt_objects_visit(scan_object, &scan);
	for (unsigned hook = GMT_HOOK_NONE + 1; hook < GMT_HOOK_COUNT; hook++) {
		/*
		 * Not for names that no object defines: such a look-up takes the loader a microsecond, in
		 * every process and for each hook.
		 */
		void *next = scan.is_defined_after[hook]
			? gmt_original_dlsym(RTLD_NEXT, gmt_hooks[hook].symbol)
			: NULL;

		originals.next_at_start[hook] = next && gmt_object_self_has((uint64_t)next) ? NULL : next;
		originals.is_interposed[hook] = gmt_hooks[hook].library == GMT_LIBRARY_CUDA &&
			originals.next_at_start[hook] && !is_in_driver(originals.next_at_start[hook]);
		/* Another constructor may have looked up the function, and stored it, before. */
		if (originals.is_interposed[hook])
			atomic_store_explicit(&gmt_original_of_driver[hook], NULL, memory_order_relaxed);
	}
}

bool gmt_original_is_defined_before(enum gmt_hook hook, uint32_t order)
{
	return originals.defined_before[hook] > order;
}

void *gmt_original_next_at_start(enum gmt_hook hook)
{
	return originals.next_at_start[hook];
}

void *gmt_original_in_other_preload(enum gmt_hook hook)
{
	return originals.is_interposed[hook] ? originals.next_at_start[hook] : NULL;
}

bool gmt_path_is_runtime(const char *path)
{
	/* Wheels that contain a copy rename it: libcudart-8b6a.so.12. */
	return gmt_path_name_begins_with(path, "libcudart.") ||
		gmt_path_name_begins_with(path, "libcudart-");
}

/* Resets the lock in the child of a fork: the thread that held it does not exist there. */
static void after_fork(void)
{
	atomic_flag_clear(&originals.write_lock);
}

void *gmt_original_dlsym(void *handle, const char *name)
{
	bool is_held = gmt_dlerror_hold();
	void *found =
		gmt_libc.dlsym ? gmt_patched_originals_undo(gmt_libc.dlsym(handle, name), name) : NULL;

	gmt_dlerror_release(is_held);
	return found;
}

int gmt_original_dlclose(void *handle)
{
	static int (*_Atomic original)(void *);
	int (*next)(void *) = atomic_load_explicit(&original, memory_order_relaxed);

	if (!next) {
		*(void **)&next = gmt_original_dlsym(RTLD_NEXT, "dlclose");
		atomic_store_explicit(&original, next, memory_order_relaxed);
	}
	return next ? next(handle) : -1;
}

void gmt_original_store(enum gmt_hook hook, void *original)
{
	/*
	 * A driver that was linked without -Bsymbolic may return the wrapper. Calling that as the
	 * original would recurse without end.
	 */
	if (gmt_object_self_has((uint64_t)original) || gmt_namespaces_contain(original))
		return;
	/* Pairs with the acquire in gmt_original_stored: the thread also sees the loaded driver. */
	atomic_store_explicit(&originals.stored[hook], original, memory_order_release);
	if (gmt_hooks[hook].library == GMT_LIBRARY_CUDA && !originals.is_interposed[hook])
		atomic_store_explicit(&gmt_original_of_driver[hook], original, memory_order_release);
}

void *gmt_original_stored(enum gmt_hook hook)
{
	return atomic_load_explicit(&originals.stored[hook], memory_order_acquire);
}

bool gmt_original_store_runtime(enum gmt_hook hook, void *original)
{
	void *expected = NULL;

	/* A program that is linked to another runtime calls that runtime through the same wrapper. */
	if (originals.next_at_start[hook] && originals.next_at_start[hook] != original)
		return gmt_object_self_has((uint64_t)original);
	return gmt_object_self_has((uint64_t)original) ||
		atomic_compare_exchange_strong(&originals.stored[hook], &expected, original) ||
		expected == original;
}

void gmt_original_forget_callers(void)
{
	atomic_fetch_add_explicit(&gmt_original_generation, 1, memory_order_release);
}

static void *find_cached(enum gmt_hook hook, uint64_t address)
{
	uint32_t now = atomic_load_explicit(&gmt_original_generation, memory_order_acquire);

	for (struct caller *entry = originals.callers[hook]; entry < originals.callers[hook] + CALLERS;
		entry++) {
		/*
		 * Pairs with the release stores in cache_caller: two equal even versions enclose one
		 * consistent entry.
		 */
		uint32_t version = atomic_load_explicit(&entry->version, memory_order_acquire);
		uint64_t start = atomic_load_explicit(&entry->start, memory_order_relaxed);
		uint64_t end = atomic_load_explicit(&entry->end, memory_order_relaxed);
		void *original = atomic_load_explicit(&entry->original, memory_order_relaxed);
		uint32_t entry_generation = atomic_load_explicit(&entry->generation, memory_order_relaxed);

		if (address < start || address >= end || entry_generation != now || (version & 1))
			continue;
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&entry->version, memory_order_relaxed) == version)
			return original;
	}
	return NULL;
}

/*
 * Publishes an entry of gmt_original_first_callers, if the hook has none yet. Not for driver
 * functions: a caller's driver function depends on more than the loaded objects. The caller holds
 * `write_lock`.
 */
static void publish_first_caller(enum gmt_hook hook, const struct gmt_object *object,
	uint32_t caller_generation, void *original)
{
	const struct gmt_original_caller *published =
		atomic_load_explicit(&gmt_original_first_callers[hook], memory_order_relaxed);

	if ((published && published->generation == caller_generation) ||
		originals.first_callers_taken == FIRST_CALLERS ||
		gmt_hooks[hook].library == GMT_LIBRARY_CUDA)
		return;

	struct gmt_original_caller *caller = &originals.first_callers[originals.first_callers_taken++];

	*caller = (struct gmt_original_caller){
		.start = object->start,
		.bytes = object->end - object->start,
		.original = original,
		.generation = caller_generation,
	};
	/* Pairs with the acquire in gmt_original_outside_driver. */
	atomic_store_explicit(&gmt_original_first_callers[hook], caller, memory_order_release);
}

/* Caches the original function of a calling object. */
static void cache_caller(enum gmt_hook hook, const struct gmt_object *object,
	uint32_t caller_generation, void *original)
{
	if (atomic_flag_test_and_set_explicit(&originals.write_lock, memory_order_acquire))
		return;

	struct caller *entry =
		&originals.callers[hook][atomic_fetch_add(&originals.next_replaced[hook], 1) % CALLERS];
	uint32_t version = atomic_load_explicit(&entry->version, memory_order_relaxed);

	atomic_store_explicit(&entry->version, version + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&entry->start, object->start, memory_order_relaxed);
	atomic_store_explicit(&entry->end, object->end, memory_order_relaxed);
	atomic_store_explicit(&entry->original, original, memory_order_relaxed);
	atomic_store_explicit(&entry->generation, caller_generation, memory_order_relaxed);
	atomic_store_explicit(&entry->version, version + 2, memory_order_release);
	publish_first_caller(hook, object, caller_generation, original);
	atomic_flag_clear_explicit(&originals.write_lock, memory_order_release);
}

/* Returns whether both functions are in CUDA runtimes. */
static bool are_both_runtimes(const void *a, const void *b)
{
	struct gmt_object first, second;

	if (!gmt_object_find(a, &first) || !gmt_object_find(b, &second))
		return false;
	return gmt_path_is_runtime(first.path) && gmt_path_is_runtime(second.path);
}

/*
 * Finds the function to which the caller would have been bound. A library after the recorder in the
 * global scope comes first. But if that library is another CUDA runtime, the caller's own runtime
 * is right: symbol versions separate two runtimes, and RTLD_NEXT ignores versions.
 */
static void *find_bound(enum gmt_hook hook, const struct gmt_object *object)
{
	void *next = originals.next_at_start[hook];
	void *own =
		object->is_program ? NULL : gmt_elf_symbol_in_scope_of(object, gmt_hooks[hook].symbol);

	if (own && next && own != next && are_both_runtimes(own, next))
		return own;
	return next ? next : own;
}

/*
 * Finds the function in any loaded object. This is the last resort. After a tail call (an optimized
 * `return cudaMalloc(...)`) the return address is in the caller's caller, and the scope of that
 * object may lack the function.
 */
static void *find_anywhere(enum gmt_hook hook)
{
	static const char *const files[][3] = {
		[GMT_LIBRARY_CUDA] = { "libcuda.so" },
		[GMT_LIBRARY_CUDART] = { "libcudart.", "libcudart-" },
		[GMT_LIBRARY_C10] = { "libc10" },
	};
	void *found = gmt_elf_symbol_in_objects(files[gmt_hooks[hook].library], gmt_hooks[hook].symbol);

	return found ? found : gmt_elf_symbol_in_objects(NULL, gmt_hooks[hook].symbol);
}

/*
 * Finds a driver function that another preload also exports. A caller that was linked to the driver
 * gets the preload's function. The preload itself gets the driver's function, and so does a caller
 * that came by dlsym or cuGetProcAddress.
 */
static void *find_interposed(enum gmt_hook hook, const struct gmt_object *object)
{
	const char *symbol = gmt_hooks[hook].symbol;
	void *driver = gmt_original_stored(hook);

	if (!gmt_elf_symbol_is_defined_by(object, symbol) &&
		gmt_elf_symbol_is_referenced_by(object, symbol))
		return originals.next_at_start[hook];
	return driver ? driver
				  : gmt_elf_symbol_in_objects((const char *const[]){ "libcuda.so", NULL }, symbol);
}

static void *find_uncached_on_this_stack(enum gmt_hook hook, const void *caller)
{
	uint32_t caller_generation =
		atomic_load_explicit(&gmt_original_generation, memory_order_acquire);
	struct gmt_object object;
	bool has_object = gmt_object_find(caller, &object);
	void *original = NULL;

	/* Code outside of all objects was generated at run time. */
	if (has_object)
		original = originals.is_interposed[hook] ? find_interposed(hook, &object)
												 : find_bound(hook, &object);
	else if (!originals.is_interposed[hook])
		original = originals.next_at_start[hook];
	if (!original)
		original = gmt_original_stored(hook);
	if (!original)
		original = find_anywhere(hook);
	if (!original)
		return gmt_namespaces_any_original(hook);
	if (original && has_object)
		cache_caller(hook, &object, caller_generation, original);
	if (original && gmt_hooks[hook].library == GMT_LIBRARY_CUDA && !originals.is_interposed[hook])
		gmt_original_store(hook, original);
	return original;
}

struct search {
	enum gmt_hook hook;
	const void *caller;
	void *original;
};

/* Runs on a recorder stack, because the paths of objects are long. */
static void search_work(void *argument)
{
	struct search *search = argument;

	search->original = find_uncached_on_this_stack(search->hook, search->caller);
}

static void *find_uncached(enum gmt_hook hook, const void *caller)
{
	struct search search = { hook, caller, NULL };

	if (!gmt_recorder_stack_run(search_work, &search))
		search.original = find_uncached_on_this_stack(hook, caller);
	return search.original;
}

void *gmt_original_find(enum gmt_hook hook, const void *caller)
{
	void *original = NULL;

	/* The first call of every wrapper calls this function. */
	gmt_initialize();
	if (__builtin_expect(atomic_load_explicit(&gmt_namespaces_are_used, memory_order_acquire), 0))
		original = gmt_namespaces_original(hook, caller);
	if (!original && gmt_hooks[hook].library == GMT_LIBRARY_CUDA && !originals.is_interposed[hook])
		original = gmt_original_stored(hook);
	if (!original)
		original = find_cached(hook, (uint64_t)caller);
	return original ? original : find_uncached(hook, caller);
}

GMT_AT_STAGE(after_fork, INTERPOSE, after_fork);
