/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_WALK_H
#define GMT_UNWIND_WALK_H

/*
 * Walks the calling thread's native stack by rules (unwind/rule_cache.h), and remembers the stack.
 * The next walk visits only the new frames. It verifies the remembered frames and reuses them. In
 * the flow: native_capture -> walk -> rule_cache, and walk -> stack_cache.
 *
 * With `by_frame_pointers`, the walk follows frame pointers and reads no table.
 *
 * The walk never writes to the stack. It reads only memory that is certainly the thread's own stack
 * (unwind/stack_bounds.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "unwind/depth_limits.h"
#include "unwind/stack_bounds.h"
#include "unwind/stack_cache.h"
#include "format/format.h"

enum {
	GMT_WALK_FRAMES = 2048, /* room for the remembered frames */
	GMT_WALK_NEW_FRAMES = 1024, /* the most frames that are remembered of one stack */
};

#define GMT_WALK_NO_GENERATION UINT32_MAX

/*
 * A frame that a walk has reached. `ip` is the return address at which the frame's function
 * continues, read from the word below the stack pointer. walk_slots.h explains slots.
 */
struct gmt_walk_frame {
	uint64_t ip, fp;
	uint32_t slot; /* slot of the stack pointer, with the flag GMT_WALK_BY_FP of walk_slots.h */
	/*
	 * The next outer frame's fp was read so many words below the slot of that frame; 0: the two
	 * frames have the same fp.
	 */
	uint32_t saved_words;
};

/*
 * A thread's memory of its last stack. Only one thread uses it at a time. Frames [begin,
 * GMT_WALK_FRAMES) are that stack, innermost first.
 *
 * The data that each walk reads lies close together, on few pages (producer/thread_stack_caches.h).
 * The arrays are filled from their ends, and each end is followed by the beginning of the next
 * array or field.
 */
struct gmt_walk {
	/* The arrays below end in the middle of pages: the data on both sides of an end is close. */
	char half_a_page[2048];
	struct gmt_walk_frame new_frames[GMT_WALK_NEW_FRAMES + 1];
	uint64_t hashes[GMT_WALK_FRAMES + 1]; /* of the addresses from a frame outwards */
	uint64_t addresses[GMT_WALK_FRAMES];
	/*
	 * Frame pointers that matter, the outermost frame's first, and the slots where they were read.
	 * A frame pointer that was not read from the stack has no entry here.
	 */
	uint64_t fp_values[GMT_WALK_FRAMES];
	uint16_t fp_marks[GMT_WALK_FRAMES]; /* see walk_slots.h */
	uint32_t fp_slots[GMT_WALK_FRAMES];
	/* Slots of the stack pointers; the last entry is beyond all slots. */
	uint32_t slots[GMT_WALK_FRAMES + 1];
	struct gmt_stack_bounds stack_bounds;
	uint32_t begin;
	uint32_t host_begin; /* the innermost frame outside the recorder */
	uint32_t generation; /* generation of the rules that found these frames */
	/* enum gmt_stack_end; GMT_STACK_CUT: the stack has more than GMT_WALK_NEW_FRAMES frames */
	uint8_t stack_end;
	/* The walk depended on words that are not verified: the next walk must forget these frames. */
	bool has_unverified_words;
	bool crosses_unknown_code; /* the walk has met code that no table describes */
	/* The same stack was taken before. `id` and `map_generation` are those of that time. */
	bool is_known;
	uint32_t id; /* set by the caller: the id of the last stack that was taken; 0: no id */
	/* Set by the caller: the generation of the object map that `id` refers to. */
	uint32_t map_generation;
	uint32_t captures_since_selftest; /* set by the caller: stacks since the last comparison by the
										 selftest */
	/*
	 * Set by the caller: the map_generation for which a stack that passes gmt_walk_is_unchanged
	 * has the id `id`; else GMT_WALK_NO_GENERATION.
	 */
	uint32_t unchanged_for_generation;
	uint64_t fp, outermost_fp; /* frame pointers of the innermost and the outermost frame */
	struct gmt_stack_cache stack_cache;
};

/* Returns the number of remembered frames outside the recorder. */
static inline uint32_t gmt_walk_count(const struct gmt_walk *walk)
{
	return GMT_WALK_FRAMES - walk->host_begin;
}

/*
 * Returns memory that the caller may use until the next walk, instead of memory on the host's
 * stack. It has room for a stack of GMT_DEPTH_MAX addresses and its header.
 */
static inline void *gmt_walk_scratch(struct gmt_walk *walk)
{
	return walk->new_frames;
}

/* Initializes a walk for a thread without a remembered stack. */
void gmt_walk_init(struct gmt_walk *walk);

/*
 * The registers where a walk begins, the addresses of the recorder's own code (the walk leaves the
 * recorder's frames out), and the method.
 */
struct gmt_walk_start {
	uint64_t ip, sp, fp;
	uint64_t recorder_start, recorder_end;
	/* Follow frame pointers instead of rules; the same in all walks of a process. */
	bool by_frame_pointers;
};

/* Returns the return address in `word`, without the signature that AArch64 may put into it. */
static inline uint64_t gmt_walk_code(uint64_t word)
{
#ifdef __aarch64__
	register uint64_t link __asm__("x30") = word;

	/* The instruction xpaclri; older processors treat it as a no-op. */
	__asm__("hint #7" : "+r"(link));
	return link;
#else
	return word;
#endif
}

/*
 * Takes the stack from `start` outwards. Afterwards the frames from `host_begin` on are those
 * outside the recorder, at least one. Returns false if the walk reaches neither `limit` frames nor
 * the end of the stack; then it remembers no frame.
 *
 * The walk crosses code without a table by the frame pointer, if that leads to code with a table.
 * Otherwise the stack ends with that code (GMT_STACK_STOPPED). If the code keeps no frame pointer,
 * the register may hold that of a caller further out. Then the frames in between are missing.
 */
bool gmt_walk_capture(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t limit);

/*
 * Finds the outermost `count` frames of a stack that was cut (gmt_walk::stack_end), beyond the
 * known frames. Fills `ret_addresses`, innermost first. Returns false if there are fewer frames, or
 * if the end is not among the next GMT_OUTER_END_MAX_SEARCHED_FRAMES frames.
 */
bool gmt_walk_outermost(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t count,
	uint64_t *ret_addresses);

/*
 * Returns the hash of a stack of `count` addresses, innermost first, as in gmt_walk::hashes.
 * `outer` is the hash of the stack that follows outwards; 0 if the stack ends.
 */
uint64_t gmt_walk_hash(const uint64_t *addresses, uint32_t count, uint64_t outer);

#endif
