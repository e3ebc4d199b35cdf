/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_ORIGINALS_H
#define GMT_INTERPOSE_ORIGINALS_H

/*
 * Finds the original function behind each hook.
 *
 * A process has one driver. The first look-up that sees the driver stores its functions, once. The
 * CUDA runtime and libc10 may be loaded several times (two CUDA runtimes in one process are
 * normal). They may also be loaded locally, where RTLD_NEXT does not find them. Their original
 * functions are those to which the calling object would be bound without the recorder. The recorder
 * searches the scope of the calling object, and caches the result per object. It treats a driver
 * function that another preload also exports the same way.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/hidden.h"
#include "hooks/hooks.h"
#include "interpose/dlmopen_namespaces.h"

/*
 * Finds which objects before and after this library in the global scope export hooked names. Call
 * it once, from the constructor.
 */
void gmt_original_scan_global_scope(void);

/*
 * Returns whether the program or a preload exports the name, at or after position `order` of the
 * loader's list and before this library. A look-up that begins at `order` then finds that function.
 */
bool gmt_original_is_defined_before(enum gmt_hook hook, uint32_t order);

/* Returns the next definition of the hook's name after this library at start, or NULL. */
void *gmt_original_next_at_start(enum gmt_hook hook);

/* Returns the function of another preload that exports this driver function too, or NULL. */
void *gmt_original_in_other_preload(enum gmt_hook hook);

/* Returns whether the name of a file is that of a CUDA runtime. */
bool gmt_path_is_runtime(const char *path);

/*
 * Calls the C library's dlsym with this library as the caller, so RTLD_NEXT means "after this
 * library". Returns the driver's own function where its table has a wrapper
 * (interpose/patch_dynsym.h).
 */
void *gmt_original_dlsym(void *handle, const char *name);

/*
 * Calls the original dlclose, for the recorder's own handles. The recorder's replacement would
 * begin a new generation of the object map.
 */
int gmt_original_dlclose(void *handle);

/*
 * The driver's functions, for all callers. NULL: not known yet, or another preload exports it too.
 */
extern GMT_HIDDEN _Atomic(void *) gmt_original_of_driver[GMT_HOOK_COUNT];

/* A calling object and its original function of one hook. Never changes after publication. */
struct gmt_original_caller {
	uint64_t start, bytes;
	void *original; /* never NULL */
	uint32_t generation;
};

/*
 * For each hook, the first calling object since an object was last unloaded. NULL: no caller yet,
 * or a driver function.
 */
extern GMT_HIDDEN struct gmt_original_caller *_Atomic gmt_original_first_callers[GMT_HOOK_COUNT];
extern GMT_HIDDEN _Atomic uint32_t gmt_original_generation;

/* The slow path of the two functions below. */
void *gmt_original_find(enum gmt_hook hook, const void *caller);

/* Same as gmt_original, but faster. Only for functions of the runtime and of libc10. */
__attribute__((always_inline)) static inline void *gmt_original_outside_driver(enum gmt_hook hook,
	const void *caller)
{
	/* Pairs with the release in originals.c: the published entry is complete. */
	const struct gmt_original_caller *first =
		atomic_load_explicit(&gmt_original_first_callers[hook], memory_order_acquire);

	if (__builtin_expect(first &&
				first->generation ==
					atomic_load_explicit(&gmt_original_generation, memory_order_relaxed) &&
				(uint64_t)(uintptr_t)caller - first->start < first->bytes,
			1)) {
		if (!first->original)
			__builtin_unreachable();
		return first->original;
	}
	return gmt_original_find(hook, caller);
}

/*
 * Returns the original function of `hook` for a call from `caller` (a return address), or NULL.
 * Fast for a known caller: no lock, no system call.
 */
__attribute__((always_inline)) static inline void *gmt_original(enum gmt_hook hook,
	const void *caller)
{
	/* Pairs with the release in gmt_original_store: the thread also sees the loaded driver. */
	void *original = atomic_load_explicit(&gmt_original_of_driver[hook], memory_order_acquire);

	if (__builtin_expect(original &&
				!atomic_load_explicit(&gmt_namespaces_are_used, memory_order_acquire),
			1))
		return original;
	return gmt_original_find(hook, caller);
}

/* Stores a function of the driver that a look-up has found. Ignores a function of this library. */
void gmt_original_store(enum gmt_hook hook, void *original);

/* Returns the function that gmt_original_store stored last, or NULL. */
void *gmt_original_stored(enum gmt_hook hook);

/*
 * Stores a function of the CUDA runtime that a look-up by dlsym has found. Returns true if dlsym
 * can return the wrapper instead. Returns false if another runtime's function is stored already:
 * dlsym then returns the original, and the recorder still sees its driver calls.
 */
bool gmt_original_store_runtime(enum gmt_hook hook, void *original);

/* Drops the cache of callers, because another object may now lie at a caller's addresses. */
void gmt_original_forget_callers(void);

#endif
