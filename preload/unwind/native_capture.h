/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_NATIVE_CAPTURE_H
#define GMT_UNWIND_NATIVE_CAPTURE_H

/*
 * Captures native stacks.
 *
 * The recorder's own walk (unwind/walk.h) takes the stack if all frames have simple rules and lie
 * on the thread's own stack. Otherwise the fast path of libunwind takes it.
 *
 * The recorder opens libunwind at run time with RTLD_LOCAL. If it were linked, libunwind would
 * replace the C++ unwinder in the whole process, and each exception of the host would become 14
 * times slower. Without libunwind, the unwinder of libgcc takes the stacks, ten times slower.
 *
 * The option `unwind` chooses the method. On AArch64 compilers keep frame pointers, so the walk
 * follows frame pointers. If the chain of frame pointers breaks off, libunwind takes the stack.
 * With unwind=frame-pointers, the recorder uses only frame pointers. Then the caller of code
 * without frame pointers is missing, and the stack ends where the chain breaks off.
 */

#include <stdbool.h>
#include <stdint.h>

#include "depot/depot.h"
#include "unwind/walk_unchanged.h"

/*
 * The start of a stack: the return address of a function, and the stack and frame pointer of its
 * caller after the return.
 */
struct gmt_native_start {
	uint64_t ip, sp, fp;
};

/*
 * Returns the start for the function that this call is inlined in. That function must be noinline,
 * and must not return before the stack is taken.
 */
__attribute__((always_inline)) static inline struct gmt_native_start gmt_native_start_here(void)
{
	const uint64_t *frame = __builtin_frame_address(0);

	return (struct gmt_native_start){
		.ip = gmt_walk_code(frame[1]), .sp = (uint64_t)(frame + 2), .fp = frame[0]
	};
}

enum gmt_unwinder { GMT_UNWINDER_NONE, GMT_UNWINDER_LIBGCC, GMT_UNWINDER_LIBUNWIND };

/*
 * Opens an unwinder and returns its kind. It tries libunwind in the folder of this library (with
 * its liblzma), then the system's libunwind, then libgcc. Idempotent. It calls dlopen: do not call
 * it inside an allocation hook or inside dlsym.
 */
enum gmt_unwinder gmt_native_init(void);

/* Returns the result of gmt_native_init; GMT_UNWINDER_NONE before that call. */
enum gmt_unwinder gmt_native_unwinder(void);

/*
 * Captures the calling thread's native stack from `from` outwards, at most `depth` frames. The
 * first frame is the caller of the hooked function. `generation` is that of the object map.
 *
 * Returns a depot id of kind GMT_DEPOT_STACK. Returns 0 if the stack needs an unwinder and the
 * process has no unwinder, or if the depot is full. If the depot is full, *ret_lost is set too.
 */
uint32_t gmt_native_capture(struct gmt_depot *depot, uint32_t depth, uint32_t generation,
	struct gmt_walk *walk, const struct gmt_native_start *from, bool *ret_lost);

/*
 * Returns whether the stack from `start` outwards equals the last stack that was taken. Then
 * gmt_walk::id is its id, which is not 0.
 */
static inline bool gmt_native_is_unchanged(const struct gmt_walk *walk, uint32_t generation,
	const struct gmt_native_start *start)
{
	return walk->unchanged_for_generation == generation &&
		gmt_walk_is_unchanged(walk, start->ip, start->sp, start->fp);
}

/* Whether a stack has frames of the recorder. */
enum gmt_native_recorder {
	GMT_NATIVE_RECORDER_IS_OUTSIDE,     /* outer frames are the recorder's */
	GMT_NATIVE_RECORDER_IS_INTERRUPTED, /* same as above, and a signal handler lies in between */
	GMT_NATIVE_RECORDER_IS_NOT,     /* the stack is known to its end and has no such frames */
	GMT_NATIVE_RECORDER_IS_UNKNOWN, /* no unwinder, or the unwinder does not know the whole stack */
};

/*
 * Returns whether the calling thread's stack has frames of the recorder, outside the recorder
 * frames that made this call. `caller` is the return address of those inner frames; NULL if it is
 * not known. Slow: it uses the unwinder, which also crosses the frames that signals interrupt.
 */
enum gmt_native_recorder gmt_native_outer_recorder(const void *caller);

/*
 * Writes a line for the option selftest: how many stacks were compared and how many differ. Returns
 * false if no stack was compared. A stack that was taken by frame pointers counts as equal if the
 * unwinder's stack begins with it: libraries without frame pointers end many such stacks early.
 */
bool gmt_native_selftest(char *ret_text, uint32_t bytes);

#endif
