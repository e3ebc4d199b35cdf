/* SPDX-License-Identifier: MIT */
#include "capture/native.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "capture/unwinder_calls.h"
#include "config.h"
#include "routes/objects.h"
#include "routes/real.h"

/* Our own frames (wrapper, call, capture), which stand before the caller's and are cut off. */
enum { OWN_FRAMES = 8 };

/* int unw_backtrace(void **buffer, int size): all that is used of libunwind, so no header of it is. */
static int (*backtrace_fast)(void **, int);
static _Unwind_Reason_Code (*backtrace_slow)(_Unwind_Trace_Fn, void *);
static _Unwind_Ptr (*address_of_frame)(struct _Unwind_Context *);
static _Atomic int unwinder = -1; /* enum gmt_unwinder; -1: not looked for */

/* `name` in the folder of this library, where an installation may bring it along. */
static void *open_beside(const char *name)
{
	char path[GMT_OBJECT_PATH_BYTES + 32];
	const char *self = gmt_object_self()->path;
	const char *slash = strrchr(self, '/');

	if (!slash)
		return NULL;
	snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - self), self, name);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static bool open_libunwind(void)
{
	void *handle;

	/*
	 * The copies that the build made, under names of our own; then what somebody put there. libunwind
	 * needs liblzma by name only: opened first, it is found even when the system has none.
	 */
	open_beside("libgmtl.so.5");
	handle = open_beside("libgmtunw.so.8");
	if (handle)
		gmt_unwinder_calls_init(handle);
	if (!handle)
		handle = open_beside("libunwind.so.8");
	if (!handle)
		handle = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return false;

	/* unw_backtrace is the only door to the fast path; unw_step costs eighty times as much. */
	*(void **)&backtrace_fast = gmt_real_dlsym(handle, "unw_backtrace");
	return backtrace_fast != NULL;
}

static bool open_libgcc(void)
{
	void *handle = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return false;
	*(void **)&backtrace_slow = gmt_real_dlsym(handle, "_Unwind_Backtrace");
	*(void **)&address_of_frame = gmt_real_dlsym(handle, "_Unwind_GetIP");
	return backtrace_slow && address_of_frame;
}

enum gmt_unwinder gmt_native_init(void)
{
	int found = atomic_load_explicit(&unwinder, memory_order_acquire);

	if (found >= 0)
		return found;
	found = open_libunwind() ? GMT_UNWINDER_LIBUNWIND
		: open_libgcc()  ? GMT_UNWINDER_LIBGCC
				 : GMT_UNWINDER_NONE;
	/* Pairs with the acquire loads: whoever sees the answer sees the function pointer. */
	atomic_store_explicit(&unwinder, found, memory_order_release);
	return found;
}

enum gmt_unwinder gmt_native_unwinder(void)
{
	int found = atomic_load_explicit(&unwinder, memory_order_acquire);

	return found < 0 ? GMT_UNWINDER_NONE : (enum gmt_unwinder)found;
}

struct slow_walk {
	void **addresses;
	int count;
	int limit;
};

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *argument)
{
	struct slow_walk *walk = argument;

	if (walk->count == walk->limit)
		return _URC_END_OF_STACK;
	walk->addresses[walk->count++] = (void *)address_of_frame(context);
	return _URC_NO_REASON;
}

static int unwind(void **addresses, int limit)
{
	if (backtrace_fast)
		return backtrace_fast(addresses, limit);

	struct slow_walk walk = { .addresses = addresses, .limit = limit };
	backtrace_slow(take_frame, &walk);
	return walk.count;
}

static bool is_own(const void *address)
{
	const struct gmt_object *self = gmt_object_self();

	return (uint64_t)address >= self->start && (uint64_t)address < self->end;
}

uint32_t gmt_native_capture(struct gmt_depot *depot, uint32_t depth, uint32_t generation, bool *ret_lost)
{
	struct {
		struct gmt_depot_stack head;
		uint64_t addresses[GMT_DEPTH_MAX + OWN_FRAMES];
	} stack;
	void **addresses = (void **)stack.addresses;

	if (gmt_native_unwinder() == GMT_UNWINDER_NONE)
		return 0;

	int limit = (int)depth + OWN_FRAMES;
	int count = unwind(addresses, limit);
	int own = 0;

	while (own < count && is_own(addresses[own]))
		own++;

	uint32_t frames = (uint32_t)(count - own);
	stack.head.truncated = frames > depth || count == limit;
	if (frames > depth)
		frames = depth;
	if (!frames)
		return 0;
	stack.head.generation = generation;
	if (own)
		memmove(addresses, addresses + own, frames * sizeof(*addresses));

	uint32_t id = gmt_depot_intern(depot, GMT_DEPOT_STACK, &stack,
		(uint32_t)(sizeof(stack.head) + frames * sizeof(*addresses)));
	*ret_lost |= id == 0;
	return id;
}
