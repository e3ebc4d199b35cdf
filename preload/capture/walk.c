/* SPDX-License-Identifier: MIT */
#include "capture/walk.h"

#include <string.h>

#include "capture/hash.h"
#include "capture/readable.h"
#include "capture/rules.h"

/*
 * Why a splice is exact.
 *
 * A frame is (ip, sp, fp). The rule of ip, which is one and the same as long as no object is unloaded (another generation
 * drops all that is remembered), says where the next outer frame is: its sp is sp or fp plus a constant; its ip is what
 * stands in the word below that; its fp is the same, or what stands in a word at a constant distance. So the next frame is
 * a function of this one and of at most two words of the stack, and those two are what a remembered frame says of itself:
 * its ip in the word below its sp, and fp_value at fp_slot.
 *
 * Let the remembered frames be R[0], R[1], ... R[n], each the next of the one before, and let all words of R[i + 1] to R[n]
 * still hold the same. If the frame that the new walk has come to equals R[i] (ip, sp and fp), its next is R[i + 1]: the
 * same function of the same frame and the same words. That equals R[i + 1], so its next is R[i + 2], and so on to R[n]. The
 * new stack is what was walked, and R[i], ... R[n]. R[i] itself is taken from the new walk: the words that its inner
 * neighbour has it in may be others than before.
 *
 * How the words came to hold the same, whether by the same calls or by others, does not matter: a walk would read these
 * words, and come to these frames. So exceptions, longjmp, signals and routines that are copied in and out of one stack
 * (greenlets) need no care of their own. Stacks with a frame that has another rule, or none, are walked anew each time;
 * where it is one that the kernel made, the whole stack is libunwind's.
 *
 * Words are read only at or above the stack pointer of now and below the top of the thread's own stack, where all is mapped
 * (capture/own_stack.h).
 */

enum {
	ADDRESS_LOWEST = 0x4000,     /* below, it is no code */
	NEAR_STACK_BYTES = 65536, /* no other stack is so near */
};

/* Plain memory of this process, whatever it is for the compiler, and whatever sanitizers think of it. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static inline uint64_t word_at(uint64_t address)
{
	return *(const volatile uint64_t *)address;
}

enum step {
	STEP_ON,
	STEP_ONCE,  /* on, and not to be remembered */
	STEP_BLIND, /* likewise, over code that no table tells of */
	STEP_END, STEP_NOWHERE, STEP_FAILED, STEP_STOPPED,
};

static inline bool is_own(const struct gmt_walk_start *start, uint64_t ip)
{
	return ip >= start->own_start && ip < start->own_end;
}

/* Our own code has tables where there are rules, and frame pointers where there are none. */
static inline struct gmt_unwind_rule rule_of(const struct gmt_walk_start *start, const struct gmt_walk_frame *frame)
{
	static const struct gmt_unwind_rule framed = {
		.kind = GMT_UNWIND_BY_FP, .cfa_words = GMT_UNWIND_FRAMED_WORDS, .saved_words = GMT_UNWIND_FRAMED_WORDS,
	};

	if (!start->by_frame_pointers || (gmt_rules.sets && is_own(start, frame->ip)))
		return gmt_rules_find(frame->ip);
	return frame->fp ? framed : (struct gmt_unwind_rule){ .kind = GMT_UNWIND_END };
}

/* Over code that no table tells of: if its frame pointer is one, it leads outwards on the same stack. */
__attribute__((noinline)) static enum step step_blindly(const struct gmt_walk_frame *frame, uint64_t top,
	struct gmt_walk_frame *ret_next)
{
	enum { BYTES = GMT_UNWIND_FRAMED_WORDS * GMT_UNWIND_WORD_BYTES };

	if (frame->fp < frame->sp || frame->fp % GMT_UNWIND_WORD_BYTES || frame->fp > top - BYTES)
		return STEP_STOPPED;
	*ret_next = (struct gmt_walk_frame){
		.ip = gmt_walk_code(word_at(frame->fp + GMT_UNWIND_WORD_BYTES)), .sp = frame->fp + BYTES,
		.fp = word_at(frame->fp),
	};
	return ret_next->ip < ADDRESS_LOWEST ? STEP_STOPPED : STEP_BLIND;
}

/* Out of a function that has aligned its frame: three words say where to, not two. */
__attribute__((noinline)) static enum step step_by_word(const struct gmt_walk_frame *frame, struct gmt_unwind_rule rule,
	uint64_t top, struct gmt_walk_frame *ret_next)
{
	uint64_t slot = frame->fp - (uint64_t)rule.cfa_words * GMT_UNWIND_WORD_BYTES;

	if (frame->fp % GMT_UNWIND_WORD_BYTES || slot < frame->sp || slot > frame->fp || frame->fp >= top)
		return STEP_STOPPED;
	ret_next->sp = word_at(slot);
	/* Its own frame pointer lies in between. */
	if (ret_next->sp % GMT_UNWIND_WORD_BYTES || ret_next->sp > top || ret_next->sp < frame->fp + GMT_UNWIND_WORD_BYTES * 2)
		return STEP_STOPPED;
	ret_next->ip = word_at(ret_next->sp - GMT_UNWIND_WORD_BYTES);
	ret_next->fp = word_at(frame->fp);
	return ret_next->ip < ADDRESS_LOWEST ? STEP_STOPPED : STEP_ONCE;
}

/*
 * A rule leads off the stack. Code that goes on with another stack keeps a frame on its own, which the frame pointer
 * tells of: libunwind follows it there. All else are tables that are wrong, which it would follow too.
 */
__attribute__((noinline)) static enum step step_off(const struct gmt_walk_start *start, const struct gmt_walk_frame *frame,
	struct gmt_unwind_rule rule, uint64_t top)
{
	bool is_near = frame->fp - (frame->sp - NEAR_STACK_BYTES) < top - frame->sp + 2 * NEAR_STACK_BYTES;

	return !start->by_frame_pointers && rule.kind == GMT_UNWIND_BY_FP && rule.cfa_words == GMT_UNWIND_FRAMED_WORDS &&
		rule.saved_words == GMT_UNWIND_FRAMED_WORDS && frame->fp % GMT_UNWIND_WORD_BYTES == 0 && !is_near &&
		gmt_is_readable(frame->fp + GMT_UNWIND_WORD_BYTES) ? STEP_FAILED : STEP_STOPPED;
}

/* From a frame to the next outer one. */
static inline enum step step(const struct gmt_walk_start *start, const struct gmt_walk_frame *frame, uint64_t top,
	struct gmt_walk_frame *ret_next)
{
	struct gmt_unwind_rule rule = rule_of(start, frame);

	if (rule.kind > GMT_UNWIND_BY_FP)
		return rule.kind == GMT_UNWIND_END ? STEP_END
			: rule.kind == GMT_UNWIND_NONE ? step_blindly(frame, top, ret_next)
			: rule.kind == GMT_UNWIND_BY_WORD ? step_by_word(frame, rule, top, ret_next) : STEP_FAILED;

	uint64_t base = rule.kind == GMT_UNWIND_BY_SP ? frame->sp : frame->fp;
	uint64_t sp = base + (uint64_t)rule.cfa_words * GMT_UNWIND_WORD_BYTES;
	uint64_t ip_slot = sp - GMT_UNWIND_WORD_BYTES;
	uint64_t fp_slot = sp - (uint64_t)rule.saved_words * GMT_UNWIND_WORD_BYTES;

	/* Outwards on the same stack, by whole words; the frame pointer may be anything. */
	if (sp < frame->sp + GMT_UNWIND_WORD_BYTES || sp > top || sp % GMT_UNWIND_WORD_BYTES || fp_slot < frame->sp)
		return step_off(start, frame, rule, top);
	ret_next->sp = sp;
	ret_next->ip = gmt_walk_code(word_at(ip_slot));
	if (rule.saved_words) {
		ret_next->fp_slot = fp_slot;
		ret_next->fp_value = ret_next->fp = word_at(fp_slot);
	} else {
		ret_next->fp_slot = ip_slot;
		ret_next->fp_value = word_at(ip_slot);
		ret_next->fp = frame->fp;
	}
	/* An end that no table tells of would have to be verified too. */
	return ret_next->ip >= ADDRESS_LOWEST ? STEP_ON : ret_next->ip ? STEP_STOPPED : STEP_NOWHERE;
}

/* The innermost remembered frame from which on outwards nothing has changed. */
static uint32_t verify(const struct gmt_walk *walk, uint64_t sp)
{
	uint32_t at = walk->end - 1;

	/* What one frame says of itself makes the next inner one a frame that can be spliced to. fp_slot is the lower one. */
	for (; at > walk->begin; at--) {
		const struct gmt_walk_frame *frame = &walk->frames[at];

		if (frame->fp_slot < sp || gmt_walk_code(word_at(frame->sp - GMT_UNWIND_WORD_BYTES)) != frame->ip ||
			word_at(frame->fp_slot) != frame->fp_value)
			break;
	}
	return at;
}

static uint64_t hash_on(uint64_t outer, uint64_t address)
{
	return gmt_hash_fold(outer ^ 0x9e3779b97f4a7c15, address ^ 0xe7037ed1a0b428db);
}

uint64_t gmt_walk_hash(const uint64_t *addresses, uint32_t count)
{
	uint64_t hash = 0;

	while (count)
		hash = hash_on(hash, addresses[--count]);
	return hash;
}

/* What is told of frames [from, to), whose outer neighbours are right. */
static void fill(struct gmt_walk *walk, uint32_t from, uint32_t to)
{
	uint64_t hash = walk->hashes[to];

	for (uint32_t at = to; at-- > from;) {
		walk->addresses[at] = walk->frames[at].ip;
		walk->hashes[at] = hash = hash_on(hash, walk->frames[at].ip);
	}
}

static void forget(struct gmt_walk *walk)
{
	walk->begin = walk->end = 0;
	walk->is_same = walk->is_unsure = walk->is_blind = false;
}

void gmt_walk_init(struct gmt_walk *walk)
{
	walk->own_stack = (struct gmt_own_stack){ 0 };
	walk->id = walk->taken = 0;
	forget(walk);
}

/* All of `fresh` is the stack. */
static void take_fresh(struct gmt_walk *walk, uint32_t count, uint32_t own, enum gmt_stack_end ends)
{
	/* In the middle of the room behind it, so that frames can be put before and behind it later. */
	uint32_t begin = GMT_WALK_FRAMES - GMT_WALK_NEW_FRAMES / 8 - count;

	memcpy(walk->frames + begin, walk->fresh, count * sizeof(*walk->fresh));
	walk->begin = begin;
	walk->first = begin + own;
	walk->end = begin + count;
	walk->ends = (uint8_t)ends;
	walk->hashes[walk->end] = 0;
	fill(walk, walk->first, walk->end);
}

/*
 * `fresh` and then frames [at, end) are the stack, at most `limit` of them and our own. False when it cannot be put
 * together here: more is needed than what is remembered, and there is no room for it.
 */
static bool splice(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t count, uint32_t own, uint32_t at,
	uint32_t limit)
{
	uint32_t old_first = walk->first, end = walk->end;

	/* One place before the first stays free (walk.h). */
	if (count >= at)
		return false;

	uint32_t first = at - count + own;

	while (own == count && first < end && is_own(start, walk->frames[first].ip))
		first++;
	/* What comes behind may be our own too. */
	if (first == end)
		return false;
	if (end - first > limit) {
		end = first + limit;
		walk->ends = GMT_STACK_CUT;
	}
	while (walk->ends == GMT_STACK_CUT && end - first < limit) {
		if (end == GMT_WALK_FRAMES ||
			step(start, &walk->frames[end - 1], walk->own_stack.top, &walk->frames[end]) != STEP_ON)
			return false;
		if (rule_of(start, &walk->frames[end++]).kind == GMT_UNWIND_END)
			walk->ends = GMT_STACK_WHOLE;
	}
	/* With the one that they met in: it is the same frame, but what it says of itself stands where the new ones put it. */
	memcpy(walk->frames + at - count, walk->fresh, (count + 1) * sizeof(*walk->fresh));
	walk->begin = at - count;
	walk->first = first;
	if (end != walk->end) {
		walk->end = end;
		walk->hashes[end] = 0;
		fill(walk, first, end);
	} else {
		/* Frames that were our own as long as nothing else stood before them have no hash. */
		fill(walk, first, at > old_first ? at : old_first > first ? old_first : first);
	}
	return true;
}

/*
 * How far a walk has come that did not meet what is remembered. Frames from `blind` on (0: all) were found over code that
 * no table tells of, and count only once one comes that a table does tell of.
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

	if (went == STEP_FAILED || (went == STEP_STOPPED && count == progress->own))
		return false;
	take_fresh(walk, count, progress->own, went == STEP_END || went == STEP_NOWHERE ? GMT_STACK_WHOLE
		: went == STEP_STOPPED || count - progress->own < limit ? GMT_STACK_STOPPED : GMT_STACK_CUT);
	walk->is_blind = progress->is_blind ||
		(went == STEP_STOPPED && rule_of(start, &walk->fresh[count - 1]).kind == GMT_UNWIND_NONE);
	walk->is_unsure = progress->is_unsure || went == STEP_NOWHERE || (went == STEP_STOPPED && !start->by_frame_pointers);
	return true;
}

/* Walks and splices where it can. `from`: the first remembered frame that may be spliced to; `end` for none. */
static bool walk_from(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t limit, uint32_t from)
{
	struct gmt_walk_frame *frame = walk->fresh;
	struct progress now = { 0 };

	*frame = (struct gmt_walk_frame){ .ip = start->ip, .sp = start->sp, .fp = start->fp };
	for (;; frame++) {
		while (from < walk->end && walk->frames[from].sp < frame->sp)
			from++;
		if (from < walk->end && walk->frames[from].sp == frame->sp && walk->frames[from].ip == frame->ip &&
			walk->frames[from].fp == frame->fp) {
			if (from == walk->begin && !now.count) {
				walk->is_same = true;
				return true;
			}
			return splice(walk, start, now.count, now.own, from, limit);
		}
		if (now.own == now.count && is_own(start, frame->ip))
			now.own++;
		now.count++;

		enum step went = now.count == GMT_WALK_NEW_FRAMES ? STEP_FAILED
			: step(start, frame, walk->own_stack.top, frame + 1);

		if (went == STEP_BLIND) {
			now.blind = now.blind ? now.blind : now.count;
			now.is_blind = true;
		} else if (went != STEP_STOPPED) {
			now.blind = 0;
		}
		if (went == STEP_BLIND || went == STEP_ONCE) {
			now.is_unsure = true;
			from = walk->end;
		}
		if (went >= STEP_END || now.count - now.own == limit)
			return end_walk(walk, start, &now, went, limit);
	}
}

/* Whether this stack may be walked now; and of which generation the rules are. */
static bool begin_walk(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t *ret_generation)
{
	/* Our own code stays, and so do the rules for it. */
	if (start->by_frame_pointers)
		*ret_generation = 0;
	else if (!gmt_rules_begin(ret_generation))
		return false;
	return gmt_own_stack_holds(&walk->own_stack, start->sp);
}

bool gmt_walk_take(struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t limit)
{
	uint32_t generation;

	if (!begin_walk(walk, start, &generation)) {
		forget(walk);
		return false;
	}
	walk->is_same = false;
	if (walk->generation != generation || walk->is_unsure)
		forget(walk);
	walk->generation = generation;

	uint32_t from = walk->begin < walk->end ? verify(walk, start->sp) : walk->end;

	if (walk_from(walk, start, limit, from) || (from < walk->end && walk_from(walk, start, limit, walk->end)))
		return true;
	forget(walk);
	return false;
}

bool gmt_walk_outermost(const struct gmt_walk *walk, const struct gmt_walk_start *start, uint32_t count, uint64_t *ret_addresses)
{
	struct gmt_walk_frame frames[2] = { walk->frames[walk->end - 1] };

	for (uint32_t beyond = 0; beyond < GMT_WALK_FARTHEST; beyond++) {
		enum step went = step(start, &frames[beyond % 2], walk->own_stack.top, &frames[(beyond + 1) % 2]);

		if (went == STEP_ON || went == STEP_ONCE) {
			ret_addresses[beyond % count] = frames[(beyond + 1) % 2].ip;
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
