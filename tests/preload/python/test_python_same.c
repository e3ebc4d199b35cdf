/* SPDX-License-Identifier: MIT */
/*
 * Random changes of made-up Python stacks, in all three ways in which interpreters chain frames.
 * Memory is reused. The frames taken over from the last stack must equal those of a walk, and the
 * walk must continue behind them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "python/python_unchanged_frames.h"

enum { SLOTS = 16, CODES = 3, ROUNDS = 100000, DEATHS = 7 };

static struct code {
	uint64_t header, type, file;
	uint32_t version;
	_Alignas(16) uint32_t set_up; /* instructions before a frame is complete */
	_Alignas(16) char bytecode[16]; /* 16 bytes after `set_up`, in all versions */
} codes[CODES];

static struct frame {
	struct frame *previous;
	struct code *code;
	int64_t instr; /* position in the code: an address or a number */
	uint8_t entry, owner; /* in this order, as in 3.11 */
} slots[SLOTS];

static uint32_t order[SLOTS],
	depth; /* the stack's slots, innermost first; the unused slots follow */
static struct gmt_python_trace_stack last;
static struct gmt_python_layout layout;

uint64_t gmt_python_code_hash(const struct gmt_python_layout *unused, const char *code)
{
	(void)unused;
	return ((const struct code *)(const void *)code)->file;
}

static uint32_t any(uint32_t count)
{
	return (uint32_t)rand() % count;
}

static void set_any_frame(struct frame *frame)
{
	bool is_shim = layout.walk == GMT_PYTHON_WALK_SHIMS && !any(4);

	frame->code = is_shim && any(2) ? NULL : &codes[any(CODES)];
	frame->owner = is_shim ? GMT_PYTHON_OWNER_FIRST_SHIM : (uint8_t)any(2);
	frame->entry = (uint8_t)any(2);
	frame->instr = 2 * any(2);
	if (layout.walk != GMT_PYTHON_WALK_EACH && frame->code)
		frame->instr += (intptr_t)frame->code->bytecode;
}

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t kept = *a;

	*a = *b;
	*b = kept;
}

/* Changes, adds, removes or swaps a frame. Half of the changes are at the inner end. */
static void change(void)
{
	uint32_t at = depth ? any(2) ? 0 : any(depth) : 0;

	switch (any(4)) {
	case 0:
		set_any_frame(&slots[order[at]]);
		break;
	case 1:
		for (uint32_t i = depth; depth < SLOTS && i > at; i--)
			swap(&order[i], &order[i - 1]);
		depth += depth < SLOTS;
		break;
	case 2:
		for (uint32_t i = at; i + 1 < depth; i++)
			swap(&order[i], &order[i + 1]);
		depth -= depth > 1;
		break;
	default:
		swap(&order[at], &order[any(SLOTS)]);
	}
	if (!any(50))
		codes[any(CODES)].version += CODES;
	for (uint32_t i = 0; i < depth; i++)
		slots[order[i]].previous = i + 1 < depth ? &slots[order[i + 1]] : NULL;
}

static const char *innermost(void)
{
	return depth ? (const char *)&slots[order[0]] : NULL;
}

/* Takes the whole stack, like a capture that remembers nothing. */
static void remember(uint64_t code_frees)
{
	const char *frame = innermost();
	struct gmt_python_walked_frame walked;

	for (last.count = 0; gmt_python_walk_next(&layout, &frame, &walked); last.count++) {
		last.frames[last.count] = gmt_python_remember_frame(&layout, &walked,
			gmt_python_quick_fingerprint(&layout, walked.code, code_frees));
		last.stack.items[last.count] = walked.is_entry;
	}
}

static void check(uint64_t code_frees, uint32_t *taken)
{
	uint32_t from = last.count ? any(last.count) : 0, limit = 1 + any(SLOTS), same;
	const char *frame = innermost(), *slow;
	struct gmt_python_walked_frame walked, next = { 0 };

	/* Begins anywhere in the stack, as behind new frames. */
	for (uint32_t skipped = any(2) ? from : any(SLOTS);
		skipped && gmt_python_walk_next(&layout, &frame, &walked); skipped--)
		;
	slow = frame;
	same = gmt_python_take_unchanged(&layout, &last, from, limit, code_frees, &frame);
	assert_true(same <= limit && same <= last.count - from);
	for (uint32_t i = from; i < from + same; i++) {
		const struct gmt_python_trace_frame *known = &last.frames[i];

		assert_true(gmt_python_walk_next(&layout, &slow, &walked));
		assert_ptr_equal(walked.frame, known->frame);
		assert_ptr_equal(walked.code, known->code);
		assert_int_equal(walked.is_entry, last.stack.items[i]);
		assert_int_equal(*(const int64_t *)(const void *)(walked.frame + layout.frame.instr),
			known->instr);
		assert_int_equal(gmt_python_quick_fingerprint(&layout, walked.code, code_frees),
			known->fingerprint);
	}
	assert_int_equal(gmt_python_walk_next(&layout, &frame, &next),
		gmt_python_walk_next(&layout, &slow, &walked));
	assert_true(!frame == !slow && (!next.frame || next.frame == walked.frame));
	*taken += same;
}

static void check_all(enum gmt_python_walk walk, uint64_t code_frees)
{
	uint32_t taken = 0;

	srand(1);
	layout = (struct gmt_python_layout){
		.walk = (uint8_t)walk, .lines = GMT_PYTHON_LINES_LOCATIONS,
		.frame = {
			.previous = offsetof(struct frame, previous),
			.code = offsetof(struct frame, code),
			.instr = offsetof(struct frame, instr),
			.owner = offsetof(struct frame, owner),
			.entry = offsetof(struct frame, entry),
		},
		.code = {
			.file = offsetof(struct code, file),
			.bytecode = offsetof(struct code, bytecode),
			.version = offsetof(struct code, version),
		},
	};
	for (uint32_t i = 0; i < CODES; i++)
		codes[i] = (struct code){ .file = 16 * i, .version = 1 + i, .set_up = i % 2 };
	for (uint32_t i = 0; i < SLOTS; i++) {
		order[i] = i;
		set_any_frame(&slots[i]);
	}
	for (depth = 0; depth < SLOTS / 2;)
		change();
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint64_t now = code_frees + (code_frees && !any(20));

		remember(code_frees);
		for (uint32_t changes = any(4); changes; changes--)
			change();
		check(now, &taken);
	}
	/* Fails if hardly any frame was taken over: the test then proves nothing. */
	assert_true(taken > ROUNDS / 10);
}

static void reused_frames_equal_a_walk_if_each_call_comes_from_c(void **state)
{
	(void)state;
	check_all(GMT_PYTHON_WALK_EACH, DEATHS);
}

static void reused_frames_equal_a_walk_if_frames_are_marked_as_called_from_c(void **state)
{
	(void)state;
	check_all(GMT_PYTHON_WALK_FLAG, DEATHS);
}

static void what_is_taken_over_is_what_a_walk_finds_where_the_interpreter_has_frames_of_its_own(
	void **state)
{
	(void)state;
	check_all(GMT_PYTHON_WALK_SHIMS, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reused_frames_equal_a_walk_if_each_call_comes_from_c),
		cmocka_unit_test(reused_frames_equal_a_walk_if_frames_are_marked_as_called_from_c),
		cmocka_unit_test(
			what_is_taken_over_is_what_a_walk_finds_where_the_interpreter_has_frames_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
