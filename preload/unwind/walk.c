/* SPDX-License-Identifier: MIT */
#include "unwind/walk.h"

#include <string.h>

#include "unwind/readable.h"
#include "unwind/rules.h"
#include "unwind/walk_places.h"

/* walk_places.h explains why a splice is exact. */

enum {
	ADDRESS_LOWEST = 0x4000,     /* no code lies below this address */
	NEAR_STACK_BYTES = 65536, /* no other stack is so near */
};

static const uint32_t beyond_all = ~(uint32_t)0;

struct point {
	uint64_t ip, sp, fp;
};

enum step {
	STEP_ON,
	STEP_ONCE,  /* continue, but do not remember the frame */
	STEP_BLIND, /* the same, across code that no table describes */
	STEP_END,
	STEP_NOWHERE,
	STEP_FAILED,
	STEP_STOPPED,
	STEP_TOO_FAR, /* no room for more frames */
};

static inline bool is_own(const struct gmt_walk_start *start, uint64_t ip)
{
	return ip >= start->own_start && ip < start->own_end;
}

/* The recorder's code has tables if rules exist, else it keeps frame pointers. */
static inline struct gmt_unwind_rule rule_of(const struct gmt_walk_start *start,
	const struct point *frame)
{
	static const struct gmt_unwind_rule framed = {
		.kind = GMT_UNWIND_BY_FP,
		.cfa_words = GMT_UNWIND_FRAMED_WORDS,
		.saved_words = GMT_UNWIND_FRAMED_WORDS,
	};

	if (!start->by_frame_pointers || (gmt_rules_sets && is_own(start, frame->ip)))
		return gmt_rules_find(frame->ip);
	return frame->fp ? framed : (struct gmt_unwind_rule){ .kind = GMT_UNWIND_END };
}

/* Crosses code that no table describes. A valid frame pointer leads outwards on the same stack. */
__attribute__((noinline)) static enum step step_blindly(const struct point *frame, uint64_t top,
	struct point *ret_next)
{
	enum { BYTES = GMT_UNWIND_FRAMED_WORDS * GMT_UNWIND_WORD_BYTES };

	if (frame->fp < frame->sp || frame->fp % GMT_UNWIND_WORD_BYTES || frame->fp > top - BYTES)
		return STEP_STOPPED;
	*ret_next = (struct point){
		.ip = gmt_walk_code(gmt_walk_word(frame->fp + GMT_UNWIND_WORD_BYTES)),
		.sp = frame->fp + BYTES,
		.fp = gmt_walk_word(frame->fp),
	};
	return ret_next->ip < ADDRESS_LOWEST ? STEP_STOPPED : STEP_BLIND;
}

/* Steps out of a function that has aligned its frame: three words give the next frame, not two. */
__attribute__((noinline)) static enum step step_by_word(const struct point *frame,
	struct gmt_unwind_rule rule, uint64_t top, struct point *ret_next)
{
	uint64_t slot = frame->fp - (uint64_t)rule.cfa_words * GMT_UNWIND_WORD_BYTES;

	if (frame->fp % GMT_UNWIND_WORD_BYTES || slot < frame->sp || slot > frame->fp ||
		frame->fp >= top)
		return STEP_STOPPED;
	ret_next->sp = gmt_walk_word(slot);
	/* The function's own saved frame pointer lies in between. */
	if (ret_next->sp % GMT_UNWIND_WORD_BYTES || ret_next->sp > top ||
		ret_next->sp < frame->fp + GMT_UNWIND_WORD_BYTES * 2)
		return STEP_STOPPED;
	ret_next->ip = gmt_walk_word(ret_next->sp - GMT_UNWIND_WORD_BYTES);
	ret_next->fp = gmt_walk_word(frame->fp);
	return ret_next->ip < ADDRESS_LOWEST ? STEP_STOPPED : STEP_ONCE;
}

/*
 * Decides what to do when a rule leads off the stack. Code that continues on another stack keeps a
 * frame there, to which the frame pointer points; libunwind follows it (STEP_FAILED). In all other
 * cases the tables are wrong, and libunwind would follow them too, so the walk stops.
 */
__attribute__((noinline)) static enum step step_off(const struct gmt_walk_start *start,
	const struct point *frame, struct gmt_unwind_rule rule, uint64_t top)
{
	bool is_near =
		frame->fp - (frame->sp - NEAR_STACK_BYTES) < top - frame->sp + 2 * NEAR_STACK_BYTES;

	return !start->by_frame_pointers && rule.kind == GMT_UNWIND_BY_FP &&
			rule.cfa_words == GMT_UNWIND_FRAMED_WORDS &&
			rule.saved_words == GMT_UNWIND_FRAMED_WORDS && frame->fp % GMT_UNWIND_WORD_BYTES == 0 &&
			!is_near && gmt_is_readable(frame->fp + GMT_UNWIND_WORD_BYTES)
		? STEP_FAILED
		: STEP_STOPPED;
}

/* Steps from a frame to the next outer frame. */
__attribute__((always_inline)) static inline enum step step(const struct gmt_walk_start *start,
	const struct point *frame, struct gmt_unwind_rule rule, uint64_t top, struct point *ret_next)
{
	if (rule.kind > GMT_UNWIND_BY_FP)
		return rule.kind == GMT_UNWIND_END    ? STEP_END
			: rule.kind == GMT_UNWIND_NONE    ? step_blindly(frame, top, ret_next)
			: rule.kind == GMT_UNWIND_BY_WORD ? step_by_word(frame, rule, top, ret_next)
											  : STEP_FAILED;

	uint64_t sp = frame->sp + (uint64_t)rule.cfa_words * GMT_UNWIND_WORD_BYTES;

	/* A branch, not a conditional move: the processor would wait for an unused frame pointer. */
	if (__builtin_expect(rule.kind == GMT_UNWIND_BY_FP, 0))
		sp = frame->fp + (uint64_t)rule.cfa_words * GMT_UNWIND_WORD_BYTES;

	uint64_t fp_slot = sp - (uint64_t)rule.saved_words * GMT_UNWIND_WORD_BYTES;

	/* The step must go outwards on the same stack, by whole words. Any frame pointer is allowed. */
	if (sp < frame->sp + GMT_UNWIND_WORD_BYTES || sp > top || sp % GMT_UNWIND_WORD_BYTES ||
		fp_slot < frame->sp)
		return step_off(start, frame, rule, top);
	ret_next->sp = sp;
	ret_next->ip = gmt_walk_code(gmt_walk_word(sp - GMT_UNWIND_WORD_BYTES));
	ret_next->fp = rule.saved_words ? gmt_walk_word(fp_slot) : frame->fp;
	/* Another end, which no table describes, would have to be verified too. */
	return ret_next->ip >= ADDRESS_LOWEST ? STEP_ON : ret_next->ip ? STEP_STOPPED : STEP_NOWHERE;
}

/*
 * Returns the innermost remembered frame to which the walk can splice: all words that matter for
 * the frames outwards of it are unchanged. `here` is the place of the current stack pointer.
 */
__attribute__((always_inline)) static inline uint32_t verify(const struct gmt_walk *walk,
	uint64_t origin, uint32_t here)
{
	uint32_t begin = walk->begin + 1;

	/* Places grow outwards, so all other places lie above the current end of the stack. */
	while (walk->places[begin] <= here)
		begin++;

	uint32_t at =
		gmt_walk_holds_from(walk->places, walk->addresses, begin, GMT_WALK_FRAMES, origin) - 1;

	uint32_t words = gmt_walk_fp_words(walk->fp_marks[at]);

	if (!words)
		return at;
	/* These places grow outwards too. Only the last may lie below the current end of the stack. */
	uint32_t readable = walk->fp_places[words - 1] < here ? words - 1 : words;
	uint32_t hold = gmt_walk_words_hold(walk->fp_places, walk->fp_values, readable, origin);

	/*
	 * The innermost frame with at most `hold` words outwards of it: only its own word may differ.
	 */
	if (hold < words)
		while (gmt_walk_fp_words(walk->fp_marks[at]) > hold)
			at++;
	return at;
}

/* Returns whether `frame` equals remembered frame `at`, as far as that frame matters. */
static inline bool is_at(const struct gmt_walk *walk, uint32_t at, const struct point *frame,
	uint32_t place)
{
	return walk->places[at] == place && walk->addresses[at] == frame->ip &&
		(!gmt_walk_fp_matters(walk->fp_marks[at]) || gmt_walk_fp_of(walk, at) == frame->fp);
}

uint64_t gmt_walk_hash(const uint64_t *addresses, uint32_t count, uint64_t outer)
{
	while (count)
		outer = gmt_walk_hash_on(outer, addresses[--count]);
	return outer;
}

static void forget(struct gmt_walk *walk)
{
	walk->begin = GMT_WALK_FRAMES;
	walk->is_known = walk->is_unsure = walk->is_blind = false;
}

void gmt_walk_init(struct gmt_walk *walk)
{
	walk->own_stack = (struct gmt_own_stack){ 0 };
	walk->places[GMT_WALK_FRAMES] = beyond_all;
	walk->id = walk->taken = 0;
	walk->same_for = GMT_WALK_NO_GENERATION;
	gmt_stack_cache_clear(&walk->recall);
	forget(walk);
}

/*
 * Returns the place where the frame pointer of the frame at `place` was read; 0 if it was not read.
 * The first `count` frames of `fresh` come before that frame.
 */
static inline uint32_t fp_place(const struct gmt_walk *walk, uint32_t count, uint32_t place)
{
	uint32_t saved_words = count ? walk->fresh[count - 1].saved_words : 0;

	return saved_words ? place - saved_words : 0;
}

/*
 * Adds a frame pointer that matters as entry `words`; `place` is where it was read (0: not read).
 * Returns the number of entries afterwards.
 */
static inline uint32_t add_fp_word(struct gmt_walk *walk, uint32_t words, uint32_t place,
	uint64_t value)
{
	if (!place)
		return words;
	walk->fp_places[words] = place;
	walk->fp_values[words] = value;
	return words + 1;
}

/*
 * Puts the first `count` frames of `fresh` before frame `at`; `own` of them are the recorder's.
 * `matters` says whether the frame pointer of frame `at` matters. `fp_words` frame pointers of
 * frame `at` and outwards are known.
 */
static void put_before(struct gmt_walk *walk, uint32_t at, uint32_t count, uint32_t own,
	uint32_t fp_words, bool matters)
{
	const struct gmt_walk_frame *fresh = walk->fresh;
	uint64_t hash = walk->hashes[at];

	walk->begin = at - count;
	walk->first = at - count + own;
	for (uint32_t i = count; i-- > 0;) {
		uint32_t place = fresh[i].place & ~GMT_WALK_BY_FP;

		at--;
		matters = fresh[i].place & GMT_WALK_BY_FP || (matters && !fresh[i].saved_words);
		walk->fp_marks[at] = gmt_walk_fp_mark(fp_words, matters);
		if (matters)
			fp_words = add_fp_word(walk, fp_words, fp_place(walk, i, place), fresh[i].fp);
		walk->places[at] = place;
		walk->addresses[at] = fresh[i].ip;
		walk->hashes[at] = hash = gmt_walk_hash_on(hash, fresh[i].ip);
	}
}

/* Makes the `count` frames of `fresh` the whole stack. */
static void take_fresh(struct gmt_walk *walk, uint32_t count, uint32_t own, enum gmt_stack_end ends,
	bool matters)
{
	/* The outermost frame has no next frame whose frame pointer it could hold. */
	walk->fresh[count - 1].saved_words = 0;
	walk->ends = (uint8_t)ends;
	walk->hashes[GMT_WALK_FRAMES] = 0;
	walk->outermost_fp = walk->fresh[count - 1].fp;
	walk->recall.last = 0;
	put_before(walk, GMT_WALK_FRAMES, count, own, 0, matters);
}

/*
 * Makes `fresh` and then the frames from `at` on the stack; `fp` is the frame pointer of frame
 * `at`. Returns false if a stack that was cut has less than `limit` frames, or if there is no room.
 */
static bool splice(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t count,
	uint32_t own, uint32_t at, uint64_t fp, uint32_t limit)
{
	uint32_t first = at - count + own, fp_words = gmt_walk_fp_words(walk->fp_marks[at]);
	bool matters = gmt_walk_fp_matters(walk->fp_marks[at]);

	/* One entry before the first stays free, for the caller (intern_walk in native.c). */
	if (count >= at)
		return false;
	/* The frames that follow may be the recorder's too. */
	while (own == count && first < GMT_WALK_FRAMES && is_own(start, walk->addresses[first]))
		first++;
	if (GMT_WALK_FRAMES - first < (walk->ends == GMT_STACK_CUT ? limit : 1))
		return false;
	/* Frame `at` is the same, but the new inner frames hold its frame pointer in a new place. */
	if (matters)
		fp_words = add_fp_word(walk, fp_words, fp_place(walk, count, walk->places[at]), fp);
	put_before(walk, at, count, own, fp_words, matters);
	walk->first = first;
	walk->fp = start->fp;
	gmt_stack_cache_keep(walk, at, count);
	return true;
}

/*
 * The progress of a walk that has not met the remembered frames. Frames from `blind` on were found
 * across code that no table describes (0: no such frames). They count only after a frame that a
 * table describes.
 */
struct progress {
	uint32_t count, own, blind;
	bool is_unsure, is_blind; /* as in struct gmt_walk */
};

/* Ends a walk. Returns false if the recorder's walk cannot take this stack. */
static bool end_walk(struct gmt_walk *walk, const struct gmt_walk_start *start,
	const struct progress *progress, enum step went, uint32_t limit)
{
	uint32_t count = progress->blind ? progress->blind : progress->count;

	if ((went == STEP_FAILED && count - progress->own < limit) ||
		(went == STEP_STOPPED && count == progress->own))
		return false;
	take_fresh(walk, count, progress->own,
		went == STEP_END || went == STEP_NOWHERE      ? GMT_STACK_WHOLE
			: went == STEP_STOPPED || progress->blind ? GMT_STACK_STOPPED
													  : GMT_STACK_CUT,
		went != STEP_END || start->by_frame_pointers);
	walk->fp = start->fp;
	walk->is_blind = progress->is_blind;
	walk->is_unsure = progress->is_unsure || went == STEP_NOWHERE ||
		(went == STEP_STOPPED && !start->by_frame_pointers);
	return true;
}

/* Notes a step that did not simply continue; `kind` is its rule. Returns false at the end. */
static bool note(struct progress *now, enum step went, enum gmt_unwind_kind kind)
{
	if (kind == GMT_UNWIND_NONE)
		now->is_blind = true;
	if (went == STEP_BLIND)
		now->blind = now->blind ? now->blind : now->count;
	else if (went != STEP_STOPPED)
		now->blind = 0;
	now->is_unsure |= went == STEP_BLIND || went == STEP_ONCE;
	return went < STEP_END;
}

/*
 * Walks, and splices where it can. `from` is the first remembered frame that may be spliced to;
 * GMT_WALK_FRAMES: no frame.
 */
static bool walk_from(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t limit,
	uint32_t from)
{
	const uint64_t origin = gmt_walk_origin(walk), top = walk->own_stack.top;
	struct point frame = { .ip = start->ip, .sp = start->sp, .fp = start->fp };
	struct gmt_walk_frame *fresh = walk->fresh;
	struct progress now = { 0 };

	for (;; fresh++) {
		const uint32_t place = gmt_walk_place(origin, frame.sp);

		while (walk->places[from] < place)
			from++;
		if (is_at(walk, from, &frame, place))
			return splice(walk, start, now.count, now.own, from, frame.fp, limit);
		if (now.own == now.count && is_own(start, frame.ip))
			now.own++;
		now.count++;

		struct gmt_unwind_rule rule = rule_of(start, &frame);

		fresh->ip = frame.ip;
		fresh->fp = frame.fp;
		fresh->saved_words = rule.saved_words;
		fresh->place = place | (rule.kind == GMT_UNWIND_BY_FP ? GMT_WALK_BY_FP : 0);

		enum step went = now.count == GMT_WALK_NEW_FRAMES ? STEP_TOO_FAR
														  : step(start, &frame, rule, top, &frame);

		if (went == STEP_ON)
			now.blind = 0;
		else if (!note(&now, went, rule.kind))
			return end_walk(walk, start, &now, went, limit);
		else
			from = GMT_WALK_FRAMES;
	}
}

/* Returns whether rules may be looked up (no object is being unloaded). Stores their generation. */
static inline bool may_walk(const struct gmt_walk_start *start, uint32_t *ret_generation)
{
	/* The recorder's code is never unloaded, so its rules stay valid. */
	*ret_generation = 0;
	return start->by_frame_pointers || gmt_rules_begin(ret_generation);
}

/* Takes a stack that no guessed part matches. `from`: as in walk_from. */
__attribute__((noinline)) static bool take_new(struct gmt_walk *walk,
	const struct gmt_walk_start *start, uint32_t limit, uint32_t from)
{
	if ((from < GMT_WALK_FRAMES && walk_from(walk, start, limit, from)) ||
		walk_from(walk, start, limit, GMT_WALK_FRAMES))
		return true;
	forget(walk);
	return false;
}

/* Takes a stack that differs from the remembered stack. `from`: as in walk_from. */
static inline bool take_changed(struct gmt_walk *walk, const struct gmt_walk_start *start,
	uint32_t limit, uint32_t from)
{
	walk->is_known = false;
	walk->recall.current = 0;
	return (from < GMT_WALK_FRAMES && gmt_stack_cache_take(walk, start, from, limit)) ||
		take_new(walk, start, limit, from);
}

/*
 * Takes a stack if the remembered frames, or the known part of the thread's stack, may be invalid.
 */
__attribute__((noinline)) static bool take_first(struct gmt_walk *walk,
	const struct gmt_walk_start *start, uint32_t limit)
{
	uint32_t generation;

	if (!may_walk(start, &generation) || !gmt_own_stack_contains(&walk->own_stack, start->sp)) {
		forget(walk);
		return false;
	}
	if (walk->generation != generation || walk->is_unsure)
		forget(walk);
	if (walk->generation != generation)
		gmt_stack_cache_clear(&walk->recall);
	walk->generation = generation;

	const uint64_t origin = gmt_walk_origin(walk);

	return take_changed(walk, start, limit,
		walk->begin == GMT_WALK_FRAMES ? GMT_WALK_FRAMES
									   : verify(walk, origin, gmt_walk_place(origin, start->sp)));
}

bool gmt_walk_take(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t limit)
{
	uint32_t generation;

	if (walk->begin == GMT_WALK_FRAMES || walk->is_unsure || !may_walk(start, &generation) ||
		walk->generation != generation ||
		!gmt_own_stack_known_to_contain(&walk->own_stack, start->sp))
		return take_first(walk, start, limit);

	const uint64_t origin = gmt_walk_origin(walk);
	const uint32_t here = gmt_walk_place(origin, start->sp), from = verify(walk, origin, here);
	const struct point frame = { .ip = start->ip, .sp = start->sp, .fp = start->fp };

	/* Often the stack is the same as before. */
	if (from != walk->begin || !is_at(walk, from, &frame, here))
		return take_changed(walk, start, limit, from);
	walk->is_known = true;
	walk->recall.current = 0;
	return true;
}

bool gmt_walk_outermost(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t count,
	uint64_t *ret_addresses)
{
	enum { LAST = GMT_WALK_FRAMES - 1 };
	const uint64_t origin = gmt_walk_origin(walk), top = walk->own_stack.top;
	struct point frame = {
		.ip = walk->addresses[LAST],
		.sp = gmt_walk_address(origin, walk->places[LAST]),
		.fp = walk->outermost_fp,
	};

	for (uint32_t beyond = 0; beyond < GMT_BOTH_ENDS_FARTHEST; beyond++) {
		enum step went = step(start, &frame, rule_of(start, &frame), top, &frame);

		if (went == STEP_ON || went == STEP_ONCE) {
			ret_addresses[beyond % count] = frame.ip;
			continue;
		}
		if ((went != STEP_END && went != STEP_NOWHERE) || beyond < count)
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
