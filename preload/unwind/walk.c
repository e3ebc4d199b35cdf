/* SPDX-License-Identifier: MIT */
#include "unwind/walk.h"

#include <string.h>

#include "unwind/memory_is_readable.h"
#include "unwind/rule_cache.h"
#include "unwind/walk_slots.h"

/* walk_slots.h explains why a splice is exact. */

enum {
	ADDRESS_LOWEST = 0x4000,     /* no code lies below this address */
	NEAR_STACK_BYTES = 65536, /* no other stack is so near */
};

static const uint32_t beyond_all_slots = ~(uint32_t)0;

struct registers {
	uint64_t ip, sp, fp;
};

enum step {
	STEP_CONTINUE,
	STEP_UNREMEMBERED,  /* continue, but do not remember the frame */
	STEP_OVER_UNKNOWN_CODE, /* the same, across code that no table describes */
	STEP_END,
	STEP_NULL_IP,
	STEP_FAILED,
	STEP_STOPPED,
	STEP_NO_ROOM, /* no room for more frames */
};

static inline bool is_recorder_code(const struct gmt_walk_start *start, uint64_t ip)
{
	return ip >= start->recorder_start && ip < start->recorder_end;
}

/* Returns the rule of a frame. The recorder's code has tables, or else keeps frame pointers. */
static inline struct gmt_unwind_rule rule_of(const struct gmt_walk_start *start,
	const struct registers *frame)
{
	static const struct gmt_unwind_rule framed = {
		.kind = GMT_UNWIND_BY_FP,
		.cfa_words = GMT_UNWIND_FRAMED_WORDS,
		.saved_words = GMT_UNWIND_FRAMED_WORDS,
	};

	if (!start->by_frame_pointers || (gmt_rule_cache_sets && is_recorder_code(start, frame->ip)))
		return gmt_rule_cache_find(frame->ip);
	return frame->fp ? framed : (struct gmt_unwind_rule){ .kind = GMT_UNWIND_END };
}

/* Crosses code that no table describes. A valid frame pointer leads outwards on the same stack. */
__attribute__((noinline)) static enum step step_over_unknown_code(const struct registers *frame,
	uint64_t top, struct registers *ret_next)
{
	enum { BYTES = GMT_UNWIND_FRAMED_WORDS * GMT_UNWIND_WORD_BYTES };

	if (frame->fp < frame->sp || frame->fp % GMT_UNWIND_WORD_BYTES || frame->fp > top - BYTES)
		return STEP_STOPPED;
	*ret_next = (struct registers){
		.ip = gmt_walk_code(gmt_walk_word(frame->fp + GMT_UNWIND_WORD_BYTES)),
		.sp = frame->fp + BYTES,
		.fp = gmt_walk_word(frame->fp),
	};
	return ret_next->ip < ADDRESS_LOWEST ? STEP_STOPPED : STEP_OVER_UNKNOWN_CODE;
}

/* Steps out of a function that has aligned its frame: three words give the next frame, not two. */
__attribute__((noinline)) static enum step step_by_word(const struct registers *frame,
	struct gmt_unwind_rule rule, uint64_t top, struct registers *ret_next)
{
	uint64_t sp_address = frame->fp - (uint64_t)rule.cfa_words * GMT_UNWIND_WORD_BYTES;

	if (frame->fp % GMT_UNWIND_WORD_BYTES || sp_address < frame->sp || sp_address > frame->fp ||
		frame->fp >= top)
		return STEP_STOPPED;
	ret_next->sp = gmt_walk_word(sp_address);
	/* The function's own saved frame pointer lies in between. */
	if (ret_next->sp % GMT_UNWIND_WORD_BYTES || ret_next->sp > top ||
		ret_next->sp < frame->fp + GMT_UNWIND_WORD_BYTES * 2)
		return STEP_STOPPED;
	ret_next->ip = gmt_walk_word(ret_next->sp - GMT_UNWIND_WORD_BYTES);
	ret_next->fp = gmt_walk_word(frame->fp);
	return ret_next->ip < ADDRESS_LOWEST ? STEP_STOPPED : STEP_UNREMEMBERED;
}

/*
 * Decides how to continue when a rule leads to an address outside of the stack. If the program has
 * switched stacks, the frame pointer points to a frame on the other stack: libunwind continues
 * there (STEP_FAILED). In all other cases the unwind tables are wrong. libunwind would use the same
 * tables, so the walk stops.
 */
__attribute__((noinline)) static enum step step_off_stack(const struct gmt_walk_start *start,
	const struct registers *frame, struct gmt_unwind_rule rule, uint64_t top)
{
	bool is_near =
		frame->fp - (frame->sp - NEAR_STACK_BYTES) < top - frame->sp + 2 * NEAR_STACK_BYTES;

	return !start->by_frame_pointers && rule.kind == GMT_UNWIND_BY_FP &&
			rule.cfa_words == GMT_UNWIND_FRAMED_WORDS &&
			rule.saved_words == GMT_UNWIND_FRAMED_WORDS && frame->fp % GMT_UNWIND_WORD_BYTES == 0 &&
			!is_near && gmt_memory_is_readable(frame->fp + GMT_UNWIND_WORD_BYTES)
		? STEP_FAILED
		: STEP_STOPPED;
}

/* Steps from a frame to the next outer frame. */
__attribute__((always_inline)) static inline enum step step(const struct gmt_walk_start *start,
	const struct registers *frame, struct gmt_unwind_rule rule, uint64_t top,
	struct registers *ret_next)
{
	if (rule.kind > GMT_UNWIND_BY_FP)
		return rule.kind == GMT_UNWIND_END    ? STEP_END
			: rule.kind == GMT_UNWIND_NONE    ? step_over_unknown_code(frame, top, ret_next)
			: rule.kind == GMT_UNWIND_BY_WORD ? step_by_word(frame, rule, top, ret_next)
											  : STEP_FAILED;

	uint64_t sp = frame->sp + (uint64_t)rule.cfa_words * GMT_UNWIND_WORD_BYTES;

	/* A branch, not a conditional move: the processor would wait for an unused frame pointer. */
	if (__builtin_expect(rule.kind == GMT_UNWIND_BY_FP, 0))
		sp = frame->fp + (uint64_t)rule.cfa_words * GMT_UNWIND_WORD_BYTES;

	uint64_t fp_address = sp - (uint64_t)rule.saved_words * GMT_UNWIND_WORD_BYTES;

	/* The step must go outwards on the same stack, by whole words. Any frame pointer is allowed. */
	if (sp < frame->sp + GMT_UNWIND_WORD_BYTES || sp > top || sp % GMT_UNWIND_WORD_BYTES ||
		fp_address < frame->sp)
		return step_off_stack(start, frame, rule, top);
	ret_next->sp = sp;
	ret_next->ip = gmt_walk_code(gmt_walk_word(sp - GMT_UNWIND_WORD_BYTES));
	ret_next->fp = rule.saved_words ? gmt_walk_word(fp_address) : frame->fp;
	/* A return address of 0 ends the stack without a table, so the next walk must verify it. */
	return ret_next->ip >= ADDRESS_LOWEST ? STEP_CONTINUE
		: ret_next->ip                    ? STEP_STOPPED
										  : STEP_NULL_IP;
}

/*
 * Returns the innermost remembered frame to which the walk can splice: all words that matter for
 * the frames outwards of it are unchanged. `here` is the slot of the current stack pointer.
 */
__attribute__((always_inline)) static inline uint32_t find_splice_frame(const struct gmt_walk *walk,
	uint64_t origin, uint32_t here)
{
	uint32_t begin = walk->begin + 1;

	/* Slots grow outwards: all later slots lie above the current stack pointer. */
	while (walk->slots[begin] <= here)
		begin++;

	uint32_t at =
		gmt_walk_matches_from(walk->slots, walk->addresses, begin, GMT_WALK_FRAMES, origin) - 1;

	uint32_t words = gmt_walk_fp_words(walk->fp_marks[at]);

	if (!words)
		return at;
	/* Slots of frame pointers: only the last may lie below the current stack pointer. */
	uint32_t readable = walk->fp_slots[words - 1] < here ? words - 1 : words;
	uint32_t matching = gmt_walk_count_matching(walk->fp_slots, walk->fp_values, readable, origin);

	/*
	 * The innermost frame with at most `matching` words outwards of it: only its recorder_frames
	 * word may differ.
	 */
	if (matching < words)
		while (gmt_walk_fp_words(walk->fp_marks[at]) > matching)
			at++;
	return at;
}

/* Returns whether `frame` equals remembered frame `at`, as far as that frame matters. */
static inline bool equals_remembered(const struct gmt_walk *walk, uint32_t at,
	const struct registers *frame, uint32_t slot)
{
	return walk->slots[at] == slot && walk->addresses[at] == frame->ip &&
		(!gmt_walk_fp_matters(walk->fp_marks[at]) || gmt_walk_fp_of(walk, at) == frame->fp);
}

uint64_t gmt_walk_hash(const uint64_t *addresses, uint32_t count, uint64_t outer)
{
	while (count)
		outer = gmt_walk_hash_add(outer, addresses[--count]);
	return outer;
}

static void forget(struct gmt_walk *walk)
{
	walk->begin = GMT_WALK_FRAMES;
	walk->is_known = walk->has_unverified_words = walk->crosses_unknown_code = false;
}

void gmt_walk_init(struct gmt_walk *walk)
{
	walk->stack_bounds = (struct gmt_stack_bounds){ 0 };
	walk->slots[GMT_WALK_FRAMES] = beyond_all_slots;
	walk->id = walk->captures_since_selftest = 0;
	walk->unchanged_for_generation = GMT_WALK_NO_GENERATION;
	gmt_stack_cache_clear(&walk->stack_cache);
	forget(walk);
}

/*
 * Returns the slot where the frame pointer of the frame at `slot` was read; 0 if it was not read.
 * The first `count` frames of `new_frames` come before that frame.
 */
static inline uint32_t fp_slot(const struct gmt_walk *walk, uint32_t count, uint32_t slot)
{
	uint32_t saved_words = count ? walk->new_frames[count - 1].saved_words : 0;

	return saved_words ? slot - saved_words : 0;
}

/*
 * Adds a frame pointer that matters as entry `words`; `slot` is where it was read (0: not read).
 * Returns the number of entries afterwards.
 */
static inline uint32_t add_fp_word(struct gmt_walk *walk, uint32_t words, uint32_t slot,
	uint64_t value)
{
	if (!slot)
		return words;
	walk->fp_slots[words] = slot;
	walk->fp_values[words] = value;
	return words + 1;
}

/*
 * Puts the first `count` frames of `new_frames` before frame `at`; `recorder_frames` of them are
 * the recorder's. `matters` says whether the frame pointer of frame `at` matters. `fp_words` frame
 * pointers of frame `at` and outwards are known.
 */
static void put_before(struct gmt_walk *walk, uint32_t at, uint32_t count, uint32_t recorder_frames,
	uint32_t fp_words, bool matters)
{
	const struct gmt_walk_frame *new_frames = walk->new_frames;
	uint64_t hash = walk->hashes[at];

	walk->begin = at - count;
	walk->host_begin = at - count + recorder_frames;
	for (uint32_t i = count; i-- > 0;) {
		uint32_t slot = new_frames[i].slot & ~GMT_WALK_BY_FP;

		at--;
		matters = new_frames[i].slot & GMT_WALK_BY_FP || (matters && !new_frames[i].saved_words);
		walk->fp_marks[at] = gmt_walk_fp_mark(fp_words, matters);
		if (matters)
			fp_words = add_fp_word(walk, fp_words, fp_slot(walk, i, slot), new_frames[i].fp);
		walk->slots[at] = slot;
		walk->addresses[at] = new_frames[i].ip;
		walk->hashes[at] = hash = gmt_walk_hash_add(hash, new_frames[i].ip);
	}
}

/* Makes the `count` frames of `new_frames` the whole stack. */
static void make_new_frames_whole(struct gmt_walk *walk, uint32_t count, uint32_t recorder_frames,
	enum gmt_stack_end ends, bool matters)
{
	/* The outermost frame has no next frame whose frame pointer it could hold. */
	walk->new_frames[count - 1].saved_words = 0;
	walk->stack_end = (uint8_t)ends;
	walk->hashes[GMT_WALK_FRAMES] = 0;
	walk->outermost_fp = walk->new_frames[count - 1].fp;
	walk->stack_cache.last = 0;
	put_before(walk, GMT_WALK_FRAMES, count, recorder_frames, 0, matters);
}

/*
 * Makes `new_frames` and then the frames from `at` on the stack; `fp` is the frame pointer of frame
 * `at`. Returns false if a stack that was cut has less than `limit` frames, or if there is no room.
 */
static bool splice(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t count,
	uint32_t recorder_frames, uint32_t at, uint64_t fp, uint32_t limit)
{
	uint32_t first = at - count + recorder_frames, fp_words = gmt_walk_fp_words(walk->fp_marks[at]);
	bool matters = gmt_walk_fp_matters(walk->fp_marks[at]);

	/* The entry before the first frame stays free, for intern_walk in native_capture.c. */
	if (count >= at)
		return false;
	/* The frames that follow may be the recorder's too. */
	while (recorder_frames == count && first < GMT_WALK_FRAMES &&
		is_recorder_code(start, walk->addresses[first]))
		first++;
	if (GMT_WALK_FRAMES - first < (walk->stack_end == GMT_STACK_CUT ? limit : 1))
		return false;
	/* Frame `at` is unchanged, but a new inner frame may hold its frame pointer in a new slot. */
	if (matters)
		fp_words = add_fp_word(walk, fp_words, fp_slot(walk, count, walk->slots[at]), fp);
	put_before(walk, at, count, recorder_frames, fp_words, matters);
	walk->host_begin = first;
	walk->fp = start->fp;
	gmt_stack_cache_keep(walk, at, count);
	return true;
}

/*
 * The progress of a walk that has not met the remembered frames. The frames from `unknown_from` on
 * were found across code that no table describes (0: there are no such frames). They belong to the
 * stack only if a frame with a table follows.
 */
struct progress {
	uint32_t count, recorder_frames, unknown_from;
	bool has_unverified_words, crosses_unknown_code; /* as in struct gmt_walk */
};

/* Ends a walk. Returns false if the recorder's walk cannot take this stack. */
static bool end_walk(struct gmt_walk *walk, const struct gmt_walk_start *start,
	const struct progress *progress, enum step result, uint32_t limit)
{
	uint32_t count = progress->unknown_from ? progress->unknown_from : progress->count;

	if ((result == STEP_FAILED && count - progress->recorder_frames < limit) ||
		(result == STEP_STOPPED && count == progress->recorder_frames))
		return false;
	make_new_frames_whole(walk, count, progress->recorder_frames,
		result == STEP_END || result == STEP_NULL_IP           ? GMT_STACK_WHOLE
			: result == STEP_STOPPED || progress->unknown_from ? GMT_STACK_STOPPED
															   : GMT_STACK_CUT,
		result != STEP_END || start->by_frame_pointers);
	walk->fp = start->fp;
	walk->crosses_unknown_code = progress->crosses_unknown_code;
	walk->has_unverified_words = progress->has_unverified_words || result == STEP_NULL_IP ||
		(result == STEP_STOPPED && !start->by_frame_pointers);
	return true;
}

/* Stores the result of a special step; `kind` is its rule. Returns false if the walk ends. */
static bool note_step(struct progress *now, enum step result, enum gmt_unwind_kind kind)
{
	if (kind == GMT_UNWIND_NONE)
		now->crosses_unknown_code = true;
	if (result == STEP_OVER_UNKNOWN_CODE)
		now->unknown_from = now->unknown_from ? now->unknown_from : now->count;
	else if (result != STEP_STOPPED)
		now->unknown_from = 0;
	now->has_unverified_words |= result == STEP_OVER_UNKNOWN_CODE || result == STEP_UNREMEMBERED;
	return result < STEP_END;
}

/*
 * Walks until a frame equals a remembered frame, and splices there. `from` is the first remembered
 * frame that the walk may splice to; GMT_WALK_FRAMES: no frame.
 */
static bool walk_from(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t limit,
	uint32_t from)
{
	const uint64_t origin = gmt_walk_origin(walk), top = walk->stack_bounds.top;
	struct registers frame = { .ip = start->ip, .sp = start->sp, .fp = start->fp };
	struct gmt_walk_frame *new_frames = walk->new_frames;
	struct progress now = { 0 };

	for (;; new_frames++) {
		const uint32_t slot = gmt_walk_slot(origin, frame.sp);

		while (walk->slots[from] < slot)
			from++;
		if (equals_remembered(walk, from, &frame, slot))
			return splice(walk, start, now.count, now.recorder_frames, from, frame.fp, limit);
		if (now.recorder_frames == now.count && is_recorder_code(start, frame.ip))
			now.recorder_frames++;
		now.count++;

		struct gmt_unwind_rule rule = rule_of(start, &frame);

		new_frames->ip = frame.ip;
		new_frames->fp = frame.fp;
		new_frames->saved_words = rule.saved_words;
		new_frames->slot = slot | (rule.kind == GMT_UNWIND_BY_FP ? GMT_WALK_BY_FP : 0);

		enum step result = now.count == GMT_WALK_NEW_FRAMES
			? STEP_NO_ROOM
			: step(start, &frame, rule, top, &frame);

		if (result == STEP_CONTINUE)
			now.unknown_from = 0;
		else if (!note_step(&now, result, rule.kind))
			return end_walk(walk, start, &now, result, limit);
		else
			from = GMT_WALK_FRAMES;
	}
}

/* Returns whether the walk may look up rules: no object is being unloaded. */
static inline bool may_walk(const struct gmt_walk_start *start, uint32_t *ret_generation)
{
	/* The recorder's code is never unloaded, so its rules stay valid. */
	*ret_generation = 0;
	return start->by_frame_pointers || gmt_rule_cache_begin(ret_generation);
}

/* Takes a stack that no guessed part matches. `from`: as in walk_from. */
__attribute__((noinline)) static bool capture_new(struct gmt_walk *walk,
	const struct gmt_walk_start *start, uint32_t limit, uint32_t from)
{
	if ((from < GMT_WALK_FRAMES && walk_from(walk, start, limit, from)) ||
		walk_from(walk, start, limit, GMT_WALK_FRAMES))
		return true;
	forget(walk);
	return false;
}

/* Takes a stack that differs from the remembered stack. `from`: as in walk_from. */
static inline bool capture_changed(struct gmt_walk *walk, const struct gmt_walk_start *start,
	uint32_t limit, uint32_t from)
{
	walk->is_known = false;
	walk->stack_cache.current = 0;
	return (from < GMT_WALK_FRAMES && gmt_stack_cache_try(walk, start, from, limit)) ||
		capture_new(walk, start, limit, from);
}

/*
 * Takes a stack if the remembered frames, or the known bounds of the thread's stack, may be
 * invalid.
 */
__attribute__((noinline)) static bool capture_revalidated(struct gmt_walk *walk,
	const struct gmt_walk_start *start, uint32_t limit)
{
	uint32_t generation;

	if (!may_walk(start, &generation) ||
		!gmt_stack_bounds_contain(&walk->stack_bounds, start->sp)) {
		forget(walk);
		return false;
	}
	if (walk->generation != generation || walk->has_unverified_words)
		forget(walk);
	if (walk->generation != generation)
		gmt_stack_cache_clear(&walk->stack_cache);
	walk->generation = generation;

	const uint64_t origin = gmt_walk_origin(walk);

	return capture_changed(walk, start, limit,
		walk->begin == GMT_WALK_FRAMES
			? GMT_WALK_FRAMES
			: find_splice_frame(walk, origin, gmt_walk_slot(origin, start->sp)));
}

bool gmt_walk_capture(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t limit)
{
	uint32_t generation;

	if (walk->begin == GMT_WALK_FRAMES || walk->has_unverified_words ||
		!may_walk(start, &generation) || walk->generation != generation ||
		!gmt_stack_bounds_known_to_contain(&walk->stack_bounds, start->sp))
		return capture_revalidated(walk, start, limit);

	const uint64_t origin = gmt_walk_origin(walk);
	const uint32_t here = gmt_walk_slot(origin, start->sp),
				   from = find_splice_frame(walk, origin, here);
	const struct registers frame = { .ip = start->ip, .sp = start->sp, .fp = start->fp };

	/* Often the stack is unchanged. */
	if (from != walk->begin || !equals_remembered(walk, from, &frame, here))
		return capture_changed(walk, start, limit, from);
	walk->is_known = true;
	walk->stack_cache.current = 0;
	return true;
}

bool gmt_walk_outermost(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t count,
	uint64_t *ret_addresses)
{
	enum { LAST = GMT_WALK_FRAMES - 1 };
	const uint64_t origin = gmt_walk_origin(walk), top = walk->stack_bounds.top;
	struct registers frame = {
		.ip = walk->addresses[LAST],
		.sp = gmt_walk_slot_address(origin, walk->slots[LAST]),
		.fp = walk->outermost_fp,
	};

	for (uint32_t beyond = 0; beyond < GMT_OUTER_END_MAX_SEARCHED_FRAMES; beyond++) {
		enum step result = step(start, &frame, rule_of(start, &frame), top, &frame);

		if (result == STEP_CONTINUE || result == STEP_UNREMEMBERED) {
			ret_addresses[beyond % count] = frame.ip;
			continue;
		}
		if ((result != STEP_END && result != STEP_NULL_IP) || beyond < count)
			return false;
		/* The array is a ring: the innermost frame stands where the next one would be stored. */
		for (uint32_t turns = beyond % count; turns; turns--) {
			uint64_t first = ret_addresses[0];

			memmove(ret_addresses, ret_addresses + 1, (count - 1) * sizeof(*ret_addresses));
			ret_addresses[count - 1] = first;
		}
		return true;
	}
	return false;
}
