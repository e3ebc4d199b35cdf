/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_ORIGINALS_H
#define GMT_INTERPOSE_ORIGINALS_H

/*
 * The real function behind each hook.
 *
 * The driver is one per process: its functions are set once, by whichever route sees it first. The
 * runtime and libc10 may be loaded several times (two CUDA runtimes in one process are normal) and
 * locally, where RTLD_NEXT finds nothing: their functions are what the calling object would have
 * been bound to without us, found in its own scope and cached per calling object. The same goes for a
 * driver's function that another preload has too.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/hidden.h"
#include "hooks/hooks.h"
#include "interpose/namespaces.h"

/* Looks what stands before and behind this library in the global scope. Once, from the constructor. */
void gmt_original_look_around(void);

/*
 * Whether an object at or behind place `order` of the loader's list, and before this library, has the name
 * too: the program, or a preload. A look-up that begins there finds that one.
 */
bool gmt_original_is_ahead(enum gmt_hook hook, uint32_t order);

/* What that found for a hook, or NULL. */
void *gmt_original_behind(enum gmt_hook hook);

/* That, for a driver's function that is another preload's and not a driver's; else NULL. */
void *gmt_original_interposer(enum gmt_hook hook);

/* Whether a file is a CUDA runtime, by its name. */
bool gmt_is_runtime(const char *path);

/* In the child of a fork: a thread that is not there any more may have held a lock. */
void gmt_original_reset_locks(void);

/*
 * The C library's dlsym, called as ourselves: RTLD_NEXT means "after this library". Where the driver's
 * table has a wrapper (interpose/dynsym.h), the driver's own function is the answer.
 */
void *gmt_original_dlsym(void *handle, const char *name);

/* The C library's dlclose, for the recorder's own handles: ours would start a new module map. */
int gmt_original_dlclose(void *handle);

/* The driver's functions that all callers get, once they are known: those that nobody interposes. */
extern GMT_HIDDEN _Atomic(void *) gmt_original_for_all[GMT_HOOK_COUNT];

/* Of a hook, an object that calls it and what that gets. Never changes once it is shown. */
struct gmt_original_caller {
	uint64_t start, bytes;
	void *real; /* there is one */
	uint32_t generation;
};

/* Per hook, one that came first since objects went; NULL: none, or not told so shortly. */
extern GMT_HIDDEN struct gmt_original_caller *_Atomic gmt_original_first_callers[GMT_HOOK_COUNT];
extern GMT_HIDDEN _Atomic uint32_t gmt_original_generation;

/* The same as gmt_original, by what is known of all callers. */
void *gmt_original_find(enum gmt_hook hook, const void *caller);

/* The same as gmt_original, for what no driver has: the shorter way. */
__attribute__((always_inline)) static inline void *gmt_original_for(enum gmt_hook hook, const void *caller)
{
	/* Pairs with the release in originals.c: what is shown there is whole. */
	const struct gmt_original_caller *first = atomic_load_explicit(&gmt_original_first_callers[hook], memory_order_acquire);

	if (__builtin_expect(first && first->generation == atomic_load_explicit(&gmt_original_generation, memory_order_relaxed) &&
		(uint64_t)(uintptr_t)caller - first->start < first->bytes, 1)) {
		if (!first->real)
			__builtin_unreachable();
		return first->real;
	}
	return gmt_original_find(hook, caller);
}

/*
 * The real function of `hook` for a call from `caller` (a return address); NULL when there is none.
 * Fast for a caller seen before: no lock, no system call.
 */
__attribute__((always_inline)) static inline void *gmt_original(enum gmt_hook hook, const void *caller)
{
	/* Pairs with the release in gmt_original_set: whoever sees the pointer sees the loaded driver. */
	void *real = atomic_load_explicit(&gmt_original_for_all[hook], memory_order_acquire);

	if (__builtin_expect(real && !atomic_load_explicit(&gmt_namespaces_are_used, memory_order_acquire), 1))
		return real;
	return gmt_original_find(hook, caller);
}

/* A route learnt that this is the driver's function. One of ours is not believed. */
void gmt_original_set(enum gmt_hook hook, void *real);

/* What gmt_original_set said last, or NULL. */
void *gmt_original_known(enum gmt_hook hook);

/*
 * A runtime function was handed out by dlsym. True when it is the first of its name, so that the
 * wrapper may stand for it; false for a second runtime's: the caller then gets the real one, whose
 * driver calls are seen anyway.
 */
bool gmt_original_adopt(enum gmt_hook hook, void *real);

/* Objects may have gone and others come to their addresses: forget what was cached per caller. */
void gmt_original_forget_callers(void);

#endif
