/* SPDX-License-Identifier: MIT */
/* Made-up stacks with special ends: too deep a stack, code without tables, wrong tables. */
#include "made_up_stack.h"

static void the_outermost_frames_of_a_stack_that_is_too_deep_are_found(void **state)
{
	(void)state;
	for (unsigned session = 0; session < SESSIONS; session++) {
		uint64_t found[64];
		uint32_t count = 1 + any(64), beyond = 1 + any(100);

		begin_session(session);
		for (int i = 0; i < 20; i++)
			push(0);
		push_many(GMT_WALK_NEW_FRAMES + beyond);

		struct gmt_walk_start start = start_here();

		for (int again = 0; again < 2; again++) {
			assert_true(gmt_walk_capture(&walk, &start, 512));
			assert_int_equal(walk.is_known, again);
			assert_int_equal(walk.stack_end, GMT_STACK_CUT);
			assert_int_equal(gmt_walk_count(&walk), GMT_WALK_NEW_FRAMES);
			assert_int_equal(gmt_walk_outermost(&walk, &start, count, found), beyond >= count);
			for (uint32_t i = 0; i < count && beyond >= count; i++)
				assert_int_equal(found[i], frames[count - 1 - i].ip);
		}
	}
}

/*
 * Many frames leave the stack's frame pointer in its register. The value that the walk remembers
 * must still be right.
 */
static void a_stack_that_is_too_deep_is_walked_up_to_the_limit(void **state)
{
	(void)state;
	begin_session(5);
	push_many(GMT_WALK_NEW_FRAMES + 100);
	while (depth > 300) {
		struct gmt_walk_start start = start_here();

		assert_true(gmt_walk_capture(&walk, &start, 512));
		assert_true(gmt_walk_count(&walk) >= (depth < 512 ? depth : 512));
		for (uint32_t i = 0; i < gmt_walk_count(&walk); i++)
			assert_int_equal(walk.addresses[walk.host_begin + i], frames[depth - 1 - i].ip);
		depth -= 1 + any(20);
		frames[depth - 1].ip = make_ip(gmt_rule_cache_read_tables(frames[depth - 1].ip), 0x500000);
	}
}

static void tables_that_lead_off_the_stack_are_not_followed(void **state)
{
	(void)state;
	struct gmt_unwind_rule wrong[] = {
		{ .kind = GMT_UNWIND_BY_FP, .cfa_words = 2 },
		{ .kind = GMT_UNWIND_BY_FP, .saved_words = 2, .cfa_words = 2 },
		{ .kind = GMT_UNWIND_BY_SP, .cfa_words = 127 },
		{ .kind = GMT_UNWIND_BY_SP, .saved_words = 9, .cfa_words = 3 },
	};
	other_memory = mmap(NULL, WORDS * 8, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	const uint64_t pointers[] = { 0, 8, 1, UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 15,
		0x7fff00000000, (uint64_t)(memory + WORDS), (uint64_t)memory,
		(uint64_t)(other_memory + WORDS / 2), (uint64_t)(other_memory + WORDS / 2) + 4 };

	begin_session(2);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		for (size_t at = 0; at < sizeof(pointers) / sizeof(*pointers); at++) {
			struct gmt_walk_start start = {
				.ip = make_ip(wrong[i], 0x400000),
				.sp = (uint64_t)&memory[WORDS - 100],
				.fp = pointers[at],
			};

			/*
			 * libunwind is not asked either, unless the pointer may lead to another stack of the
			 * thread.
			 */
			bool is_other = wrong[i].kind == GMT_UNWIND_BY_FP && wrong[i].saved_words == 2 &&
				pointers[at] % 8 == 0 && gmt_memory_is_readable(pointers[at] + 8);

			assert_int_equal(gmt_walk_capture(&walk, &start, 512), !is_other);
			if (is_other)
				continue;
			assert_int_equal(walk.stack_end, GMT_STACK_STOPPED);
			assert_int_equal(gmt_walk_count(&walk), 1);
			assert_int_equal(walk.addresses[walk.host_begin], start.ip);
		}
}

/*
 * Fills memory and frame pointers with random words. The walk finds only frames on the stack, and
 * all known frames.
 */
static void code_without_tables_is_walked_by_its_frame_pointer(void **state)
{
	(void)state;
	uint32_t whole = 0, stopped = 0;

	for (unsigned session = 0; session < SESSIONS; session++) {
		begin_session(session);
		for (int i = 0; i < 10; i++)
			push(0);

		/* Two frames without tables: both keep frame pointers, or only the outer one does. */
		uint32_t keeps = any(2), known = depth;

		for (int i = 0; i < 2; i++) {
			struct frame *inner = &frames[depth];

			inner->sp = frames[depth - 1].sp - 32;
			*word(inner->sp + 24) = frames[depth - 1].ip;
			*word(inner->sp + 16) = frames[depth - 1].fp;
			inner->fp = i == 0 || keeps ? inner->sp + 16 : (uint64_t)rand() * 4;
			inner->ip = make_ip((struct gmt_unwind_rule){ .kind = GMT_UNWIND_NONE },
				any_site() & (recorder_start - 1));
			depth++;
		}
		/* A frame with tables, called by them. */
		push(0);
		frames[depth - 1].ip &= recorder_start - 1;

		struct gmt_walk_start start = start_here();
		bool is_framed = gmt_rule_cache_read_tables(start.ip).saved_words != 0;

		/* No frame may use a register that a known frame changed without saving it. */
		if (!is_framed && frames[depth - 1].fp != frames[depth - 2].fp)
			continue;
		for (int again = 0; again < 2; again++) {
			assert_true(gmt_walk_capture(&walk, &start, 512));
			assert_true(walk.has_unverified_words && !walk.is_known);
			if (!keeps) {
				assert_int_equal(walk.stack_end, GMT_STACK_STOPPED);
				assert_int_equal(gmt_walk_count(&walk), 2);
				assert_int_equal(walk.addresses[walk.host_begin + 1], frames[known + 1].ip);
				stopped++;
				continue;
			}
			assert_int_equal(walk.stack_end, GMT_STACK_WHOLE);
			assert_int_equal(gmt_walk_count(&walk), depth);
			for (uint32_t i = 0; i < depth; i++)
				assert_int_equal(walk.addresses[walk.host_begin + i], frames[depth - 1 - i].ip);
			whole++;
		}
	}
	assert_true(whole > SESSIONS / 4 && stopped > SESSIONS / 4);
}

/* Calls a function that keeps a frame pointer, whatever its tables say. */
static void push_framed(void)
{
	const struct frame *outer = &frames[depth - 1];
	uint32_t size = 3 + any(FRAME_WORDS);
	struct frame *inner = &frames[depth];

	if (depth == DEEPEST - 1 || outer->sp - size * 8 < (uint64_t)&memory[FRAME_WORDS])
		return;
	/*
	 * The walk ends a frame at the end of its record. It cannot see the outer function's words
	 * below.
	 */
	*word(outer->sp - size * 8 + 8) = outer->ip;
	*word(outer->sp - size * 8) = outer->fp;
	inner->fp = outer->sp - size * 8;
	inner->sp = inner->fp - 8 * any(2);
	inner->ip =
		make_ip((struct gmt_unwind_rule){ .kind = GMT_UNWIND_OTHER }, 0x400000 + 8 * any(SITES));
	depth++;
}

static void a_walk_by_frame_pointers_finds_the_real_frames(void **state)
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
				assert_true(gmt_walk_capture(&walk, &start, 512));
				assert_int_equal(walk.stack_end, is_broken ? GMT_STACK_STOPPED : GMT_STACK_WHOLE);
				assert_int_equal(gmt_walk_count(&walk), depth);
				for (uint32_t i = 0; i < depth; i++)
					assert_int_equal(walk.addresses[walk.host_begin + i], frames[depth - 1 - i].ip);
				same += walk.is_known;
			}
		}
	}
	assert_true(same >= SESSIONS * (ROUNDS / 3));
}

static void frame_pointers_that_lead_off_the_stack_end_the_walk(void **state)
{
	(void)state;
	const uint64_t inside = (uint64_t)&memory[WORDS - 100];
	const uint64_t pointers[] = { 8, 1, UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 15, 0x7fff00000000,
		(uint64_t)(memory + WORDS), (uint64_t)(memory + WORDS) - 8, (uint64_t)memory, inside - 8,
		inside + 4 };

	begin_session(4);
	for (size_t at = 0; at < sizeof(pointers) / sizeof(*pointers); at++) {
		struct gmt_walk_start start = {
			.ip = 0x400000, .sp = inside, .fp = pointers[at], .by_frame_pointers = true
		};

		assert_true(gmt_walk_capture(&walk, &start, 512));
		assert_int_equal(walk.stack_end, GMT_STACK_STOPPED);
		assert_int_equal(gmt_walk_count(&walk), 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_that_is_too_deep_is_walked_up_to_the_limit),
		cmocka_unit_test(the_outermost_frames_of_a_stack_that_is_too_deep_are_found),
		cmocka_unit_test(tables_that_lead_off_the_stack_are_not_followed),
		cmocka_unit_test(code_without_tables_is_walked_by_its_frame_pointer),
		cmocka_unit_test(a_walk_by_frame_pointers_finds_the_real_frames),
		cmocka_unit_test(frame_pointers_that_lead_off_the_stack_end_the_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
