/* SPDX-License-Identifier: MIT */
/*
 * Random changes of made-up stacks: a walk that remembers and splices must see the same stack as a
 * walk that remembers nothing.
 */
#include "made_up_stack.h"

/*
 * Simulates a function in the middle that calls from another place: only its return address
 * changes.
 */
static void change_return_address(uint32_t index)
{
	frames[index].ip =
		(frames[index].ip & (recorder_start - 1)) >> IP_SHIFT << IP_SHIFT | any_site();
	if (index + 1 < depth)
		*word(frames[index].sp - 8) = frames[index].ip;
}

/*
 * Simulates a function in the middle that saved the frame pointer's register for its caller, and
 * changes the register.
 */
static void use_register(uint32_t index)
{
	struct gmt_unwind_rule rule = gmt_rule_cache_read_tables(frames[index].ip);

	if (rule.kind != GMT_UNWIND_BY_SP || !rule.saved_words)
		return;
	frames[index].fp = (uint64_t)rand();
	for (uint32_t i = index + 1; i < depth; i++) {
		rule = gmt_rule_cache_read_tables(frames[i].ip);
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
		change_return_address(any(depth));
	if (!any(3))
		use_register(any(depth));
}

/* The stacks by id. A stack that the walk knows must have the addresses that first got this id. */
static struct name {
	uint64_t addresses[DEEPEST];
	uint32_t count;
} names[4 * ROUNDS];
static uint32_t name_count;

static void call_it(const uint64_t *expected, uint32_t count)
{
	struct name *name = &names[walk.id];

	if (!walk.is_known || !walk.id) {
		walk.id = name_count = name_count % (4 * ROUNDS - 1) + 1;
		name = &names[walk.id];
		name->count = count;
		memcpy(name->addresses, expected, count * sizeof(*expected));
		gmt_stack_cache_set_id(&walk);
	}
	assert_int_equal(name->count, count);
	assert_memory_equal(name->addresses, expected, count * sizeof(*expected));
}

static uint32_t same_count; /* checks that met the stack before, as gmt_walk_is_unchanged says */

/*
 * Takes the stack and compares it with `frames`, innermost first, without the recorder's own
 * frames.
 */
static void check(uint32_t limit, int has_odd)
{
	struct gmt_walk_start start = start_here();
	uint64_t expected[DEEPEST];
	uint32_t count = 0, first = depth;

	while (first && frames[first - 1].ip >= recorder_start)
		first--;
	for (uint32_t i = first; i-- > 0;)
		expected[count++] = frames[i].ip;

	bool is_sure = gmt_walk_is_verified(&walk), has_rows = GMT_WALK_FRAMES - walk.begin > 4;
	bool is_same = is_sure && gmt_walk_is_unchanged(&walk, start.ip, start.sp, start.fp);

	if (is_same) {
		same_count++;
		assert_int_equal(gmt_walk_count(&walk), count);
		assert_memory_equal(walk.addresses + walk.host_begin, expected, count * sizeof(*expected));
	}
	if (!gmt_walk_capture(&walk, &start, limit)) {
		assert_false(is_same);
		assert_true(has_odd);
		return;
	}
	assert_false(has_odd);
	/* The walk itself found the stack unchanged and reused no cached part of it. */
	if (is_sure && has_rows)
		assert_int_equal(is_same, walk.is_known && !walk.stack_cache.current);
	assert_int_equal(walk.stack_end, GMT_STACK_WHOLE);
	assert_int_equal(gmt_walk_count(&walk), count);
	assert_memory_equal(walk.addresses + walk.host_begin, expected, count * sizeof(*expected));
	assert_int_equal(walk.hashes[walk.host_begin], gmt_walk_hash(expected, count, 0));
	call_it(expected, count);
	assert_true(walk.host_begin > 0);
}

static void a_spliced_stack_equals_the_real_stack(void **state)
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
	/* Half of the rounds check twice, and some rounds change nothing. */
	assert_true(same_count > SESSIONS * ROUNDS / 4);
}

/* A complete stack: memory and frames. */
struct scene {
	uint64_t memory[WORDS];
	struct frame frames[DEEPEST];
	uint32_t depth;
};

static void keep_scene(struct scene *scene)
{
	memcpy(scene->memory, memory, sizeof(memory));
	memcpy(scene->frames, frames, depth * sizeof(*frames));
	scene->depth = depth;
}

static void set_scene(const struct scene *scene)
{
	memcpy(memory, scene->memory, sizeof(memory));
	memcpy(frames, scene->frames, scene->depth * sizeof(*frames));
	depth = scene->depth;
}

static void a_repeated_stack_is_found_in_the_cache_and_a_similar_one_is_not(void **state)
{
	(void)state;
	enum { SCENES = 12, TURNS = 8 };
	static struct scene scenes[SCENES];
	uint32_t reused = 0, left = 0;

	for (unsigned session = 0; session < SESSIONS; session++) {
		begin_session(session);
		for (int i = 0; i < SCENES; i++) {
			change();
			keep_scene(&scenes[i]);
		}
		for (int turn = 0; turn < TURNS; turn++) {
			for (int i = 0; i < SCENES; i++) {
				uint32_t guess = gmt_stack_cache_guess(&walk.stack_cache, 0);

				set_scene(&scenes[i]);
				/*
				 * A change far outside, for the whole turn: the inner parts stay valid, the stack's
				 * id does not.
				 */
				if (turn > 4 && depth > 2) {
					frames[1].ip ^= 0x1000000 * (uint64_t)turn;
					*word(frames[1].sp - 8) = frames[1].ip;
				}
				if (turn > 2 && !any(4))
					any(2) ? change_return_address(any(depth)) : use_register(any(depth));
				check(512, 0);
				/* The walk does not compare an unchanged stack with its guess. */
				reused += guess && walk.stack_cache.current == guess && walk.is_known;
				left += guess && walk.stack_cache.current != guess;
			}
		}
	}
	assert_true(reused > SESSIONS * SCENES);
	assert_true(left > SESSIONS);
}

static void the_cache_has_a_limit(void **state)
{
	(void)state;
	uint32_t fullest = 0, emptied = 0;

	begin_session(5);
	for (int round = 0; round < 100 * ROUNDS; round++) {
		uint32_t used = walk.stack_cache.used;

		while (depth > 2)
			depth--;
		while (depth < 60)
			push(0);
		check(512, 0);
		fullest = used > fullest ? used : fullest;
		emptied += walk.stack_cache.used < used;
	}
	assert_true(fullest < GMT_STACK_CACHE_WORDS);
	assert_true(emptied > 1);
}

static void an_unchanged_stack_is_distinguished_from_a_changed_one(void **state)
{
	(void)state;
	uint32_t same = 0;

	for (unsigned session = 0; session < SESSIONS; session++) {
		begin_session(session);
		for (int i = 0; i < 30; i++)
			push(0);
		check(512, 0);
		assert_false(walk.is_known);
		check(512, 0);
		same += walk.is_known;

		uint32_t index = any(depth - 1);

		/* The xor always gives another site. */
		frames[index].ip ^= 0x1000000;
		*word(frames[index].sp - 8) = frames[index].ip;
		check(512, 0);
		assert_false(walk.is_known);
	}
	assert_int_equal(same, SESSIONS);
}

/*
 * Checks a stack whose middle frame finds its caller by frame pointer, or by stack pointer if not
 * `by_fp`. `which` selects one of two callers. `inner` is the rule of the innermost frame: it saves
 * that frame pointer, or leaves it in the register.
 */
static void check_caller(bool by_fp, struct gmt_unwind_rule inner, unsigned which, uint64_t kept)
{
	const struct gmt_unwind_rule counts = {
		.kind = by_fp ? GMT_UNWIND_BY_FP : GMT_UNWIND_BY_SP,
		.saved_words = 2,
		.cfa_words = by_fp ? 2 : (uint32_t)(60 - 20 * which),
	};
	const uint64_t end = (uint64_t)&memory[WORDS - 4], middle = end - 80 * 8;
	uint64_t expected[4] = { make_ip(inner, 0x400000), make_ip(counts, 0x400008), 0,
		make_ip((struct gmt_unwind_rule){ .kind = GMT_UNWIND_END }, 0x400000) };

	*word(end - 8) = expected[3];
	for (unsigned caller = 0; caller < 2; caller++) {
		struct gmt_unwind_rule rule = { .kind = GMT_UNWIND_BY_SP, .cfa_words = 20 + 20 * caller };
		uint64_t ip = make_ip(rule, 0x400000);

		*word(end - rule.cfa_words * 8 - 8) = ip;
		if (caller == which)
			expected[2] = ip;
	}

	uint64_t fp = by_fp ? end - (20 + 20 * which) * 8 - 16 : kept;
	struct gmt_walk_start start = {
		.ip = expected[0], .sp = middle - inner.cfa_words * 8, .fp = inner.saved_words ? kept : fp
	};

	*word(middle - 8) = expected[1];
	if (inner.saved_words)
		*word(middle - inner.saved_words * 8) = fp;
	assert_true(gmt_walk_capture(&walk, &start, 512));
	assert_int_equal(gmt_walk_count(&walk), 4);
	assert_memory_equal(walk.addresses + walk.host_begin, expected, sizeof(expected));
}

static void a_frame_pointer_that_locates_a_frame_is_compared(void **state)
{
	(void)state;
	const struct gmt_unwind_rule saves = {
		.kind = GMT_UNWIND_BY_SP, .saved_words = 3, .cfa_words = 10
	};
	const struct gmt_unwind_rule saves_elsewhere = {
		.kind = GMT_UNWIND_BY_SP, .saved_words = 4, .cfa_words = 10
	};
	const struct gmt_unwind_rule leaves = { .kind = GMT_UNWIND_BY_SP, .cfa_words = 10 };

	begin_session(6);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned which = 0; which < 4; which++)
			check_caller(true, saves, which % 2, 0);
		for (unsigned which = 0; which < 4; which++)
			check_caller(true, leaves, which % 2, 0);
		/* Memory still holds the frame pointer where the other rule saved it. */
		check_caller(true, saves, round % 2, 0);
		check_caller(true, saves_elsewhere, round % 2, 0);
		check_caller(true, saves_elsewhere, !(round % 2), 0);
	}
}

/*
 * Calls a function with a frame of six words. It saves the caller's frame pointer `saved_words`
 * below the caller's stack pointer.
 */
static void push_frame(enum gmt_unwind_kind kind, uint8_t saved_words)
{
	const struct frame *outer = &frames[depth - 1];
	const struct gmt_unwind_rule rule = {
		.kind = (uint8_t)kind,
		.saved_words = saved_words,
		.cfa_words = kind == GMT_UNWIND_BY_FP ? GMT_UNWIND_FRAMED_WORDS : 6,
	};

	*word(outer->sp - 8) = outer->ip;
	*word(outer->sp - saved_words * 8) = outer->fp;
	frames[depth++] = (struct frame){
		.ip = make_ip(rule, 0x400000),
		.sp = outer->sp - 6 * 8,
		.fp = kind == GMT_UNWIND_BY_FP ? outer->sp - 16 : 12345,
	};
}

static void a_stack_is_the_same_only_with_the_frame_pointers_that_matter(void **state)
{
	(void)state;
	begin_session(7);
	push_many(8);
	push_frame(GMT_UNWIND_BY_FP, GMT_UNWIND_FRAMED_WORDS);
	push_frame(GMT_UNWIND_BY_SP, 3);
	check(512, 0);

	const struct gmt_walk_start start = start_here();
	uint64_t *saved = word(frames[depth - 2].sp - 3 * 8),
			 *nothing = word(frames[depth - 2].sp - 4 * 8);

	assert_true(gmt_walk_is_unchanged(&walk, start.ip, start.sp, start.fp));
	*saved += 8;
	assert_false(gmt_walk_is_unchanged(&walk, start.ip, start.sp, start.fp));
	*saved -= 8;
	*nothing += 8;
	assert_true(gmt_walk_is_unchanged(&walk, start.ip, start.sp, start.fp));
	/* No frame is counted from this frame pointer, and no frame inherits it. */
	assert_true(gmt_walk_is_unchanged(&walk, start.ip, start.sp, start.fp + 8));
}

/* Returns the stack that the cache guesses after a stack of `check_caller`. */
static uint32_t guess_behind(struct gmt_unwind_rule inner, unsigned which)
{
	check_caller(true, inner, which, 0);
	assert_true(gmt_stack_cache_guess(&walk.stack_cache, 0));
	return gmt_stack_cache_guess(&walk.stack_cache, 0);
}

static void a_cached_stack_is_compared_by_the_frame_pointers_that_matter(void **state)
{
	(void)state;
	const struct gmt_unwind_rule before = {
		.kind = GMT_UNWIND_BY_SP, .saved_words = 4, .cfa_words = 12
	};
	const struct gmt_unwind_rule behind = {
		.kind = GMT_UNWIND_BY_SP, .saved_words = 5, .cfa_words = 14
	};
	const struct gmt_unwind_rule inner[] = {
		{ .kind = GMT_UNWIND_BY_SP, .saved_words = 3, .cfa_words = 10 },
		{ .kind = GMT_UNWIND_BY_SP, .cfa_words = 10 },
	};

	/*
	 * The guess is wrong. Its frames, or its joint, count from a frame pointer that was saved or
	 * left in the register.
	 */
	for (unsigned way = 0; way < 2; way++)
		for (unsigned outer = 0; outer < 2; outer++)
			for (unsigned wrong = 0; wrong < 4; wrong++) {
				begin_session(8);
				for (int i = 0; i < 3; i++) {
					check_caller(true, before, outer, 0);
					check_caller(true, inner[way], 0, 0);
					check_caller(true, behind, outer, 0);
				}

				uint32_t guess = guess_behind(before, outer);

				check_caller(true, inner[way], 0, 0);
				assert_int_equal(walk.stack_cache.current, guess);
				if (wrong % 2 == 0) {
					check_caller(true, behind, outer, 0);
					guess_behind(before, outer);
				}
				if (wrong < 3)
					check_caller(true, before, wrong == 0 ? outer : !outer, 0);
				/* The word where another frame saved it is unchanged. */
				check_caller(true, inner[way], wrong != 1, 0);
			}
}

static void a_frame_pointer_that_locates_no_frame_is_ignored(void **state)
{
	(void)state;
	const struct gmt_unwind_rule inner[] = {
		{ .kind = GMT_UNWIND_BY_SP, .saved_words = 3, .cfa_words = 10 },
		{ .kind = GMT_UNWIND_BY_SP, .cfa_words = 10 },
	};

	begin_session(7);
	for (unsigned way = 0; way < 2; way++)
		for (uint64_t kept = 0; kept < 9; kept++) {
			check_caller(false, inner[way], 1, kept);
			assert_int_equal(walk.is_known, kept > 0);
		}
}

static void a_frame_without_a_simple_rule_ends_the_walk(void **state)
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
				has_odd |= gmt_rule_cache_read_tables(frames[i].ip).kind == GMT_UNWIND_OTHER;

			check(512, has_odd);
		}
	}
}

static void a_new_generation_of_rules_or_a_pause_clears_the_cache(void **state)
{
	(void)state;
	begin_session(1);
	for (int i = 0; i < 30; i++)
		push(0);
	check(512, 0);
	check(512, 0);
	assert_true(walk.is_known);
	gmt_rule_cache.generation++;
	check(512, 0);
	assert_false(walk.is_known);
	gmt_rule_cache.pauses++;

	struct gmt_walk_start start = start_here();

	assert_false(gmt_walk_capture(&walk, &start, 512));
	gmt_rule_cache.pauses--;
	check(512, 0);
	assert_false(walk.is_known);
}

static void memory_below_the_stack_pointer_is_not_read(void **state)
{
	(void)state;
	const size_t below = 3072;

	/* Mixed frames, then plain frames, of which the walk reads only the return address. */
	for (int plain = 0; plain < 2; plain++) {
		begin_session(3);
		if (plain)
			push_many(900);
		while (frames[depth - 1].sp > (uint64_t)(memory + WORDS / 4) && !plain)
			push(0);
		check(512, 0);
		while (frames[depth - 1].sp < (uint64_t)(memory + below))
			depth--;
		assert_int_equal(mprotect(memory, below * sizeof(*memory), PROT_NONE), 0);
		check(512, 0);
		assert_int_equal(mprotect(memory, below * sizeof(*memory), PROT_READ | PROT_WRITE), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_spliced_stack_equals_the_real_stack),
		cmocka_unit_test(a_repeated_stack_is_found_in_the_cache_and_a_similar_one_is_not),
		cmocka_unit_test(the_cache_has_a_limit),
		cmocka_unit_test(an_unchanged_stack_is_distinguished_from_a_changed_one),
		cmocka_unit_test(a_stack_is_the_same_only_with_the_frame_pointers_that_matter),
		cmocka_unit_test(a_frame_pointer_that_locates_a_frame_is_compared),
		cmocka_unit_test(a_cached_stack_is_compared_by_the_frame_pointers_that_matter),
		cmocka_unit_test(a_frame_pointer_that_locates_no_frame_is_ignored),
		cmocka_unit_test(a_frame_without_a_simple_rule_ends_the_walk),
		cmocka_unit_test(a_new_generation_of_rules_or_a_pause_clears_the_cache),
		cmocka_unit_test(memory_below_the_stack_pointer_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
