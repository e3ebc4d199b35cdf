/* SPDX-License-Identifier: MIT */
#include "unwind/walk.h"

#include <string.h>

#include "unwind/readable.h"
#include "unwind/rules.h"
#include "unwind/walk_places.h"

/*
 * Why a splice is exact.
 *
 * A frame is (ip, sp, fp). The rule of ip, which is one and the same as long as no object is unloaded (another
 * generation drops all that is remembered), says where the next outer frame is: its sp is sp or fp plus a constant;
 * its ip is what stands in the word below that; its fp is the same, or what stands in a word at a constant distance.
 * So the ip and sp of the next frame are a function of this one and of one word of the stack, and its fp of this one
 * and of at most one more.
 *
 * What a stack is are the ip of its frames. Their sp is needed to find them, but their fp only where it matters: the
 * fp of a frame matters if the rule of this frame counts from it, or if it leaves it in its register and the next
 * frame's fp matters. Most functions use that register for something else, a counter perhaps, that is another one each
 * time.
 *
 * Let the remembered frames be R[0], R[1], ... R[n], each the next of the one before, and let this hold of each of R[i
 * + 1] to R[n]: its ip still stands in the word below its sp; and if its fp matters and was read from the stack, that
 * is still in the word where it was read. Let the frame F that the new walk has come to have the ip and sp of R[i],
 * and its fp too if that matters. Then the next frame of F has the ip and sp of R[i + 1], and its fp too if that
 * matters:
 *
 * - The sp: the same rule, from the same sp, or from the same fp: if the rule counts from it, it matters.
 * - The ip: of the same word, which has not changed.
 * - The fp, if it matters in R[i + 1]: of the same word, which has not changed; or it was left in its register by
 *   R[i], whose fp matters therefore, and so F's is the same.
 *
 * The same holds of that frame and R[i + 1], and so on to R[n]. There the rule says that it is the outermost; where it
 * does not, as of a stack that was cut, or a chain of frame pointers that ends, the fp of R[n] counts as one that
 * matters. The new stack is what was walked, and R[i], ... R[n]. R[i] itself is taken from the new walk: the word that
 * its inner neighbour has its fp in may be another one than before, or none. What else matters is the same in the frames that
 * are kept: it depends on outer ones only.
 *
 * What has to hold of R[i + 1] to R[n] are two lists of words, each compared from the outermost on (verify): where code returns
 * to, and where frame pointers were read that matter. Places grow outwards in both, as a rule leads a word up at least, and a
 * frame's fp is read from at or above the sp of its inner neighbour, and below its own (step). So if the first word of a list
 * lies above the stack pointer of now, all of them do; and of the second list only the fp of R[i + 1] may have been read below
 * it, by a frame that is not there any more. A frame pointer that matters and was not read is its inner neighbour's, which
 * matters too: so its value is that of the next one inwards that was read, or of R[0] (gmt_walk_fp_of).
 *
 * Nothing of this asks that the remembered stack is the one that was taken last. So all of a stack may be recalled that
 * was there earlier (unwind/stack_cache.h), from R[0] on: where F is R[0], and its words hold what they held, the stack is R. Of such a
 * part the words are two lists too, and its frames have the hashes that they had: these depend on the addresses alone.
 *
 * How the words came to hold the same, whether by the same calls or by others, does not matter: a walk would read
 * these words, and come to these frames. So exceptions, longjmp, signals and routines that are copied in and out of
 * one stack (greenlets) need no care of their own. Stacks with a frame that has another rule, or none, are walked anew
 * each time; where it is one that the kernel made, the whole stack is libunwind's.
 *
 * Words are read only at or above the stack pointer of now and below the top of the thread's own stack, where all is
 * mapped (unwind/own_stack.h).
 */

enum {
	ADDRESS_LOWEST = 0x4000,     /* below, it is no code */
	NEAR_STACK_BYTES = 65536, /* no other stack is so near */
};

static const uint32_t beyond_all = ~(uint32_t)0;

struct point {
	uint64_t ip, sp, fp;
};

enum step {
	STEP_ON,
	STEP_ONCE,  /* on, and not to be remembered */
	STEP_BLIND, /* likewise, over code that no table tells of */
	STEP_END, STEP_NOWHERE, STEP_FAILED, STEP_STOPPED,
	STEP_TOO_FAR, /* there is no room for more */
};

static inline bool is_own(const struct gmt_walk_start *start, uint64_t ip)
{
	return ip >= start->own_start && ip < start->own_end;
}

/* Our own code has tables where there are rules, and frame pointers where there are none. */
static inline struct gmt_unwind_rule rule_of(struct gmt_rule_cache *trail, uint32_t *trail_at,
	const struct gmt_walk_start *start, const struct point *frame)
{
	static const struct gmt_unwind_rule framed = {
		.kind = GMT_UNWIND_BY_FP, .cfa_words = GMT_UNWIND_FRAMED_WORDS, .saved_words = GMT_UNWIND_FRAMED_WORDS,
	};

	if (!start->by_frame_pointers || (gmt_rules_sets && is_own(start, frame->ip)))
		return gmt_rule_cache_find(trail, trail_at, frame->ip);
	return frame->fp ? framed : (struct gmt_unwind_rule){ .kind = GMT_UNWIND_END };
}

/* Over code that no table tells of: if its frame pointer is one, it leads outwards on the same stack. */
__attribute__((noinline)) static enum step step_blindly(const struct point *frame, uint64_t top,
	struct point *ret_next)
{
	enum { BYTES = GMT_UNWIND_FRAMED_WORDS * GMT_UNWIND_WORD_BYTES };

	if (frame->fp < frame->sp || frame->fp % GMT_UNWIND_WORD_BYTES || frame->fp > top - BYTES)
		return STEP_STOPPED;
	*ret_next = (struct point){
		.ip = gmt_walk_code(gmt_walk_word(frame->fp + GMT_UNWIND_WORD_BYTES)), .sp = frame->fp + BYTES,
		.fp = gmt_walk_word(frame->fp),
	};
	return ret_next->ip < ADDRESS_LOWEST ? STEP_STOPPED : STEP_BLIND;
}

/* Out of a function that has aligned its frame: three words say where to, not two. */
__attribute__((noinline)) static enum step step_by_word(const struct point *frame, struct gmt_unwind_rule rule,
	uint64_t top, struct point *ret_next)
{
	uint64_t slot = frame->fp - (uint64_t)rule.cfa_words * GMT_UNWIND_WORD_BYTES;

	if (frame->fp % GMT_UNWIND_WORD_BYTES || slot < frame->sp || slot > frame->fp || frame->fp >= top)
		return STEP_STOPPED;
	ret_next->sp = gmt_walk_word(slot);
	/* Its own frame pointer lies in between. */
	if (ret_next->sp % GMT_UNWIND_WORD_BYTES || ret_next->sp > top || ret_next->sp < frame->fp + GMT_UNWIND_WORD_BYTES * 2)
		return STEP_STOPPED;
	ret_next->ip = gmt_walk_word(ret_next->sp - GMT_UNWIND_WORD_BYTES);
	ret_next->fp = gmt_walk_word(frame->fp);
	return ret_next->ip < ADDRESS_LOWEST ? STEP_STOPPED : STEP_ONCE;
}

/*
 * A rule leads off the stack. Code that goes on with another stack keeps a frame on its own, which the frame pointer
 * tells of: libunwind follows it there. All else are tables that are wrong, which it would follow too.
 */
__attribute__((noinline)) static enum step step_off(const struct gmt_walk_start *start, const struct point *frame,
	struct gmt_unwind_rule rule, uint64_t top)
{
	bool is_near = frame->fp - (frame->sp - NEAR_STACK_BYTES) < top - frame->sp + 2 * NEAR_STACK_BYTES;

	return !start->by_frame_pointers && rule.kind == GMT_UNWIND_BY_FP && rule.cfa_words == GMT_UNWIND_FRAMED_WORDS &&
		rule.saved_words == GMT_UNWIND_FRAMED_WORDS && frame->fp % GMT_UNWIND_WORD_BYTES == 0 && !is_near &&
		gmt_is_readable(frame->fp + GMT_UNWIND_WORD_BYTES) ? STEP_FAILED : STEP_STOPPED;
}

/* From a frame to the next outer one. */
__attribute__((always_inline)) static inline enum step step(const struct gmt_walk_start *start, const struct point *frame,
	struct gmt_unwind_rule rule, uint64_t top, struct point *ret_next)
{
	if (rule.kind > GMT_UNWIND_BY_FP)
		return rule.kind == GMT_UNWIND_END ? STEP_END
			: rule.kind == GMT_UNWIND_NONE ? step_blindly(frame, top, ret_next)
			: rule.kind == GMT_UNWIND_BY_WORD ? step_by_word(frame, rule, top, ret_next) : STEP_FAILED;

	uint64_t sp = frame->sp + (uint64_t)rule.cfa_words * GMT_UNWIND_WORD_BYTES;

	/* A jump, not a choice: the processor would wait for a frame pointer that is of no use. */
	if (__builtin_expect(rule.kind == GMT_UNWIND_BY_FP, 0))
		sp = frame->fp + (uint64_t)rule.cfa_words * GMT_UNWIND_WORD_BYTES;

	uint64_t fp_slot = sp - (uint64_t)rule.saved_words * GMT_UNWIND_WORD_BYTES;

	/* Outwards on the same stack, by whole words; the frame pointer may be anything. */
	if (sp < frame->sp + GMT_UNWIND_WORD_BYTES || sp > top || sp % GMT_UNWIND_WORD_BYTES || fp_slot < frame->sp)
		return step_off(start, frame, rule, top);
	ret_next->sp = sp;
	ret_next->ip = gmt_walk_code(gmt_walk_word(sp - GMT_UNWIND_WORD_BYTES));
	ret_next->fp = rule.saved_words ? gmt_walk_word(fp_slot) : frame->fp;
	/* An end that no table tells of would have to be verified too. */
	return ret_next->ip >= ADDRESS_LOWEST ? STEP_ON : ret_next->ip ? STEP_STOPPED : STEP_NOWHERE;
}

/* The innermost remembered frame that can be spliced to: nothing has changed that matters of those outwards of it. */
__attribute__((always_inline)) static inline uint32_t verify(const struct gmt_walk *walk, uint64_t origin, uint32_t here)
{
	uint32_t begin = walk->begin + 1;

	/* As places grow outwards, all others of the stack lie above its end of now. */
	while (walk->places[begin] <= here)
		begin++;

	uint32_t at = gmt_walk_holds_from(walk->places, walk->addresses, begin, GMT_WALK_FRAMES, origin) - 1;

	uint32_t words = gmt_walk_fp_words(walk->fp_marks[at]);

	if (!words)
		return at;
	/* These places grow outwards too: only the last may be of what the stack had below its end of now. */
	uint32_t readable = walk->fp_places[words - 1] < here ? words - 1 : words;
	uint32_t hold = gmt_walk_words_hold(walk->fp_places, walk->fp_values, readable, origin);

	/* The innermost frame that has no more than those outwards of it is the one whose word is the next. */
	if (hold < words)
		while (gmt_walk_fp_words(walk->fp_marks[at]) > hold)
			at++;
	return at;
}

/* Whether `frame` is the remembered one, as far as it matters. */
static inline bool is_at(const struct gmt_walk *walk, uint32_t at, const struct point *frame, uint32_t place)
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
 * Where the frame pointer of the frame at `place` was read, before which stand the first `count` of `fresh`; 0:
 * nowhere.
 */
static inline uint32_t fp_place(const struct gmt_walk *walk, uint32_t count, uint32_t place)
{
	uint32_t saved_words = count ? walk->fresh[count - 1].saved_words : 0;

	return saved_words ? place - saved_words : 0;
}

/* A frame pointer that matters was read at that place (0: nowhere), as number `words`. Returns how many there are then. */
static inline uint32_t add_fp_word(struct gmt_walk *walk, uint32_t words, uint32_t place, uint64_t value)
{
	if (!place)
		return words;
	walk->fp_places[words] = place;
	walk->fp_values[words] = value;
	return words + 1;
}

/*
 * The first `count` of `fresh` come before frame `at`, of which it is said whether its frame pointer matters; `own` of
 * them are our own. Of it and of those outwards `fp_words` are known.
 */
static void put_before(struct gmt_walk *walk, uint32_t at, uint32_t count, uint32_t own, uint32_t fp_words, bool matters)
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

/* All of `fresh` is the stack. */
static void take_fresh(struct gmt_walk *walk, uint32_t count, uint32_t own, enum gmt_stack_end ends, bool matters)
{
	/* There is no frame that it could have been read for. */
	walk->fresh[count - 1].saved_words = 0;
	walk->ends = (uint8_t)ends;
	walk->hashes[GMT_WALK_FRAMES] = 0;
	walk->outermost_fp = walk->fresh[count - 1].fp;
	walk->recall.last = 0;
	put_before(walk, GMT_WALK_FRAMES, count, own, 0, matters);
}

/*
 * `fresh` and then frames from `at` on are the stack, whose frame pointer is `fp` now. False when that is less than the `limit`
 * of one that was cut, or there is no room for it.
 */
static bool splice(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t count, uint32_t own, uint32_t at,
	uint64_t fp, uint32_t limit)
{
	uint32_t first = at - count + own, fp_words = gmt_walk_fp_words(walk->fp_marks[at]);
	bool matters = gmt_walk_fp_matters(walk->fp_marks[at]);

	/* One place before the first stays free (walk.h). */
	if (count >= at)
		return false;
	/* What comes behind may be our own too. */
	while (own == count && first < GMT_WALK_FRAMES && is_own(start, walk->addresses[first]))
		first++;
	if (GMT_WALK_FRAMES - first < (walk->ends == GMT_STACK_CUT ? limit : 1))
		return false;
	/* It is the same frame, but what it says of itself stands where the new ones put it. */
	if (matters)
		fp_words = add_fp_word(walk, fp_words, fp_place(walk, count, walk->places[at]), fp);
	put_before(walk, at, count, own, fp_words, matters);
	walk->first = first;
	walk->fp = start->fp;
	gmt_stack_cache_keep(walk, at, count);
	return true;
}

/*
 * How far a walk has come that did not meet what is remembered. Frames from `blind` on (0: all) were found over code
 * that no table tells of, and count only once one comes that a table does tell of.
 */
struct progress {
	uint32_t count, own, blind;
	bool is_unsure, is_blind; /* as of a walk */
};

/* A walk is at its end. False when it is none of ours. */
static bool end_walk(struct gmt_walk *walk, const struct gmt_walk_start *start, const struct progress *progress, enum step went,
	uint32_t limit)
{
	uint32_t count = progress->blind ? progress->blind : progress->count;

	if ((went == STEP_FAILED && count - progress->own < limit) || (went == STEP_STOPPED && count == progress->own))
		return false;
	take_fresh(walk, count, progress->own, went == STEP_END || went == STEP_NOWHERE ? GMT_STACK_WHOLE
		: went == STEP_STOPPED || progress->blind ? GMT_STACK_STOPPED : GMT_STACK_CUT,
		went != STEP_END || start->by_frame_pointers);
	walk->fp = start->fp;
	walk->is_blind = progress->is_blind;
	walk->is_unsure = progress->is_unsure || went == STEP_NOWHERE || (went == STEP_STOPPED && !start->by_frame_pointers);
	return true;
}

/* Notes down that a step out of a frame of that kind did not just lead on. False when the walk is at its end. */
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
 * Walks and splices where it can. `from`: the first remembered frame that may be spliced to; GMT_WALK_FRAMES for none.
 */
static bool walk_from(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t limit, uint32_t from)
{
	const uint64_t origin = gmt_walk_origin(walk), top = walk->own_stack.top;
	struct point frame = { .ip = start->ip, .sp = start->sp, .fp = start->fp };
	struct gmt_walk_frame *fresh = walk->fresh;
	struct progress now = { 0 };
	uint32_t trail_at = 0;

	for (;; fresh++) {
		const uint32_t place = gmt_walk_place(origin, frame.sp);

		while (walk->places[from] < place)
			from++;
		if (is_at(walk, from, &frame, place))
			return splice(walk, start, now.count, now.own, from, frame.fp, limit);
		if (now.own == now.count && is_own(start, frame.ip))
			now.own++;
		now.count++;

		struct gmt_unwind_rule rule = rule_of(&walk->trail, &trail_at, start, &frame);

		fresh->ip = frame.ip;
		fresh->fp = frame.fp;
		fresh->saved_words = rule.saved_words;
		fresh->place = place | (rule.kind == GMT_UNWIND_BY_FP ? GMT_WALK_BY_FP : 0);

		enum step went = now.count == GMT_WALK_NEW_FRAMES ? STEP_TOO_FAR : step(start, &frame, rule, top, &frame);

		if (went == STEP_ON)
			now.blind = 0;
		else if (!note(&now, went, rule.kind))
			return end_walk(walk, start, &now, went, limit);
		else
			from = GMT_WALK_FRAMES;
	}
}

/* Whether rules may be asked for, as no object is being unloaded; and of which generation they are. */
static inline bool may_walk(const struct gmt_walk_start *start, uint32_t *ret_generation)
{
	/* Our own code stays, and so do the rules for it. */
	*ret_generation = 0;
	return start->by_frame_pointers || gmt_rules_begin(ret_generation);
}

/* What there is no part of among those that are guessed. `from`: as of walk_from. */
__attribute__((noinline)) static bool take_new(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t limit,
	uint32_t from)
{
	if ((from < GMT_WALK_FRAMES && walk_from(walk, start, limit, from)) || walk_from(walk, start, limit, GMT_WALK_FRAMES))
		return true;
	forget(walk);
	return false;
}

/* Likewise; it is not the whole stack. */
static inline bool take_changed(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t limit,
	uint32_t from)
{
	walk->is_known = false;
	walk->recall.current = 0;
	return (from < GMT_WALK_FRAMES && gmt_stack_cache_take(walk, start, from, limit)) || take_new(walk, start, limit, from);
}

/* Where it is not known yet whether what is remembered can be used, or the thread's stack is. */
__attribute__((noinline)) static bool take_first(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t limit)
{
	uint32_t generation;

	if (!may_walk(start, &generation) || !gmt_own_stack_holds(&walk->own_stack, start->sp)) {
		forget(walk);
		return false;
	}
	if (walk->generation != generation || walk->is_unsure)
		forget(walk);
	if (walk->generation != generation) {
		gmt_rule_cache_clear(&walk->trail);
		gmt_stack_cache_clear(&walk->recall);
	}
	walk->generation = generation;

	const uint64_t origin = gmt_walk_origin(walk);

	return take_changed(walk, start, limit, walk->begin == GMT_WALK_FRAMES ? GMT_WALK_FRAMES
		: verify(walk, origin, gmt_walk_place(origin, start->sp)));
}

bool gmt_walk_take(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t limit)
{
	uint32_t generation;

	if (walk->begin == GMT_WALK_FRAMES || walk->is_unsure || !may_walk(start, &generation) || walk->generation != generation ||
		!gmt_own_stack_knows(&walk->own_stack, start->sp))
		return take_first(walk, start, limit);

	const uint64_t origin = gmt_walk_origin(walk);
	const uint32_t here = gmt_walk_place(origin, start->sp), from = verify(walk, origin, here);
	const struct point frame = { .ip = start->ip, .sp = start->sp, .fp = start->fp };

	/* Often the stack is the one that it was. */
	if (from != walk->begin || !is_at(walk, from, &frame, here))
		return take_changed(walk, start, limit, from);
	walk->is_known = true;
	walk->recall.current = 0;
	return true;
}

bool gmt_walk_outermost(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t count, uint64_t *ret_addresses)
{
	enum { LAST = GMT_WALK_FRAMES - 1 };
	const uint64_t origin = gmt_walk_origin(walk), top = walk->own_stack.top;
	struct point frame = {
		.ip = walk->addresses[LAST], .sp = gmt_walk_address(origin, walk->places[LAST]), .fp = walk->outermost_fp,
	};

	uint32_t trail_at = 0;

	for (uint32_t beyond = 0; beyond < GMT_BOTH_ENDS_FARTHEST; beyond++) {
		enum step went = step(start, &frame, rule_of(&walk->trail, &trail_at, start, &frame), top, &frame);

		if (went == STEP_ON || went == STEP_ONCE) {
			ret_addresses[beyond % count] = frame.ip;
			continue;
		}
		if ((went != STEP_END && went != STEP_NOWHERE) || beyond < count)
			return false;
		/* The innermost of them stands where the next one would have been put. */
		for (uint32_t turns = beyond % count; turns; turns--) {
			uint64_t first = ret_addresses[0];

			memmove(ret_addresses, ret_addresses + 1, (count - 1) * sizeof(*ret_addresses));
			ret_addresses[count - 1] = first;
		}
		return true;
	}
	return false;
}
