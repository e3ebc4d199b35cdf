/* SPDX-License-Identifier: MIT */
#include "routes/real.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "routes/objects.h"

void *(*gmt_dlsym_next)(void *, const char *);

/* Set by routes that see the function itself; for the driver that is final. */
static _Atomic(void *) known[GMT_HOOK_COUNT];

/*
 * Per hook, the calling objects seen. Written under `writing` (try-lock: who does not get it goes
 * without the cache), read without a lock: `version` is odd while an entry changes.
 */
enum { CALLERS = 8 };

struct caller {
	_Atomic uint32_t version;
	_Atomic uint64_t start;
	_Atomic uint64_t end;
	_Atomic(void *) real;
	_Atomic uint32_t generation;
};

static struct caller callers[GMT_HOOK_COUNT][CALLERS];
static _Atomic uint32_t next_victim[GMT_HOOK_COUNT];
static atomic_flag writing = ATOMIC_FLAG_INIT;
static _Atomic uint32_t generation;

void gmt_real_init(void)
{
	/*
	 * dlvsym is not interposed, so this is exact: the version that new programs ask for, then the
	 * first one that each processor had.
	 */
	static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17" };

	for (size_t i = 0; !gmt_dlsym_next && i < sizeof(versions) / sizeof(*versions); i++)
		gmt_dlsym_next = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", versions[i]);
}

void *gmt_real_dlsym(void *handle, const char *name)
{
	if (!gmt_dlsym_next)
		gmt_real_init();
	return gmt_dlsym_next ? gmt_dlsym_next(handle, name) : NULL;
}

int gmt_real_dlclose(void *handle)
{
	static int (*_Atomic real)(void *);
	int (*next)(void *) = atomic_load_explicit(&real, memory_order_relaxed);

	if (!next) {
		*(void **)&next = gmt_real_dlsym(RTLD_NEXT, "dlclose");
		atomic_store_explicit(&real, next, memory_order_relaxed);
	}
	return next ? next(handle) : -1;
}

static bool is_ours(const void *function)
{
	const struct gmt_object *self = gmt_object_self();

	return (uint64_t)function >= self->start && (uint64_t)function < self->end;
}

void gmt_real_set(enum gmt_hook hook, void *real)
{
	/* A driver that was not linked to prefer its own symbols hands out ours: that leads in a circle. */
	if (is_ours(real))
		return;
	/* Pairs with the acquire in gmt_real_known: whoever sees the pointer sees the loaded driver. */
	atomic_store_explicit(&known[hook], real, memory_order_release);
}

void *gmt_real_known(enum gmt_hook hook)
{
	return atomic_load_explicit(&known[hook], memory_order_acquire);
}

bool gmt_real_adopt(enum gmt_hook hook, void *real)
{
	void *expected = NULL;

	return is_ours(real) || atomic_compare_exchange_strong(&known[hook], &expected, real) || expected == real;
}

void gmt_real_forget_callers(void)
{
	atomic_fetch_add_explicit(&generation, 1, memory_order_release);
}

static void *find_cached(enum gmt_hook hook, uint64_t address)
{
	uint32_t now = atomic_load_explicit(&generation, memory_order_acquire);

	for (struct caller *entry = callers[hook]; entry < callers[hook] + CALLERS; entry++) {
		/* Pairs with the release stores in remember(): equal even versions enclose one entry. */
		uint32_t version = atomic_load_explicit(&entry->version, memory_order_acquire);
		uint64_t start = atomic_load_explicit(&entry->start, memory_order_relaxed);
		uint64_t end = atomic_load_explicit(&entry->end, memory_order_relaxed);
		void *real = atomic_load_explicit(&entry->real, memory_order_relaxed);
		uint32_t of = atomic_load_explicit(&entry->generation, memory_order_relaxed);

		if (address < start || address >= end || of != now || (version & 1))
			continue;
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&entry->version, memory_order_relaxed) == version)
			return real;
	}
	return NULL;
}

static void remember(enum gmt_hook hook, const struct gmt_object *object, uint32_t of, void *real)
{
	if (atomic_flag_test_and_set_explicit(&writing, memory_order_acquire))
		return;

	struct caller *entry = &callers[hook][atomic_fetch_add(&next_victim[hook], 1) % CALLERS];
	uint32_t version = atomic_load_explicit(&entry->version, memory_order_relaxed);

	atomic_store_explicit(&entry->version, version + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&entry->start, object->start, memory_order_relaxed);
	atomic_store_explicit(&entry->end, object->end, memory_order_relaxed);
	atomic_store_explicit(&entry->real, real, memory_order_relaxed);
	atomic_store_explicit(&entry->generation, of, memory_order_relaxed);
	atomic_store_explicit(&entry->version, version + 2, memory_order_release);
	atomic_flag_clear_explicit(&writing, memory_order_release);
}

/* In the scope of the calling object: itself and what it was linked to, loaded locally or not. */
static void *find_in_scope_of(const struct gmt_object *object, const char *symbol)
{
	void *handle = dlopen(object->path, RTLD_LAZY | RTLD_NOLOAD);

	if (!handle)
		return NULL;

	void *real = gmt_real_dlsym(handle, symbol);
	/* The object stays loaded: it is calling us. */
	gmt_real_dlclose(handle);
	return real;
}

/* Whether both lie in libraries of one kind: two CUDA runtimes, say. */
static bool are_rivals(const void *a, const void *b)
{
	struct gmt_object first, second;

	if (!gmt_object_of(a, &first) || !gmt_object_of(b, &second))
		return false;
	return gmt_path_names(first.path, "libcudart.so") && gmt_path_names(second.path, "libcudart.so");
}

/*
 * What the caller would have been bound to: an interposer behind us in the global scope first; but
 * when that is only another CUDA runtime, the caller's own, because symbol versions keep the two
 * apart in a way that dlsym(RTLD_NEXT) does not.
 */
static void *find_for(const struct gmt_object *object, const char *symbol)
{
	void *next = gmt_real_dlsym(RTLD_NEXT, symbol);
	void *own = object->is_program ? NULL : find_in_scope_of(object, symbol);

	if (own && is_ours(own))
		own = NULL;
	if (next && is_ours(next))
		next = NULL;
	if (own && next && own != next && are_rivals(own, next))
		return own;
	return next ? next : own;
}

static void *find_slowly(enum gmt_hook hook, const void *caller)
{
	uint32_t of = atomic_load_explicit(&generation, memory_order_acquire);
	struct gmt_object object;
	void *real = NULL;

	if (gmt_object_of(caller, &object)) {
		real = find_for(&object, gmt_hooks[hook].symbol);
		if (!real)
			real = gmt_real_known(hook);
		if (real)
			remember(hook, &object, of, real);
	} else {
		/* Code that no object holds, made at run time: the runtime that dlsym handed out. */
		real = gmt_real_known(hook);
		if (!real)
			real = gmt_real_dlsym(RTLD_NEXT, gmt_hooks[hook].symbol);
	}
	if (real && gmt_hooks[hook].library == GMT_LIBRARY_CUDA)
		gmt_real_set(hook, real);
	return real;
}

void *gmt_real(enum gmt_hook hook, const void *caller)
{
	if (gmt_hooks[hook].library == GMT_LIBRARY_CUDA) {
		void *real = gmt_real_known(hook);

		if (real)
			return real;
	}

	void *real = find_cached(hook, (uint64_t)caller);
	return real ? real : find_slowly(hook, caller);
}
