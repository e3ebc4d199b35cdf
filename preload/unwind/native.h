/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_NATIVE_H
#define GMT_UNWIND_NATIVE_H

/*
 * Native stacks: by our own walk (unwind/walk.h) where all frames of a stack have a simple rule and it is the
 * thread's own; else by libunwind's fast path, which is opened at run time with RTLD_LOCAL: linked, it
 * would take the C++ unwinder's place for the whole process and make each exception of the host 14
 * times slower. Where there is no libunwind, the unwinder of libgcc does it, ten times slower.
 *
 * The option `unwind` decides. On AArch64, where compilers keep frame pointers, the walk goes by these, and libunwind
 * takes the stacks whose chain breaks off. Asked for by name, frame pointers are all that is gone by: code that
 * keeps none lacks its caller, and a chain that breaks off is the end of a stack.
 */

#include <stdbool.h>
#include <stdint.h>

#include "depot/depot.h"
#include "unwind/unchanged_stack.h"

/* Where a function returns to, and how its caller's frame will be then: what a stack begins with. */
struct gmt_native_start {
	uint64_t ip, sp, fp;
};

/* Of the function that it is inlined in, which is noinline itself and is not left before the stack is taken. */
__attribute__((always_inline)) static inline struct gmt_native_start gmt_native_start_here(void)
{
	const uint64_t *frame = __builtin_frame_address(0);

	return (struct gmt_native_start){ .ip = gmt_walk_code(frame[1]), .sp = (uint64_t)(frame + 2), .fp = frame[0] };
}

enum gmt_unwinder { GMT_UNWINDER_NONE, GMT_UNWINDER_LIBGCC, GMT_UNWINDER_LIBUNWIND };

/*
 * Opens an unwinder: libunwind beside this library (with its liblzma), then the system's, then
 * libgcc. Idempotent. It calls dlopen: never inside an allocation hook or dlsym.
 */
enum gmt_unwinder gmt_native_init(void);

/* What gmt_native_init found. */
enum gmt_unwinder gmt_native_unwinder(void);

/*
 * The calling thread's native stack from `start` outwards, at most `depth` frames, from the caller of the hooked function,
 * as a depot id of kind GMT_DEPOT_STACK; 0 when it needs an unwinder and there is none, or the depot is full (then
 * *ret_lost is set). `generation` is the module map's.
 */
uint32_t gmt_native_capture(struct gmt_depot *depot, uint32_t depth, uint32_t generation, struct gmt_walk *walk,
	const struct gmt_native_start *start, bool *ret_lost);

/* Whether that stack is the one that was taken last, and still called gmt_walk::id, which is not 0 then. */
static inline bool gmt_native_is_same(const struct gmt_walk *walk, uint32_t generation, const struct gmt_native_start *start)
{
	return walk->same_for == generation && gmt_walk_is_same(walk, start->ip, start->sp, start->fp);
}

enum gmt_native_recorder {
	GMT_NATIVE_RECORDER_IS_OUTSIDE, /* a call of the recorder is among the frames */
	GMT_NATIVE_RECORDER_IS_INTERRUPTED, /* the same, and a signal handler lies in between */
	GMT_NATIVE_RECORDER_IS_NOT,     /* the stack is known to its end, and has none */
	GMT_NATIVE_RECORDER_IS_UNKNOWN, /* no unwinder, or a stack that it does not know to its end */
};

/*
 * Whether the calling thread's stack has frames of the recorder outside of those that called this. `caller` is where these
 * return to; NULL: not known. Asks the unwinder, which knows the frames that signals interrupt. Slow.
 */
enum gmt_native_recorder gmt_native_outer_recorder(const void *caller);

/*
 * With the option selftest: how many stacks were compared and how many differ, as a line. False when none were. Those
 * by frame pointers need only be the beginning of what the unwinder sees: libraries without them end many.
 */
bool gmt_native_selftest(char *ret_text, uint32_t bytes);

#endif
