/* SPDX-License-Identifier: MIT */
#include "interpose/originals.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/recorder_stack.h"
#include "runtime/load.h"
#include "interpose/dlerror.h"
#include "interpose/patched_originals.h"
#include "interpose/libc_dlsym.h"
#include "interpose/namespaces.h"
#include "interpose/objects.h"
#include "interpose/elf_symbols.h"
#include "interpose/elf_tables.h"
#include "runtime/hot_data.h"
#include "runtime/stages.h"

_Atomic(void *) gmt_original_for_all[GMT_HOOK_COUNT];

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
	 * starts. It comes from another preload, or from a library to which the program was linked.
	 * Found once, in the constructor, because the look-up takes the loader's lock.
	 */
	void *next_at_start[GMT_HOOK_COUNT];
	/*
	 * Whether that definition is a driver function outside of a driver: another preload interposes
	 * it.
	 */
	bool is_interposed[GMT_HOOK_COUNT];
	/*
	 * 1 + the position of the first object before ours that also exports the name; 0: no such
	 * object.
	 */
	uint32_t defined_before[GMT_HOOK_COUNT];
	/* Set by routes that see the function itself. For the driver, this value is final. */
	_Atomic(void *) known[GMT_HOOK_COUNT];
	/*
	 * Per hook, the known calling objects. A writer needs `write_lock`; a thread that does not get
	 * it continues without the cache. Readers take no lock: `version` is odd while an entry
	 * changes.
	 */
	struct caller callers[GMT_HOOK_COUNT][CALLERS];
	_Atomic uint32_t next_victim[GMT_HOOK_COUNT];
	atomic_flag write_lock;
	/*
	 * Memory for gmt_original_first_callers. Entries are taken one by one under `write_lock`. They
	 * are never freed, because another thread may be reading them.
	 */
	struct gmt_original_caller first_callers[FIRST_CALLERS];
	uint32_t first_callers_taken;
} originals = { .write_lock = ATOMIC_FLAG_INIT };

GMT_HOT_DATA _Atomic uint32_t gmt_original_generation;

struct gmt_original_caller *_Atomic gmt_original_first_callers[GMT_HOOK_COUNT];

static bool is_in_driver(const void *function)
{
	struct gmt_object object;

	return gmt_object_of(function, &object) && gmt_path_name_begins_with(object.path, "libcuda.so");
}

static int stop_at_first(const ElfW(Sym) * entry, void *argument)
{
	(void)entry;
	(void)argument;
	return 1;
}

/*
 * The state of gmt_original_scan_scope while it goes through the loader's list: first the program
 * and the preloads before ours, then the rest.
 */
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

void gmt_original_scan_scope(void)
{
	static struct scope_scan scan;

	gmt_objects_visit(scan_object, &scan);
	for (unsigned hook = GMT_HOOK_NONE + 1; hook < GMT_HOOK_COUNT; hook++) {
		/*
		 * The loader needs one microsecond to find that a name does not exist. Every process that
		 * starts would pay that for each hook.
		 */
		void *next = scan.is_defined_after[hook]
			? gmt_original_dlsym(RTLD_NEXT, gmt_hooks[hook].symbol)
			: NULL;

		originals.next_at_start[hook] = next && gmt_object_self_has((uint64_t)next) ? NULL : next;
		originals.is_interposed[hook] = gmt_hooks[hook].library == GMT_LIBRARY_CUDA &&
			originals.next_at_start[hook] && !is_in_driver(originals.next_at_start[hook]);
		/* Other constructors may have looked up the function earlier. */
		if (originals.is_interposed[hook])
			atomic_store_explicit(&gmt_original_for_all[hook], NULL, memory_order_relaxed);
	}
}

bool gmt_original_is_defined_before(enum gmt_hook hook, uint32_t order)
{
	return originals.defined_before[hook] > order;
}

void *gmt_original_next(enum gmt_hook hook)
{
	return originals.next_at_start[hook];
}

void *gmt_original_interposer(enum gmt_hook hook)
{
	return originals.is_interposed[hook] ? originals.next_at_start[hook] : NULL;
}

bool gmt_is_runtime(const char *path)
{
	/* Wheels that contain a copy rename it: libcudart-8b6a.so.12. */
	return gmt_path_name_begins_with(path, "libcudart.") ||
		gmt_path_name_begins_with(path, "libcudart-");
}

/* Call in the child of a fork: a thread that does not exist there may have held a lock. */
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

void gmt_original_set(enum gmt_hook hook, void *original)
{
	/*
	 * A driver that is not linked to prefer its own symbols returns our function. Storing it would
	 * cause an endless recursion.
	 */
	if (gmt_object_self_has((uint64_t)original) || gmt_namespaces_contain(original))
		return;
	/*
	 * Pairs with the acquire in gmt_original_known: a thread that sees the pointer sees the loaded
	 * driver.
	 */
	atomic_store_explicit(&originals.known[hook], original, memory_order_release);
	if (gmt_hooks[hook].library == GMT_LIBRARY_CUDA && !originals.is_interposed[hook])
		atomic_store_explicit(&gmt_original_for_all[hook], original, memory_order_release);
}

void *gmt_original_known(enum gmt_hook hook)
{
	return atomic_load_explicit(&originals.known[hook], memory_order_acquire);
}

bool gmt_original_adopt(enum gmt_hook hook, void *original)
{
	void *expected = NULL;

	/* A program that was linked to another runtime calls that runtime through the same wrapper. */
	if (originals.next_at_start[hook] && originals.next_at_start[hook] != original)
		return gmt_object_self_has((uint64_t)original);
	return gmt_object_self_has((uint64_t)original) ||
		atomic_compare_exchange_strong(&originals.known[hook], &expected, original) ||
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
		 * Pairs with the release stores in remember(): two equal even versions enclose one
		 * consistent entry.
		 */
		uint32_t version = atomic_load_explicit(&entry->version, memory_order_acquire);
		uint64_t start = atomic_load_explicit(&entry->start, memory_order_relaxed);
		uint64_t end = atomic_load_explicit(&entry->end, memory_order_relaxed);
		void *original = atomic_load_explicit(&entry->original, memory_order_relaxed);
		uint32_t caller_generation = atomic_load_explicit(&entry->generation, memory_order_relaxed);

		if (address < start || address >= end || caller_generation != now || (version & 1))
			continue;
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&entry->version, memory_order_relaxed) == version)
			return original;
	}
	return NULL;
}

/*
 * Call under `write_lock`. Not for driver functions: a caller's driver function depends on more
 * than the loaded objects.
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
	/* Pairs with the acquire in gmt_original_for. */
	atomic_store_explicit(&gmt_original_first_callers[hook], caller, memory_order_release);
}

static void remember(enum gmt_hook hook, const struct gmt_object *object,
	uint32_t caller_generation, void *original)
{
	if (atomic_flag_test_and_set_explicit(&originals.write_lock, memory_order_acquire))
		return;

	struct caller *entry =
		&originals.callers[hook][atomic_fetch_add(&originals.next_victim[hook], 1) % CALLERS];
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

/* Returns whether both functions are in libraries of one kind, for example in two CUDA runtimes. */
static bool are_both_runtimes(const void *a, const void *b)
{
	struct gmt_object first, second;

	if (!gmt_object_of(a, &first) || !gmt_object_of(b, &second))
		return false;
	return gmt_is_runtime(first.path) && gmt_is_runtime(second.path);
}

/*
 * Finds the function to which the caller would have been bound. A preload after us in the global
 * scope comes first. But if that is only another CUDA runtime, the caller's own runtime is right.
 * Symbol versions separate the two runtimes, and RTLD_NEXT ignores them.
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
 * The last resort. A tail call (an optimized `return cudaMalloc(...)`) leaves the return address of
 * its caller's caller. The function may be missing in the scope of that object.
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
 * Finds a driver function that another preload also exports. The preload comes before only those
 * callers that were linked to the driver. The preload itself wants the driver. So does a caller
 * that came by dlsym or cuGetProcAddress.
 */
static void *find_behind_interposer(enum gmt_hook hook, const struct gmt_object *object)
{
	const char *symbol = gmt_hooks[hook].symbol;
	void *driver = gmt_original_known(hook);

	if (!gmt_elf_symbol_is_defined_by(object, symbol) &&
		gmt_elf_symbol_is_referenced_by(object, symbol))
		return originals.next_at_start[hook];
	return driver ? driver
				  : gmt_elf_symbol_in_objects((const char *const[]){ "libcuda.so", NULL }, symbol);
}

static void *find_uncached_here(enum gmt_hook hook, const void *caller)
{
	uint32_t caller_generation =
		atomic_load_explicit(&gmt_original_generation, memory_order_acquire);
	struct gmt_object object;
	bool has_object = gmt_object_of(caller, &object);
	/* Code outside of all objects was generated at run time. */
	void *original = NULL;

	if (has_object)
		original = originals.is_interposed[hook] ? find_behind_interposer(hook, &object)
												 : find_bound(hook, &object);
	else if (!originals.is_interposed[hook])
		original = originals.next_at_start[hook];
	if (!original)
		original = gmt_original_known(hook);
	if (!original)
		original = find_anywhere(hook);
	if (!original)
		return gmt_namespaces_any_original(hook);
	if (original && has_object)
		remember(hook, &object, caller_generation, original);
	if (original && gmt_hooks[hook].library == GMT_LIBRARY_CUDA && !originals.is_interposed[hook])
		gmt_original_set(hook, original);
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

	search->original = find_uncached_here(search->hook, search->caller);
}

static void *find_uncached(enum gmt_hook hook, const void *caller)
{
	struct search search = { hook, caller, NULL };

	if (!gmt_recorder_stack_run(search_work, &search))
		search.original = find_uncached_here(hook, caller);
	return search.original;
}

void *gmt_original_find(enum gmt_hook hook, const void *caller)
{
	void *original = NULL;

	/* The first call of every wrapper comes through here. */
	gmt_load();
	if (__builtin_expect(atomic_load_explicit(&gmt_namespaces_are_used, memory_order_acquire), 0))
		original = gmt_namespaces_original(hook, caller);
	if (!original && gmt_hooks[hook].library == GMT_LIBRARY_CUDA && !originals.is_interposed[hook])
		original = gmt_original_known(hook);
	if (!original)
		original = find_cached(hook, (uint64_t)caller);
	return original ? original : find_uncached(hook, caller);
}

GMT_AT_STAGE(after_fork, INTERPOSE, after_fork);
