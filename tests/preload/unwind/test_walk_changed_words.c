/* SPDX-License-Identifier: MIT */
/*
 * Changes each word on which a remembered stack, or a cached part of a stack, depends. After a
 * change, the walk must take the same stack as a walk without caches.
 */
#include "made_up_stack.h"

enum { MAX_OUTER = 13, MAX_INNER = 13 };

static struct gmt_walk walk_without_caches;

/*
 * Takes the stack with and without caches, and compares both. Returns whether the walk with caches
 * knew the stack.
 */
static bool take_and_compare(const struct gmt_walk_start *start)
{
	memset(&walk_without_caches, 0, sizeof(walk_without_caches));
	gmt_walk_init(&walk_without_caches);
	walk_without_caches.stack_bounds = walk.stack_bounds;

	bool taken = gmt_walk_capture(&walk_without_caches, start, 512);

	assert_int_equal(gmt_walk_capture(&walk, start, 512), taken);
	if (!taken)
		return false;
	assert_int_equal(walk.stack_end, walk_without_caches.stack_end);
	assert_int_equal(gmt_walk_count(&walk), gmt_walk_count(&walk_without_caches));
	assert_memory_equal(walk.addresses + walk.host_begin,
		walk_without_caches.addresses + walk_without_caches.host_begin,
		gmt_walk_count(&walk_without_caches) * sizeof(*walk_without_caches.addresses));
	assert_int_equal(walk.hashes[walk.host_begin],
		walk_without_caches.hashes[walk_without_caches.host_begin]);
	return walk.is_known;
}

static bool take_and_compare_here(void)
{
	struct gmt_walk_start start = start_here();

	return take_and_compare(&start);
}

/* Gives the taken stack an id, which the walk finds when the stack comes again. */
static void set_id(uint32_t id)
{
	walk.id = id;
	gmt_stack_cache_set_id(&walk);
}

/* Calls a function that keeps a chained frame pointer, or that does not touch the register. */
static void push_plain(bool is_framed, uint64_t site)
{
	const struct gmt_unwind_rule framed = {
		.kind = GMT_UNWIND_BY_FP, .saved_words = 2, .cfa_words = 2
	};
	const struct gmt_unwind_rule plain = { .kind = GMT_UNWIND_BY_SP, .cfa_words = 4 };
	const struct frame *outer = &frames[depth - 1];
	struct frame *inner = &frames[depth++];

	*word(outer->sp - 8) = outer->ip;
	*inner = (struct frame){ make_ip(is_framed ? framed : plain, site), outer->sp - 32, outer->fp };
	if (!is_framed)
		return;
	*word(outer->sp - 16) = outer->fp;
	inner->fp = outer->sp - 16;
}

/*
 * Returns where frame `index` saved the frame pointer of its caller (`is_fp`), or its return
 * address.
 */
static uint64_t *saved_word(uint32_t index, bool is_fp)
{
	return word(frames[index].sp + (is_fp ? 16 : 24));
}

static void push_all(uint32_t count, bool is_framed, uint64_t site)
{
	for (uint32_t i = 0; i < count; i++)
		push_plain(is_framed, site + 8 * i);
}

static void each_word_of_a_remembered_stack_is_compared(void **state)
{
	(void)state;
	for (uint32_t count = 2; count <= MAX_OUTER; count++)
		for (uint32_t index = 2; index <= count; index++)
			for (int is_fp = 0; is_fp < 2; is_fp++) {
				begin_session(1);
				push_all(count, is_fp, 0x400000);
				assert_false(take_and_compare_here());
				set_id(1);
				assert_true(take_and_compare_here());
				/* The frame pointer skips a frame, or the return address is another one. */
				*saved_word(index, is_fp) =
					is_fp ? *word(frames[index - 1].fp) : *saved_word(index, false) + 0x1000000;
				assert_false(take_and_compare_here());
			}
}

/*
 * Alternates two inner parts behind `outer` frames until both have ids. Leaves the second part on
 * the stack.
 */
static void alternate_inner_parts(uint32_t outer, uint32_t inner, bool is_framed)
{
	begin_session(2);
	push_all(outer, is_framed, 0x400000);
	for (uint32_t turn = 0; turn < 7; turn++) {
		depth = outer + 1;
		push_all(turn % 2 ? inner : 1, is_framed, turn % 2 ? 0x500000 : 0x600000);
		assert_int_equal(take_and_compare_here(), turn > 2);
		if (turn < 3)
			set_id(1 + turn % 2);
		assert_int_equal(walk.id, 1 + turn % 2);
	}
	depth = outer + 1;
	push_all(inner, is_framed, 0x500000);
}

static void each_word_of_a_cached_part_is_compared(void **state)
{
	(void)state;
	for (uint32_t inner = 2; inner <= MAX_INNER; inner++)
		for (int is_fp = 0; is_fp < 2; is_fp++)
			for (uint32_t outer = 3; outer < 5; outer++) {
				alternate_inner_parts(outer, inner, is_fp);
				assert_true(take_and_compare_here());
				assert_int_equal(walk.id, 2);
				/* Changes a word of each frame of the inner part. */
				for (uint32_t index = outer + 1; index <= outer + inner; index++) {
					alternate_inner_parts(outer, inner, is_fp);
					*saved_word(index, is_fp) =
						is_fp ? *word(frames[index - 1].fp) : *saved_word(index, false) + 0x1000000;
					assert_false(take_and_compare_here() && walk.id == 2);
				}
			}
}

/*
 * Functions without a frame pointer leave the register unchanged. So its value in the innermost
 * frame locates the first frame outside that has a frame pointer.
 */
static void a_frame_pointer_that_is_still_in_its_register_is_compared(void **state)
{
	(void)state;
	for (int is_cached = 0; is_cached < 2; is_cached++) {
		begin_session(3);
		push_all(5, true, 0x400000);

		uint32_t outer = depth;

		for (uint32_t turn = 0; turn < (is_cached ? 7 : 1); turn++) {
			depth = outer;
			push_all(turn % 2 ? 1 : 3, false, turn % 2 ? 0x500000 : 0x600000);
			assert_int_equal(take_and_compare_here(), turn > 2);
			if (turn < 3)
				set_id(1 + turn % 2);
		}
		if (is_cached) {
			depth = outer;
			push_all(1, false, 0x500000);
			assert_true(take_and_compare_here());
		}
		depth = outer;
		push_all(3, false, 0x600000);

		struct gmt_walk_start start = start_here();

		start.fp = *word(start.fp);
		assert_false(take_and_compare(&start));
		assert_true(take_and_compare(&start));
		start.fp = frames[depth - 1].fp;
		assert_false(take_and_compare(&start) && !is_cached);
	}
}

/*
 * Calls a function with a frame of `words` words. It saves the frame pointer `saved_words` words
 * below the end of its caller's frame.
 */
static void push_saving_fp(uint32_t words, uint32_t saved_words, uint64_t site)
{
	const struct frame *outer = &frames[depth - 1];
	const struct gmt_unwind_rule rule = {
		.kind = GMT_UNWIND_BY_SP, .saved_words = (uint8_t)saved_words, .cfa_words = words
	};

	*word(outer->sp - 8) = outer->ip;
	*word(outer->sp - saved_words * 8) = outer->fp;
	frames[depth++] = (struct frame){ make_ip(rule, site), outer->sp - words * 8, 0 };
}

static void memory_of_a_frame_below_the_stack_pointer_is_not_read(void **state)
{
	(void)state;
	const size_t below = 3072;

	/*
	 * The frame's first callee saved its frame pointer far down. Its second callee ends above that.
	 */
	begin_session(4);
	push_plain(true, 0x400000);
	frames[depth - 1].sp = (uint64_t)(memory + below + 5);
	push_saving_fp(12, 10, 0x400000);
	assert_false(take_and_compare_here());
	depth--;
	push_saving_fp(4, 3, 0x400000);
	assert_int_equal(mprotect(memory, below * sizeof(*memory), PROT_NONE), 0);
	assert_false(take_and_compare_here());
	assert_int_equal(mprotect(memory, below * sizeof(*memory), PROT_READ | PROT_WRITE), 0);
}

/*
 * Builds one of two outer stacks, which have equal return addresses in different places. Only the
 * frame pointer of their innermost frame differs. So equal inner parts may follow both.
 */
static void build_outer(uint32_t which)
{
	depth = 1;
	frames[0].sp = (uint64_t)&memory[WORDS - 4 - 40 * which];
	push_plain(false, 0x400008);
	push_plain(true, 0x400010);
	frames[2].sp = (uint64_t)&memory[WORDS - 200];
}

static void a_cached_part_is_not_put_before_another_outer_stack_with_equal_addresses(void **state)
{
	(void)state;
	begin_session(6);
	for (uint32_t which = 0; which < 2; which++)
		for (uint32_t turn = 0; turn < 3; turn++) {
			build_outer(which);
			if (turn < 2)
				push_saving_fp(4, 3, 0x400018);
			push_saving_fp(4, 3, 0x400020 + 8 * turn);
			/*
			 * The second outer stack does not take the last inner part, which belongs to the first
			 * one.
			 */
			if (which && turn == 2)
				break;
			take_and_compare_here();
			set_id(1 + turn);
		}
	build_outer(0);
	push_saving_fp(4, 3, 0x400030);
	take_and_compare_here();
	/* The walk finds the stack in its own place. */
	*word(frames[1].sp - 8) += 0x1000000;
	assert_false(take_and_compare_here());
}

/* Each frame has two words, and the walk compares both. The frames fill the memory and more. */
static void a_full_cache_of_frame_pointers_takes_no_more(void **state)
{
	(void)state;
	enum { MOST = GMT_WALK_FRAMES + 400, AT_ONCE = 200, RECORDS = 2 * MOST };
	static uint64_t records[RECORDS];
	const uint64_t top = (uint64_t)(records + RECORDS),
				   site = make_ip((struct gmt_unwind_rule){ .kind = GMT_UNWIND_BY_FP,
									  .saved_words = 2,
									  .cfa_words = 2 },
					   0x400000);
	uint32_t fullest = 0;

	for (uint32_t turn = 0; turn < 2 * MOST; turn++) {
		uint32_t count = turn % MOST;

		if (!count) {
			begin_session(5);
			walk.stack_bounds = (struct gmt_stack_bounds){ .low = (uintptr_t)records, .top = top };
			continue;
		}

		struct gmt_walk_start start = {
			.ip = site + 8, .sp = top - count * 16, .fp = top - count * 16
		};
		uint64_t *record = &records[RECORDS - 2 * count];

		record[0] = start.fp + 16;
		record[1] = count == 1
			? make_ip((struct gmt_unwind_rule){ .kind = GMT_UNWIND_END }, 0x400000)
			: site;
		if (count % AT_ONCE)
			continue;
		assert_true(gmt_walk_capture(&walk, &start, 512));

		uint32_t known = gmt_walk_count(&walk);

		assert_true(known == count + 1 ||
			(walk.stack_end == GMT_STACK_CUT && known >= GMT_WALK_NEW_FRAMES));
		assert_int_equal(walk.addresses[walk.host_begin], site + 8);
		for (uint32_t i = 1; i < known; i++)
			assert_int_equal(walk.addresses[walk.host_begin + i],
				i == count ? records[RECORDS - 1] : site);
		fullest = known > fullest ? known : fullest;
		if (turn < MOST || known < GMT_WALK_FRAMES - AT_ONCE)
			continue;
		/* Changes a word in the middle, then the outermost one. */
		for (uint32_t of = count / 2; of; of = of > 2 ? 2 : 0) {
			uint64_t *value = &records[RECORDS - 2 * of];

			assert_true(gmt_walk_capture(&walk, &start, 512) && walk.is_known);
			*value += 16;
			assert_true(gmt_walk_capture(&walk, &start, 512) && !walk.is_known);
			*value -= 16;
			assert_true(gmt_walk_capture(&walk, &start, 512));
		}
	}
	assert_true(fullest > GMT_WALK_FRAMES - AT_ONCE && fullest < GMT_WALK_FRAMES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_word_of_a_remembered_stack_is_compared),
		cmocka_unit_test(each_word_of_a_cached_part_is_compared),
		cmocka_unit_test(a_frame_pointer_that_is_still_in_its_register_is_compared),
		cmocka_unit_test(memory_of_a_frame_below_the_stack_pointer_is_not_read),
		cmocka_unit_test(a_cached_part_is_not_put_before_another_outer_stack_with_equal_addresses),
		cmocka_unit_test(a_full_cache_of_frame_pointers_takes_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
