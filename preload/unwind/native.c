/* SPDX-License-Identifier: MIT */
#include "unwind/native.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "runtime/cancelling.h"
#include "unwind/both_ends.h"
#include "depot/hash.h"
#include "unwind/rules.h"
#include "unwind/selftest.h"
#include "unwind/unwinder_calls.h"
#include "unwind/walk.h"
#include "unwind/readable.h"
#include "runtime/config.h"
#include "runtime/recorder_stack.h"
#include "interpose/objects.h"
#include "interpose/originals.h"

/* Where compilers keep frame pointers, and rules are not read from tables. */
#ifdef __aarch64__
enum { WALKS_BY_FRAME_POINTERS = true };
#else
enum { WALKS_BY_FRAME_POINTERS = false };
#endif

/* Our own frames (wrapper, call, capture), which stand before the caller's and are cut off. */
enum {
	OWN_FRAMES = 24,
	LOOK_FRAMES = 4096, /* of a stack on which calls of the recorder are looked for */
};

/*
 * int unw_backtrace(void **buffer, int size): all that is used of libunwind, so no header of it is.
 */
static int (*backtrace_fast)(void **, int);
static _Unwind_Reason_Code (*backtrace_slow)(_Unwind_Trace_Fn, void *);
static _Unwind_Ptr (*address_of_frame)(struct _Unwind_Context *);
static _Atomic int unwinder = -1; /* enum gmt_unwinder; -1: not looked for */
static struct gmt_selftest selftest;

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
	*(void **)&backtrace_fast = gmt_original_dlsym(handle, "unw_backtrace");
	return backtrace_fast != NULL;
}

static bool open_libgcc(void)
{
	void *handle = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return false;
	*(void **)&backtrace_slow = gmt_original_dlsym(handle, "_Unwind_Backtrace");
	*(void **)&address_of_frame = gmt_original_dlsym(handle, "_Unwind_GetIP");
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
	struct slow_walk walk = { .addresses = addresses, .limit = limit };
	int cancelling = gmt_cancelling_hold();

	if (backtrace_fast)
		walk.count = backtrace_fast(addresses, limit);
	else
		backtrace_slow(take_frame, &walk);
	gmt_cancelling_release(cancelling);
	return walk.count;
}

static bool is_own(uint64_t address)
{
	const struct gmt_object *self = gmt_object_self();

	return address >= self->start && address < self->end;
}

/* A stack as it goes into the depot. The addresses lie behind the head, which the caller has room for. */
static uint32_t intern(struct gmt_depot *depot, struct gmt_depot_stack *stack, uint32_t count, uint64_t hash, bool *ret_lost)
{
	uint64_t head = (uint64_t)stack->generation << 32 | count << 2 | stack->truncated;
	uint32_t id = gmt_depot_intern_hashed(depot, GMT_DEPOT_STACK, stack,
		(uint32_t)(sizeof(*stack) + count * sizeof(*stack->addresses)),
		gmt_hash_fold(hash ^ 0xa0761d6478bd642f, head ^ 0x8ebc6af09c88c6e3));

	*ret_lost |= id == 0;
	return id;
}

/* Whether it is not known who calls the code that is returned to there. */
static bool is_unknown_code(uint64_t address)
{
	uint32_t generation;

	return gmt_rules_begin(&generation) && gmt_rules_find(address).kind == GMT_UNWIND_NONE;
}

/* What libunwind sees, without our own frames; `ret_stack` has room for `depth` and OWN_FRAMES. Returns how many. */
static uint32_t unwind_stack(struct gmt_depot_stack *ret_stack, uint32_t depth)
{
	uint64_t *addresses = ret_stack->addresses;
	int limit = (int)depth + OWN_FRAMES;
	int count = unwind((void **)addresses, limit);
	int own = 0;

	while (own < count && is_own(addresses[own]))
		own++;

	uint32_t frames = (uint32_t)(count - own);

	ret_stack->truncated = frames > depth || count == limit ? GMT_STACK_CUT
		: count && is_unknown_code(addresses[count - 1]) ? GMT_STACK_STOPPED : GMT_STACK_WHOLE;
	if (frames > depth)
		frames = depth;
	if (own)
		memmove(addresses, addresses + own, frames * sizeof(*addresses));
	return frames;
}

union stack_room {
	struct gmt_depot_stack stack;
	uint64_t words[1 + GMT_DEPTH_MAX + OWN_FRAMES];
};

/* What unwinder_work is asked for, and its answer. */
struct unwinder_call {
	struct gmt_depot *depot;
	uint32_t depth, generation;
	bool is_lost;
	uint32_t id;
};

/* On a recorder stack. */
static void unwinder_work(void *argument)
{
	struct unwinder_call *call = argument;
	union stack_room room;
	uint32_t count = unwind_stack(&room.stack, call->depth);

	room.stack.generation = call->generation;
	if (count)
		call->id = intern(call->depot, &room.stack, count, gmt_walk_hash(room.stack.addresses, count, 0), &call->is_lost);
}

__attribute__((noinline)) static uint32_t capture_by_unwinder(struct gmt_depot *depot, uint32_t depth,
	uint32_t generation, bool *ret_lost)
{
	struct unwinder_call call = { .depot = depot, .depth = depth, .generation = generation };

	if (gmt_native_unwinder() == GMT_UNWINDER_NONE)
		return 0;
	*ret_lost |= !gmt_recorder_stack_run(unwinder_work, &call) || call.is_lost;
	return call.id;
}

struct comparison {
	const uint64_t *addresses;
	uint32_t count, depth;
};

/* Compares a stack with what the unwinder sees. On a recorder stack. */
static void comparison_work(void *argument)
{
	const struct comparison *ours = argument;
	union stack_room room;
	uint32_t seen = unwind_stack(&room.stack, ours->depth), same = 0;

	/* Newer versions of libunwind tell the address of the innermost call, not the one that it returns to. */
	while (same < seen && same < ours->count && ours->addresses[same] - room.stack.addresses[same] <= 1)
		same++;
	/* By frame pointers, a stack may end before the tables do. */
	gmt_selftest_count(&selftest,
		same != ours->count || (same != seen && gmt_config.unwind != GMT_UNWIND_WAY_FRAME_POINTERS));
}

__attribute__((noinline)) static void compare_with_unwinder(const uint64_t *addresses, uint32_t count, uint32_t depth)
{
	gmt_recorder_stack_run(comparison_work, &(struct comparison){ addresses, count, depth });
}

/* The innermost `count` frames of a walk. */
static uint32_t intern_walk(struct gmt_walk *walk, struct gmt_depot *depot, uint32_t count, uint32_t generation,
	bool *ret_lost)
{
	uint64_t *before = &walk->addresses[walk->first - 1], kept = *before;
	struct gmt_depot_stack *stack = (struct gmt_depot_stack *)(void *)before;
	bool is_all = count == gmt_walk_count(walk);
	uint64_t hash = is_all ? walk->hashes[walk->first] : gmt_walk_hash(stack->addresses, count, 0);

	stack->generation = generation;
	stack->truncated = is_all ? walk->ends : GMT_STACK_CUT;

	uint32_t id = intern(depot, stack, count, hash, ret_lost);

	*before = kept;
	return id;
}

/* A stack that is deeper than the limit: `depth` frames of both ends, if the outer one is found. */
__attribute__((noinline)) static uint32_t intern_both_ends(struct gmt_walk *walk, const struct gmt_walk_start *start,
	struct gmt_depot *depot, uint32_t depth, uint32_t generation, bool *ret_lost)
{
	struct gmt_depot_stack *stack = gmt_walk_scratch(walk);
	uint32_t outer = depth / GMT_BOTH_ENDS_OUTER_PART, inner = depth - outer;
	uint64_t hash = 0;

	if (!outer || walk->ends == GMT_STACK_STOPPED ||
		(walk->ends == GMT_STACK_CUT && !gmt_walk_outermost(walk, start, outer, stack->addresses + inner)))
		return intern_walk(walk, depot, depth, generation, ret_lost);
	if (walk->ends == GMT_STACK_WHOLE) {
		memcpy(stack->addresses + inner, walk->addresses + GMT_WALK_FRAMES - outer, outer * sizeof(*stack->addresses));
		hash = walk->hashes[GMT_WALK_FRAMES - outer];
	} else {
		hash = gmt_walk_hash(stack->addresses + inner, outer, 0);
	}
	memcpy(stack->addresses, walk->addresses + walk->first, inner * sizeof(*stack->addresses));
	/* In place of one more, or the stack would have more than are asked for. */
	stack->addresses[inner - 1] = 0;
	stack->generation = generation;
	stack->truncated = GMT_STACK_WHOLE;
	return intern(depot, stack, depth, gmt_walk_hash(stack->addresses, inner, hash), ret_lost);
}

/* Whether it is known what the stack is called. What is beyond one that was cut may have changed. */
static inline bool is_named(const struct gmt_walk *walk, uint32_t generation)
{
	return walk->is_known && walk->id && walk->module_generation == generation && walk->ends != GMT_STACK_CUT;
}

/* `depth` is the same each time. */
__attribute__((noinline)) static uint32_t capture_by_walk(struct gmt_walk *walk, const struct gmt_walk_start *start,
	struct gmt_depot *depot, uint32_t depth, uint32_t generation, bool *ret_lost)
{
	uint32_t count = gmt_walk_count(walk);

	if (WALKS_BY_FRAME_POINTERS && walk->ends == GMT_STACK_STOPPED && count < depth &&
		gmt_config.unwind != GMT_UNWIND_WAY_FRAME_POINTERS)
		return capture_by_unwinder(depot, depth, generation, ret_lost);
	/* Over code without tables the unwinder goes in a way of its own. */
	if (gmt_config.selftest && !walk->is_blind && gmt_native_unwinder() != GMT_UNWINDER_NONE &&
		++walk->taken >= gmt_config.selftest) {
		walk->taken = 0;
		compare_with_unwinder(walk->addresses + walk->first, count < depth ? count : depth, depth);
	}
	if (is_named(walk, generation))
		return walk->id;
	walk->module_generation = generation;
	walk->id = !count ? 0 : count > depth ? intern_both_ends(walk, start, depot, depth, generation, ret_lost)
		: intern_walk(walk, depot, count, generation, ret_lost);
	gmt_stack_cache_name(walk);
	return walk->id;
}

/*
 * As gmt_walk_take. While there is a self-test, gmt_native_is_same finds none; those that it would find are found here in the same
 * way, so that they are compared too.
 */
static inline bool take_walk(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t depth, uint32_t generation)
{
	if (__builtin_expect(gmt_config.selftest != 0, 0) && !start->by_frame_pointers && walk->id && gmt_walk_is_sure(walk) &&
		walk->module_generation == generation && gmt_walk_is_same(walk, start->ip, start->sp, start->fp)) {
		walk->recall.current = 0;
		return walk->is_known = true;
	}
	return gmt_walk_take(walk, start, depth);
}

uint32_t gmt_native_capture(struct gmt_depot *depot, uint32_t depth, uint32_t generation, struct gmt_walk *walk,
	const struct gmt_native_start *from, bool *ret_lost)
{
	const struct gmt_object *self = gmt_object_self();
	struct gmt_walk_start start = {
		.ip = from->ip, .sp = from->sp, .fp = from->fp, .own_start = self->start, .own_end = self->end,
		.by_frame_pointers = WALKS_BY_FRAME_POINTERS || gmt_config.unwind == GMT_UNWIND_WAY_FRAME_POINTERS,
	};

	if (!walk)
		return capture_by_unwinder(depot, depth, generation, ret_lost);
	walk->same_for = GMT_WALK_NO_GENERATION;
	if (gmt_config.unwind == GMT_UNWIND_WAY_LIBUNWIND || !take_walk(walk, &start, depth, generation))
		return capture_by_unwinder(depot, depth, generation, ret_lost);

	bool was_same = walk->is_known && !walk->recall.current;

	/* All are compared; or more is asked of frame pointers. */
	if (gmt_config.selftest || start.by_frame_pointers)
		return capture_by_walk(walk, &start, depot, depth, generation, ret_lost);
	/* Where nothing has to be asked but the name, which mostly is known. */
	if (!is_named(walk, generation))
		capture_by_walk(walk, &start, depot, depth, generation, ret_lost);
	/* Where stacks differ each time, the next one would only be compared twice. */
	if (was_same && walk->id && gmt_walk_is_sure(walk))
		walk->same_for = generation;
	return walk->id;
}

/* Whether a signal handler returns to there: by code that only asks the kernel to restore what was interrupted. */
static bool is_signal_return(uint64_t address)
{
#if defined(__x86_64__)
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 }; /* mov $__NR_rt_sigreturn, %rax; syscall */
#else
	static const uint8_t code[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 }; /* mov x8, #__NR_rt_sigreturn; svc #0 */
#endif

	return gmt_is_readable((uintptr_t)address) && gmt_is_readable((uintptr_t)address + sizeof(code) - 1) &&
		memcmp((const void *)(uintptr_t)address, code, sizeof(code)) == 0;
}

/* On a recorder stack. */
static void recorder_look_work(void *argument)
{
	enum gmt_native_recorder *answer = argument;
	uint64_t addresses[LOOK_FRAMES];
	int count = unwind((void **)addresses, LOOK_FRAMES), at = 0;
	bool is_interrupted = false;
	uint32_t generation;

	while (at < count && is_own(addresses[at]))
		at++;
	for (int i = at; i < count; i++) {
		if (is_own(addresses[i])) {
			*answer = is_interrupted ? GMT_NATIVE_RECORDER_IS_INTERRUPTED : GMT_NATIVE_RECORDER_IS_OUTSIDE;
			return;
		}
		is_interrupted |= is_signal_return(addresses[i]);
	}
	/* A function that nobody calls, as the program's first and a thread's first, is the end of a stack. */
	if (at < count && count < LOOK_FRAMES && gmt_rules_begin(&generation) &&
		gmt_rules_find(addresses[count - 1]).kind == GMT_UNWIND_END)
		*answer = GMT_NATIVE_RECORDER_IS_NOT;
}

enum gmt_native_recorder gmt_native_outer_recorder(const void *caller)
{
	enum gmt_native_recorder answer = GMT_NATIVE_RECORDER_IS_UNKNOWN;

	/* Code that jumps to a hooked function leaves its own caller as the one that is returned to. */
	if (caller && is_own((uint64_t)(uintptr_t)caller))
		return GMT_NATIVE_RECORDER_IS_OUTSIDE;
	if (gmt_native_unwinder() != GMT_UNWINDER_NONE)
		gmt_recorder_stack_run(recorder_look_work, &answer);
	return answer;
}

bool gmt_native_selftest(char *ret_text, uint32_t bytes)
{
	return gmt_selftest_report(&selftest, "native stacks were compared with the unwinder's", ret_text, bytes);
}
