/* SPDX-License-Identifier: MIT */
/*
 * Stacks that are made up, word by word, and change at random: what a walk remembers and splices must be what a walk that
 * remembers nothing sees. A return address says by itself which rule it has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "capture/readable.h"
#include "capture/rules.h"
#include "capture/walk.h"

enum {
	WORDS = 4096, DEEPEST = 400, SESSIONS = 300, ROUNDS = 300, FRAME_WORDS = 12, SITES = 3,
	IP_SHIFT = 32, KIND_SHIFT = 43,
};

/* Our own code is all that lies in the upper half. */
static const uint64_t own_start = (uint64_t)1 << 46, own_end = (uint64_t)1 << 47;

static _Alignas(4096) uint64_t memory[WORDS];
static uint64_t *other_memory; /* another stack, far away */
static _Atomic uint64_t no_rules[1 << GMT_RULES_SET_BITS][GMT_RULES_WAYS];
struct gmt_rules gmt_rules = { .sets = no_rules, .generation = 1 };

/* The frames that are there, outermost first. */
static struct frame {
	uint64_t ip, sp, fp;
} frames[DEEPEST];
static uint32_t depth;
static struct gmt_walk walk;

bool gmt_is_readable(uintptr_t address)
{
	return address >= (uintptr_t)other_memory && address < (uintptr_t)(other_memory + WORDS);
}

bool gmt_own_stack_grow(struct gmt_own_stack *stack, uintptr_t here)
{
	(void)stack;
	(void)here;
	return false;
}

/* Above the site are kind, saved_words and cfa_words; above these, whether it is our own. */
static uint64_t make_ip(struct gmt_unwind_rule rule, uint64_t site)
{
	return (uint64_t)rule.kind << KIND_SHIFT | (uint64_t)rule.saved_words << 39 | (uint64_t)rule.cfa_words << IP_SHIFT | site;
}

struct gmt_unwind_rule gmt_rules_look(uint64_t ip)
{
	return (struct gmt_unwind_rule){
		.kind = ip >> KIND_SHIFT & 7, .saved_words = ip >> 39 & 15, .cfa_words = (uint16_t)(ip >> IP_SHIFT & 127),
	};
}

static uint32_t any(uint32_t count)
{
	return (uint32_t)rand() % count;
}

static uint64_t *word(uint64_t address)
{
	return &memory[(address - (uint64_t)memory) / 8];
}

static uint64_t any_site(void)
{
	return 0x400000 + 8 * any(SITES) + (any(8) ? 0 : own_start);
}

static void begin_stack(void)
{
	for (int i = 0; i < WORDS; i++)
		memory[i] = any(4) ? (uint64_t)rand() : (uint64_t)&memory[any(WORDS)];
	frames[0] = (struct frame){
		.ip = make_ip((struct gmt_unwind_rule){ .kind = GMT_UNWIND_END }, 0x400000), .sp = (uint64_t)&memory[WORDS - 4],
		.fp = any(2) ? 0 : (uint64_t)rand(),
	};
	depth = 1;
}

/* A call. What the new frame does not write keeps what earlier ones left there. */
static void push(int odd)
{
	const struct frame *outer = &frames[depth - 1];
	uint32_t size = 3 + any(FRAME_WORDS), by_fp = any(2), saved = by_fp ? 2 : any(2) ? 2 + any(size - 2) : 0;
	struct gmt_unwind_rule rule = {
		.kind = odd ? GMT_UNWIND_OTHER : by_fp ? GMT_UNWIND_BY_FP : GMT_UNWIND_BY_SP,
		.saved_words = (uint8_t)saved, .cfa_words = (uint16_t)(by_fp ? 2 : size),
	};
	struct frame *inner = &frames[depth];

	if (depth == DEEPEST - 1 || outer->sp - size * 8 < (uint64_t)&memory[FRAME_WORDS])
		return;
	inner->sp = outer->sp - size * 8;
	*word(outer->sp - 8) = outer->ip;
	if (saved)
		*word(outer->sp - saved * 8) = outer->fp;
	inner->fp = by_fp ? outer->sp - 16 : saved && any(2) ? (uint64_t)rand() : outer->fp;
	inner->ip = make_ip(rule, any_site());
	depth++;
}

/* A function in the middle has gone on, and calls from somewhere else: only its return address has changed. */
static void go_on(uint32_t index)
{
	frames[index].ip = (frames[index].ip & (own_start - 1)) >> IP_SHIFT << IP_SHIFT | any_site();
	if (index + 1 < depth)
		*word(frames[index].sp - 8) = frames[index].ip;
}

/* A function in the middle has put something else into the frame pointer's register, which it saves for its caller. */
static void use_register(uint32_t index)
{
	struct gmt_unwind_rule rule = gmt_rules_look(frames[index].ip);

	if (rule.kind != GMT_UNWIND_BY_SP || !rule.saved_words)
		return;
	frames[index].fp = (uint64_t)rand();
	for (uint32_t i = index + 1; i < depth; i++) {
		rule = gmt_rules_look(frames[i].ip);
		if (rule.saved_words) {
			*word(frames[i - 1].sp - rule.saved_words * 8) = frames[i - 1].fp;
			return;
		}
		frames[i].fp = frames[i - 1].fp;
	}
}

static void change(void)
{
	uint32_t pops = any(4) ? any(3) : any(depth), pushes = any(4) ? any(3) : any(40);

	while (pops-- && depth > 1)
		depth--;
	while (pushes--)
		push(0);
	if (!any(3))
		go_on(any(depth));
	if (!any(3))
		use_register(any(depth));
}

static struct gmt_walk_start start_here(void)
{
	const struct frame *inner = &frames[depth - 1];

	return (struct gmt_walk_start){
		.ip = inner->ip, .sp = inner->sp, .fp = inner->fp, .own_start = own_start, .own_end = own_end,
	};
}

/* All of `frames`, innermost first, without our own. */
static void check(uint32_t limit, int has_odd)
{
	static uint64_t seen_before[DEEPEST];
	static uint32_t count_before;
	struct gmt_walk_start start = start_here();
	uint64_t expected[DEEPEST];
	uint32_t count = 0, first = depth;

	while (first && frames[first - 1].ip >= own_start)
		first--;
	for (uint32_t i = first; i-- > 0;)
		expected[count++] = frames[i].ip;
	if (!gmt_walk_take(&walk, &start, limit)) {
		assert_true(has_odd);
		return;
	}
	assert_false(has_odd);
	assert_int_equal(walk.ends, count <= limit ? GMT_STACK_WHOLE : GMT_STACK_CUT);
	if (count > limit)
		count = limit;
	assert_int_equal(walk.end - walk.first, count);
	assert_memory_equal(walk.addresses + walk.first, expected, count * sizeof(*expected));
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(walk.frames[walk.first + i].fp, frames[first - 1 - i].fp);
	assert_int_equal(walk.hashes[walk.first], gmt_walk_hash(expected, count));
	if (walk.is_same) {
		assert_int_equal(count, count_before);
		assert_memory_equal(expected, seen_before, count * sizeof(*expected));
	}
	count_before = count;
	memcpy(seen_before, expected, count * sizeof(*expected));
	/* As native.c does: the word before is used for something else. */
	assert_true(walk.first > 0);
	walk.addresses[walk.first - 1] = 0xdeadbeef;
}

static void begin_session(unsigned seed)
{
	srand(seed);
	begin_stack();
	memset(&walk, 0, sizeof(walk));
	walk.own_stack = (struct gmt_own_stack){ .low = (uintptr_t)memory, .top = (uintptr_t)(memory + WORDS) };
}

static void a_spliced_stack_is_the_one_that_is_there(void **state)
{
	(void)state;
	for (unsigned session = 0; session < SESSIONS; session++) {
		begin_session(session);

		uint32_t limit = any(2) ? 512 : 1 + any(60);

		for (int round = 0; round < ROUNDS; round++) {
			change();
			check(limit, 0);
			if (any(2))
				check(limit, 0);
		}
	}
}

static void the_outermost_frames_of_a_stack_that_is_too_deep_are_found(void **state)
{
	(void)state;
	for (unsigned session = 0; session < SESSIONS; session++) {
		uint64_t found[64];
		uint32_t count = 1 + any(64), limit = 1 + any(100);

		begin_session(session);
		while (depth < DEEPEST / 2)
			push(0);
		frames[depth - 1].ip &= own_start - 1;

		struct gmt_walk_start start = start_here();

		assert_true(gmt_walk_take(&walk, &start, limit));
		assert_int_equal(walk.ends, GMT_STACK_CUT);

		uint32_t beyond = depth - limit;

		assert_int_equal(gmt_walk_outermost(&walk, &start, count, found), beyond >= count);
		for (uint32_t i = 0; i < count && beyond >= count; i++)
			assert_int_equal(found[i], frames[count - 1 - i].ip);
	}
}

static void an_unchanged_stack_is_told_from_a_changed_one(void **state)
{
	(void)state;
	uint32_t same = 0;

	for (unsigned session = 0; session < SESSIONS; session++) {
		begin_session(session);
		for (int i = 0; i < 30; i++)
			push(0);
		check(512, 0);
		assert_false(walk.is_same);
		check(512, 0);
		same += walk.is_same;

		uint32_t index = any(depth - 1);

		/* Another site, certainly. */
		frames[index].ip ^= 0x1000000;
		*word(frames[index].sp - 8) = frames[index].ip;
		check(512, 0);
		assert_false(walk.is_same);
	}
	assert_int_equal(same, SESSIONS);
}

static void a_frame_without_a_simple_rule_is_never_walked_over(void **state)
{
	(void)state;
	for (unsigned session = 0; session < SESSIONS; session++) {
		begin_session(session);
		for (int round = 0; round < ROUNDS / 3; round++) {
			int has_odd = 0;

			change();
			if (!any(3) && depth < DEEPEST - 3) {
				push(1);
				push(0);
			}
			for (uint32_t i = 0; i < depth; i++)
				has_odd |= gmt_rules_look(frames[i].ip).kind == GMT_UNWIND_OTHER;

			check(512, has_odd);
		}
	}
}

static void another_generation_of_rules_and_a_pause_forget_all(void **state)
{
	(void)state;
	begin_session(1);
	for (int i = 0; i < 30; i++)
		push(0);
	check(512, 0);
	check(512, 0);
	assert_true(walk.is_same);
	gmt_rules.generation++;
	check(512, 0);
	assert_false(walk.is_same);
	gmt_rules.pauses++;

	struct gmt_walk_start start = start_here();

	assert_false(gmt_walk_take(&walk, &start, 512));
	gmt_rules.pauses--;
	check(512, 0);
	assert_false(walk.is_same);
}

static void tables_that_lead_off_the_stack_are_not_followed(void **state)
{
	(void)state;
	struct gmt_unwind_rule wrong[] = {
		{ .kind = GMT_UNWIND_BY_FP, .cfa_words = 2 }, { .kind = GMT_UNWIND_BY_FP, .saved_words = 2, .cfa_words = 2 },
		{ .kind = GMT_UNWIND_BY_SP, .cfa_words = 127 },
		{ .kind = GMT_UNWIND_BY_SP, .saved_words = 9, .cfa_words = 3 },
	};
	other_memory = mmap(NULL, WORDS * 8, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	const uint64_t pointers[] = { 0, 8, 1, UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 15, 0x7fff00000000,
		(uint64_t)(memory + WORDS), (uint64_t)memory, (uint64_t)(other_memory + WORDS / 2),
		(uint64_t)(other_memory + WORDS / 2) + 4 };

	begin_session(2);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		for (size_t at = 0; at < sizeof(pointers) / sizeof(*pointers); at++) {
			struct gmt_walk_start start = {
				.ip = make_ip(wrong[i], 0x400000), .sp = (uint64_t)&memory[WORDS - 100], .fp = pointers[at],
			};

			/* Not even by libunwind, unless it may be another stack of the thread. */
			bool is_other = wrong[i].kind == GMT_UNWIND_BY_FP && wrong[i].saved_words == 2 && pointers[at] % 8 == 0 &&
				gmt_is_readable(pointers[at] + 8);

			assert_int_equal(gmt_walk_take(&walk, &start, 512), !is_other);
			if (is_other)
				continue;
			assert_int_equal(walk.ends, GMT_STACK_STOPPED);
			assert_int_equal(walk.end - walk.first, 1);
			assert_int_equal(walk.addresses[walk.first], start.ip);
		}
}

/* Random words, also for frame pointers: whatever is found lies on the stack, and what is known is found. */
static void code_without_tables_is_walked_over_where_its_frame_pointer_leads_on(void **state)
{
	(void)state;
	uint32_t whole = 0, stopped = 0;

	for (unsigned session = 0; session < SESSIONS; session++) {
		begin_session(session);
		for (int i = 0; i < 10; i++)
			push(0);

		/* Two frames of unknown code that keep frame pointers, or the inner one does not. */
		uint32_t keeps = any(2), known = depth;

		for (int i = 0; i < 2; i++) {
			struct frame *inner = &frames[depth];

			inner->sp = frames[depth - 1].sp - 32;
			*word(inner->sp + 24) = frames[depth - 1].ip;
			*word(inner->sp + 16) = frames[depth - 1].fp;
			inner->fp = i == 0 || keeps ? inner->sp + 16 : (uint64_t)rand() * 4;
			inner->ip = make_ip((struct gmt_unwind_rule){ .kind = GMT_UNWIND_NONE }, any_site() & (own_start - 1));
			depth++;
		}
		/* Known code that was called by it. */
		push(0);
		frames[depth - 1].ip &= own_start - 1;

		struct gmt_walk_start start = start_here();
		bool is_framed = gmt_rules_look(start.ip).saved_words != 0;

		/* A register that a known frame has changed without saving it is nobody's frame pointer. */
		if (!is_framed && frames[depth - 1].fp != frames[depth - 2].fp)
			continue;
		for (int again = 0; again < 2; again++) {
			assert_true(gmt_walk_take(&walk, &start, 512));
			assert_true(walk.is_unsure && !walk.is_same);
			if (!keeps) {
				assert_int_equal(walk.ends, GMT_STACK_STOPPED);
				assert_int_equal(walk.end - walk.first, 2);
				assert_int_equal(walk.addresses[walk.first + 1], frames[known + 1].ip);
				stopped++;
				continue;
			}
			assert_int_equal(walk.ends, GMT_STACK_WHOLE);
			assert_int_equal(walk.end - walk.first, depth);
			for (uint32_t i = 0; i < depth; i++)
				assert_int_equal(walk.addresses[walk.first + i], frames[depth - 1 - i].ip);
			whole++;
		}
	}
	assert_true(whole > SESSIONS / 4 && stopped > SESSIONS / 4);
}

/* What all code looks like that keeps frame pointers, whatever tables say. */
static void push_framed(void)
{
	const struct frame *outer = &frames[depth - 1];
	uint32_t size = 3 + any(FRAME_WORDS);
	struct frame *inner = &frames[depth];

	if (depth == DEEPEST - 1 || outer->sp - size * 8 < (uint64_t)&memory[FRAME_WORDS])
		return;
	/* A chain's place is the end of its record: what the outer function has below that is not told. */
	*word(outer->sp - size * 8 + 8) = outer->ip;
	*word(outer->sp - size * 8) = outer->fp;
	inner->fp = outer->sp - size * 8;
	inner->sp = inner->fp - 8 * any(2);
	inner->ip = make_ip((struct gmt_unwind_rule){ .kind = GMT_UNWIND_OTHER }, 0x400000 + 8 * any(SITES));
	depth++;
}

static void stacks_by_frame_pointers_are_those_that_are_there(void **state)
{
	(void)state;
	uint32_t same = 0;

	for (unsigned session = 0; session < SESSIONS; session++) {
		bool is_broken = any(2);

		begin_session(session);
		frames[0].fp = is_broken ? 8 + 16 * (uint64_t)rand() : 0;
		for (int round = 0; round < ROUNDS / 3; round++) {
			for (uint32_t pops = any(4) ? any(3) : any(depth); pops && depth > 1; pops--)
				depth--;
			for (uint32_t pushes = any(4) ? any(3) : any(40); pushes; pushes--)
				push_framed();

			struct gmt_walk_start start = start_here();

			start.by_frame_pointers = true;
			for (int again = 0; again < 2; again++) {
				assert_true(gmt_walk_take(&walk, &start, 512));
				assert_int_equal(walk.ends, is_broken ? GMT_STACK_STOPPED : GMT_STACK_WHOLE);
				assert_int_equal(walk.end - walk.first, depth);
				for (uint32_t i = 0; i < depth; i++)
					assert_int_equal(walk.addresses[walk.first + i], frames[depth - 1 - i].ip);
				same += walk.is_same;
			}
		}
	}
	assert_true(same >= SESSIONS * (ROUNDS / 3));
}

static void frame_pointers_that_lead_off_the_stack_end_it(void **state)
{
	(void)state;
	const uint64_t inside = (uint64_t)&memory[WORDS - 100];
	const uint64_t pointers[] = { 8, 1, UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 15, 0x7fff00000000, (uint64_t)(memory + WORDS),
		(uint64_t)(memory + WORDS) - 8, (uint64_t)memory, inside - 8, inside + 4 };

	begin_session(4);
	for (size_t at = 0; at < sizeof(pointers) / sizeof(*pointers); at++) {
		struct gmt_walk_start start = { .ip = 0x400000, .sp = inside, .fp = pointers[at], .by_frame_pointers = true };

		assert_true(gmt_walk_take(&walk, &start, 512));
		assert_int_equal(walk.ends, GMT_STACK_STOPPED);
		assert_int_equal(walk.end - walk.first, 1);
	}
}

static void what_lies_below_the_stack_pointer_is_not_read(void **state)
{
	(void)state;
	begin_session(3);
	while (frames[depth - 1].sp > (uint64_t)(memory + WORDS / 4))
		push(0);
	check(512, 0);
	while (frames[depth - 1].sp < (uint64_t)(memory + WORDS / 2))
		depth--;
	assert_int_equal(mprotect(memory, sizeof(memory) / 2, PROT_NONE), 0);
	check(512, 0);
	assert_int_equal(mprotect(memory, sizeof(memory) / 2, PROT_READ | PROT_WRITE), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_spliced_stack_is_the_one_that_is_there),
		cmocka_unit_test(the_outermost_frames_of_a_stack_that_is_too_deep_are_found),
		cmocka_unit_test(an_unchanged_stack_is_told_from_a_changed_one),
		cmocka_unit_test(a_frame_without_a_simple_rule_is_never_walked_over),
		cmocka_unit_test(another_generation_of_rules_and_a_pause_forget_all),
		cmocka_unit_test(what_lies_below_the_stack_pointer_is_not_read),
		cmocka_unit_test(tables_that_lead_off_the_stack_are_not_followed),
		cmocka_unit_test(code_without_tables_is_walked_over_where_its_frame_pointer_leads_on),
		cmocka_unit_test(stacks_by_frame_pointers_are_those_that_are_there),
		cmocka_unit_test(frame_pointers_that_lead_off_the_stack_end_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
