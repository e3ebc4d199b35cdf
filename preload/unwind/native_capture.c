/* SPDX-License-Identifier: MIT */
#include "unwind/native_capture.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "runtime/cancellation.h"
#include "unwind/depth_limits.h"
#include "depot/hash.h"
#include "unwind/rule_cache.h"
#include "unwind/selftest.h"
#include "unwind/libunwind_libc_calls.h"
#include "unwind/walk.h"
#include "unwind/memory_is_readable.h"
#include "runtime/config.h"
#include "runtime/recorder_stack.h"
#include "interpose/loaded_objects.h"
#include "interpose/originals.h"

/* On AArch64 compilers keep frame pointers, so the walk reads no rules from tables. */
#ifdef __aarch64__
enum { WALKS_BY_FRAME_POINTERS = true };
#else
enum { WALKS_BY_FRAME_POINTERS = false };
#endif

/*
 * Frames of the recorder (wrapper, call, capture) come before the caller's frames and are removed.
 */
enum {
	RECORDER_FRAMES = 24, /* the most frames of the recorder */
	SEARCHED_FRAMES = 4096, /* the most frames that are searched for calls of the recorder */
};

static struct {
	/*
	 * int unw_backtrace(void **buffer, int size). The recorder uses only this function of
	 * libunwind, so it needs no header of libunwind.
	 */
	int (*libunwind_backtrace)(void **, int);
	_Unwind_Reason_Code (*libgcc_backtrace)(_Unwind_Trace_Fn, void *);
	_Unwind_Ptr (*libgcc_frame_address)(struct _Unwind_Context *);
	_Atomic int unwinder; /* enum gmt_unwinder; -1: not searched yet */
	struct gmt_selftest selftest;
} native = { .unwinder = -1 };

/* Opens library `name` in the folder of this library, where an installation may provide it. */
static void *open_in_own_folder(const char *name)
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
	 * First tries the copies that the build made, under their own names, and then a library that a
	 * user put there. libunwind needs liblzma only by name. If the copy of liblzma is opened first,
	 * libunwind finds it even if the system has no liblzma.
	 */
	open_in_own_folder("libgmtl.so.5");
	handle = open_in_own_folder("libgmtunw.so.8");
	if (handle)
		gmt_libunwind_libc_calls_init(handle);
	if (!handle)
		handle = open_in_own_folder("libunwind.so.8");
	if (!handle)
		handle = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return false;

	/* Only unw_backtrace reaches the fast path. unw_step costs eighty times as much. */
	*(void **)&native.libunwind_backtrace = gmt_original_dlsym(handle, "unw_backtrace");
	return native.libunwind_backtrace != NULL;
}

static bool open_libgcc(void)
{
	void *handle = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return false;
	*(void **)&native.libgcc_backtrace = gmt_original_dlsym(handle, "_Unwind_Backtrace");
	*(void **)&native.libgcc_frame_address = gmt_original_dlsym(handle, "_Unwind_GetIP");
	return native.libgcc_backtrace && native.libgcc_frame_address;
}

enum gmt_unwinder gmt_native_init(void)
{
	int found = atomic_load_explicit(&native.unwinder, memory_order_acquire);

	if (found >= 0)
		return found;
	found = open_libunwind() ? GMT_UNWINDER_LIBUNWIND
		: open_libgcc()      ? GMT_UNWINDER_LIBGCC
							 : GMT_UNWINDER_NONE;
	/* Pairs with the acquire loads: a thread that sees the answer sees the function pointer. */
	atomic_store_explicit(&native.unwinder, found, memory_order_release);
	return found;
}

enum gmt_unwinder gmt_native_unwinder(void)
{
	int found = atomic_load_explicit(&native.unwinder, memory_order_acquire);

	return found < 0 ? GMT_UNWINDER_NONE : (enum gmt_unwinder)found;
}

struct libgcc_walk {
	void **addresses;
	int count;
	int limit;
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *argument)
{
	struct libgcc_walk *walk = argument;

	if (walk->count == walk->limit)
		return _URC_END_OF_STACK;
	walk->addresses[walk->count++] = (void *)native.libgcc_frame_address(context);
	return _URC_NO_REASON;
}

static int unwind(void **addresses, int limit)
{
	struct libgcc_walk walk = { .addresses = addresses, .limit = limit };
	int cancellation = gmt_cancellation_disable();

	if (native.libunwind_backtrace)
		walk.count = native.libunwind_backtrace(addresses, limit);
	else
		native.libgcc_backtrace(add_frame, &walk);
	gmt_cancellation_restore(cancellation);
	return walk.count;
}

static bool is_recorder_code(uint64_t address)
{
	const struct gmt_object *self = gmt_object_self();

	return address >= self->start && address < self->end;
}

/*
 * Stores a stack in the depot and returns its id. The addresses lie behind the header, which the
 * caller provides.
 */
static uint32_t intern(struct gmt_depot *depot, struct gmt_depot_stack *stack, uint32_t count,
	uint64_t hash, bool *ret_lost)
{
	uint64_t head = (uint64_t)stack->generation << 32 | count << 2 | stack->truncated;
	uint32_t id = gmt_depot_intern_hashed(depot, GMT_DEPOT_STACK, stack,
		(uint32_t)(sizeof(*stack) + count * sizeof(*stack->addresses)),
		gmt_hash_mix(hash ^ 0xa0761d6478bd642f, head ^ 0x8ebc6af09c88c6e3));

	*ret_lost |= id == 0;
	return id;
}

/* Returns whether no table describes the code at the return address. */
static bool is_unknown_code(uint64_t address)
{
	uint32_t generation;

	return gmt_rule_cache_begin(&generation) &&
		gmt_rule_cache_find(address).kind == GMT_UNWIND_NONE;
}

/*
 * Takes the stack by the unwinder, without the recorder's frames. Returns the number of frames.
 * `ret_stack` has room for `depth` + RECORDER_FRAMES addresses.
 */
static uint32_t unwind_stack(struct gmt_depot_stack *ret_stack, uint32_t depth)
{
	uint64_t *addresses = ret_stack->addresses;
	int limit = (int)depth + RECORDER_FRAMES;
	int count = unwind((void **)addresses, limit);
	int recorder_frames = 0;

	while (recorder_frames < count && is_recorder_code(addresses[recorder_frames]))
		recorder_frames++;

	uint32_t frames = (uint32_t)(count - recorder_frames);

	ret_stack->truncated = frames > depth || count == limit ? GMT_STACK_CUT
		: count && is_unknown_code(addresses[count - 1])    ? GMT_STACK_STOPPED
															: GMT_STACK_WHOLE;
	if (frames > depth)
		frames = depth;
	if (recorder_frames)
		memmove(addresses, addresses + recorder_frames, frames * sizeof(*addresses));
	return frames;
}

union stack_buffer {
	struct gmt_depot_stack stack;
	uint64_t words[1 + GMT_DEPTH_MAX + RECORDER_FRAMES];
};

/* The arguments of unwinder_work, and its results. */
struct unwinder_call {
	struct gmt_depot *depot;
	uint32_t depth, generation;
	bool is_lost;
	uint32_t id;
};

/* Runs on a recorder stack. */
static void unwinder_work(void *argument)
{
	struct unwinder_call *call = argument;
	union stack_buffer buffer;
	uint32_t count = unwind_stack(&buffer.stack, call->depth);

	buffer.stack.generation = call->generation;
	if (count)
		call->id = intern(call->depot, &buffer.stack, count,
			gmt_walk_hash(buffer.stack.addresses, count, 0), &call->is_lost);
}

__attribute__((noinline)) static uint32_t capture_by_unwinder(struct gmt_depot *depot,
	uint32_t depth, uint32_t generation, bool *ret_lost)
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

/* Compares a stack with the unwinder's stack. Runs on a recorder stack. */
static void comparison_work(void *argument)
{
	const struct comparison *walked = argument;
	union stack_buffer buffer;
	uint32_t seen = unwind_stack(&buffer.stack, walked->depth), same = 0;

	/*
	 * Newer versions of libunwind give the address of the innermost call, not its return address.
	 */
	while (same < seen && same < walked->count &&
		walked->addresses[same] - buffer.stack.addresses[same] <= 1)
		same++;
	/* A stack by frame pointers may end before the unwinder's stack. */
	gmt_selftest_count(&native.selftest,
		same != walked->count ||
			(same != seen && gmt_config.unwind != GMT_UNWIND_METHOD_FRAME_POINTERS));
}

__attribute__((noinline)) static void compare_with_unwinder(const uint64_t *addresses,
	uint32_t count, uint32_t depth)
{
	gmt_recorder_stack_run(comparison_work, &(struct comparison){ addresses, count, depth });
}

/* Stores the innermost `count` frames of a walk in the depot. */
static uint32_t intern_walk(struct gmt_walk *walk, struct gmt_depot *depot, uint32_t count,
	uint32_t generation, bool *ret_lost)
{
	uint64_t *before = &walk->addresses[walk->host_begin - 1], kept = *before;
	struct gmt_depot_stack *stack = (struct gmt_depot_stack *)(void *)before;
	bool is_all = count == gmt_walk_count(walk);
	uint64_t hash =
		is_all ? walk->hashes[walk->host_begin] : gmt_walk_hash(stack->addresses, count, 0);

	stack->generation = generation;
	stack->truncated = is_all ? walk->stack_end : GMT_STACK_CUT;

	uint32_t id = intern(depot, stack, count, hash, ret_lost);

	*before = kept;
	return id;
}

/* Stores both ends of a stack that is deeper than `depth`, or only the inner end. */
__attribute__((noinline)) static uint32_t intern_both_ends(struct gmt_walk *walk,
	const struct gmt_walk_start *start, struct gmt_depot *depot, uint32_t depth,
	uint32_t generation, bool *ret_lost)
{
	struct gmt_depot_stack *stack = gmt_walk_scratch(walk);
	uint32_t outer = depth / GMT_OUTER_END_DIVISOR, inner = depth - outer;
	uint64_t hash = 0;

	if (!outer || walk->stack_end == GMT_STACK_STOPPED ||
		(walk->stack_end == GMT_STACK_CUT &&
			!gmt_walk_outermost(walk, start, outer, stack->addresses + inner)))
		return intern_walk(walk, depot, depth, generation, ret_lost);
	if (walk->stack_end == GMT_STACK_WHOLE) {
		memcpy(stack->addresses + inner, walk->addresses + GMT_WALK_FRAMES - outer,
			outer * sizeof(*stack->addresses));
		hash = walk->hashes[GMT_WALK_FRAMES - outer];
	} else {
		hash = gmt_walk_hash(stack->addresses + inner, outer, 0);
	}
	memcpy(stack->addresses, walk->addresses + walk->host_begin, inner * sizeof(*stack->addresses));
	/* The 0 for the gap takes the place of one frame, so that the stack has only `depth` items. */
	stack->addresses[inner - 1] = 0;
	stack->generation = generation;
	stack->truncated = GMT_STACK_WHOLE;
	return intern(depot, stack, depth, gmt_walk_hash(stack->addresses, inner, hash), ret_lost);
}

/*
 * Returns whether the stack's id is known. It is not if the stack was cut: outer frames may have
 * changed.
 */
static inline bool has_known_id(const struct gmt_walk *walk, uint32_t generation)
{
	return walk->is_known && walk->id && walk->map_generation == generation &&
		walk->stack_end != GMT_STACK_CUT;
}

/*
 * Stores the walked stack and returns its id. `depth` is the largest number of frames of a stack.
 * It must be the same in all calls.
 */
__attribute__((noinline)) static uint32_t capture_by_walk(struct gmt_walk *walk,
	const struct gmt_walk_start *start, struct gmt_depot *depot, uint32_t depth,
	uint32_t generation, bool *ret_lost)
{
	uint32_t count = gmt_walk_count(walk);

	if (WALKS_BY_FRAME_POINTERS && walk->stack_end == GMT_STACK_STOPPED && count < depth &&
		gmt_config.unwind != GMT_UNWIND_METHOD_FRAME_POINTERS)
		return capture_by_unwinder(depot, depth, generation, ret_lost);
	/* The unwinder treats code without tables differently, so such stacks are not compared. */
	if (gmt_config.selftest && !walk->crosses_unknown_code &&
		gmt_native_unwinder() != GMT_UNWINDER_NONE &&
		++walk->captures_since_selftest >= gmt_config.selftest) {
		walk->captures_since_selftest = 0;
		compare_with_unwinder(walk->addresses + walk->host_begin, count < depth ? count : depth,
			depth);
	}
	if (has_known_id(walk, generation))
		return walk->id;
	walk->map_generation = generation;
	walk->id = !count   ? 0
		: count > depth ? intern_both_ends(walk, start, depot, depth, generation, ret_lost)
						: intern_walk(walk, depot, count, generation, ret_lost);
	gmt_stack_cache_set_id(walk);
	return walk->id;
}

/*
 * Takes the stack like gmt_walk_capture. During a selftest, gmt_native_is_unchanged finds no equal
 * stack, because unchanged_for_generation is not set. This function finds the equal stacks in the
 * same way, so that the selftest compares them too.
 */
static inline bool walk_stack(struct gmt_walk *walk, const struct gmt_walk_start *start,
	uint32_t depth, uint32_t generation)
{
	if (__builtin_expect(gmt_config.selftest != 0, 0) && !start->by_frame_pointers && walk->id &&
		gmt_walk_is_verified(walk) && walk->map_generation == generation &&
		gmt_walk_is_unchanged(walk, start->ip, start->sp, start->fp)) {
		walk->stack_cache.current = 0;
		return walk->is_known = true;
	}
	return gmt_walk_capture(walk, start, depth);
}

uint32_t gmt_native_capture(struct gmt_depot *depot, uint32_t depth, uint32_t generation,
	struct gmt_walk *walk, const struct gmt_native_start *from, bool *ret_lost)
{
	const struct gmt_object *self = gmt_object_self();
	struct gmt_walk_start start = {
		.ip = from->ip,
		.sp = from->sp,
		.fp = from->fp,
		.recorder_start = self->start,
		.recorder_end = self->end,
		.by_frame_pointers =
			WALKS_BY_FRAME_POINTERS || gmt_config.unwind == GMT_UNWIND_METHOD_FRAME_POINTERS,
	};

	if (!walk)
		return capture_by_unwinder(depot, depth, generation, ret_lost);
	walk->unchanged_for_generation = GMT_WALK_NO_GENERATION;
	if (gmt_config.unwind == GMT_UNWIND_METHOD_LIBUNWIND ||
		!walk_stack(walk, &start, depth, generation))
		return capture_by_unwinder(depot, depth, generation, ret_lost);

	bool was_unchanged = walk->is_known && !walk->stack_cache.current;

	/* A selftest compares all stacks, and a stack by frame pointers needs further checks. */
	if (gmt_config.selftest || start.by_frame_pointers)
		return capture_by_walk(walk, &start, depot, depth, generation, ret_lost);
	/* Mostly the id is known already. */
	if (!has_known_id(walk, generation))
		capture_by_walk(walk, &start, depot, depth, generation, ret_lost);
	/* If stacks differ each time, gmt_native_is_unchanged would only add a second comparison. */
	if (was_unchanged && walk->id && gmt_walk_is_verified(walk))
		walk->unchanged_for_generation = generation;
	return walk->id;
}

/*
 * Returns whether a signal handler returns to `address`: its code only asks the kernel to restore
 * the interrupted state.
 */
static bool is_signal_return(uint64_t address)
{
#if defined(__x86_64__)
	/* mov $__NR_rt_sigreturn, %rax; syscall */
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
#else
	/* mov x8, #__NR_rt_sigreturn; svc #0 */
	static const uint8_t code[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 };
#endif

	return gmt_memory_is_readable((uintptr_t)address) &&
		gmt_memory_is_readable((uintptr_t)address + sizeof(code) - 1) &&
		memcmp((const void *)(uintptr_t)address, code, sizeof(code)) == 0;
}

/* Runs on a recorder stack. */
static void find_recorder_work(void *argument)
{
	enum gmt_native_recorder *answer = argument;
	uint64_t addresses[SEARCHED_FRAMES];
	int count = unwind((void **)addresses, SEARCHED_FRAMES), at = 0;
	bool is_interrupted = false;
	uint32_t generation;

	while (at < count && is_recorder_code(addresses[at]))
		at++;
	for (int i = at; i < count; i++) {
		if (is_recorder_code(addresses[i])) {
			*answer = is_interrupted ? GMT_NATIVE_RECORDER_IS_INTERRUPTED
									 : GMT_NATIVE_RECORDER_IS_OUTSIDE;
			return;
		}
		is_interrupted |= is_signal_return(addresses[i]);
	}
	/* The first function of the program or of a thread has no caller: it is the end of a stack. */
	if (at < count && count < SEARCHED_FRAMES && gmt_rule_cache_begin(&generation) &&
		gmt_rule_cache_find(addresses[count - 1]).kind == GMT_UNWIND_END)
		*answer = GMT_NATIVE_RECORDER_IS_NOT;
}

enum gmt_native_recorder gmt_native_outer_recorder(const void *caller)
{
	enum gmt_native_recorder answer = GMT_NATIVE_RECORDER_IS_UNKNOWN;

	/* The recorder called code that then jumped to a hooked function. */
	if (caller && is_recorder_code((uint64_t)(uintptr_t)caller))
		return GMT_NATIVE_RECORDER_IS_OUTSIDE;
	if (gmt_native_unwinder() != GMT_UNWINDER_NONE)
		gmt_recorder_stack_run(find_recorder_work, &answer);
	return answer;
}

bool gmt_native_selftest(char *ret_text, uint32_t bytes)
{
	return gmt_selftest_report(&native.selftest, "native stacks were compared with the unwinder",
		ret_text, bytes);
}
