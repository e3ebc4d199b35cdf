/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_ORIGINALS_H
#define GMT_INTERPOSE_ORIGINALS_H

/*
 * Finds the original function behind each hook.
 *
 * A process has one driver. The first route that sees the driver sets its functions, once. The CUDA
 * runtime and libc10 may be loaded several times (two CUDA runtimes in one process are normal).
 * They may also be loaded locally, where RTLD_NEXT does not find them. Their original functions are
 * those to which the calling object would be bound without us. They are found in the scope of the
 * calling object, and cached per object. A driver function that another preload also exports is
 * handled the same way.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/hidden.h"
#include "hooks/hooks.h"
#include "interpose/namespaces.h"

/*
 * Finds which objects before and after this library in the global scope export hooked names. Call
 * once, from the constructor.
 */
void gmt_original_scan_scope(void);

/*
 * Returns whether the program or a preload exports the name at or after position `order` of the
 * loader's list, and before this library. A look-up that begins there finds that function.
 */
bool gmt_original_is_defined_before(enum gmt_hook hook, uint32_t order);

/* Returns the next definition of the hook's name after this library at start, or NULL. */
void *gmt_original_next(enum gmt_hook hook);

/*
 * Returns the same function if the hook is a driver function that another preload exports;
 * otherwise NULL.
 */
void *gmt_original_interposer(enum gmt_hook hook);

/* Returns whether a file is a CUDA runtime, by its name. */
bool gmt_is_runtime(const char *path);

/*
 * Calls the C library's dlsym with this library as the caller: RTLD_NEXT means "after this
 * library". If the driver's table has a wrapper (interpose/dynsym.h), returns the driver's own
 * function.
 */
void *gmt_original_dlsym(void *handle, const char *name);

/*
 * Calls the C library's dlclose, for the recorder's own handles. Our wrapper would start a new
 * object map.
 */
int gmt_original_dlclose(void *handle);

/*
 * The driver functions that are the same for all callers, once known: those that no preload
 * interposes.
 */
extern GMT_HIDDEN _Atomic(void *) gmt_original_for_all[GMT_HOOK_COUNT];

/* For a hook: a calling object and its original function. Never changes after publication. */
struct gmt_original_caller {
	uint64_t start, bytes;
	void *original; /* never NULL */
	uint32_t generation;
};

/*
 * Per hook, the first caller found since an object was last unloaded. NULL: no caller yet, or not
 * in this short form.
 */
extern GMT_HIDDEN struct gmt_original_caller *_Atomic gmt_original_first_callers[GMT_HOOK_COUNT];
extern GMT_HIDDEN _Atomic uint32_t gmt_original_generation;

/* Same as gmt_original, from the data about all callers. */
void *gmt_original_find(enum gmt_hook hook, const void *caller);

/* Same as gmt_original, by a shorter way, for functions that no driver has. */
__attribute__((always_inline)) static inline void *gmt_original_for(enum gmt_hook hook,
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
	/*
	 * Pairs with the release in gmt_original_set: a thread that sees the pointer sees the loaded
	 * driver.
	 */
	void *original = atomic_load_explicit(&gmt_original_for_all[hook], memory_order_acquire);

	if (__builtin_expect(original &&
				!atomic_load_explicit(&gmt_namespaces_are_used, memory_order_acquire),
			1))
		return original;
	return gmt_original_find(hook, caller);
}

/* Stores the driver's function that a route has found. A function of this library is ignored. */
void gmt_original_set(enum gmt_hook hook, void *original);

/* Returns the function that gmt_original_set stored last, or NULL. */
void *gmt_original_known(enum gmt_hook hook);

/*
 * Records that dlsym is handing out a runtime function. Returns true if it is the first with its
 * name, so that dlsym can hand out the wrapper. Returns false for a second runtime: the caller then
 * gets the original function, and the recorder still sees its driver calls.
 */
bool gmt_original_adopt(enum gmt_hook hook, void *original);

/*
 * Drops the cache per caller. Objects may have been unloaded, and others loaded at their addresses.
 */
void gmt_original_forget_callers(void);

#endif
