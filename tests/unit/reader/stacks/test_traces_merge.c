/* SPDX-License-Identifier: MIT */
/* A Python stack and a native stack merge into one, even if frames are missing in either. */
#include "traces_of_fake_libraries.h"

static void each_frame_of_the_interpreter_is_replaced_by_the_python_frames_it_ran(void **state)
{
	uint64_t native[] = { fake_operator(), fake_cfunction(), fake_eval(), fake_operator(),
		fake_eval(), fake_cfunction() };
	uint64_t frames[] = { FRAME(1), FRAME(2) | ENTRY, FRAME(3) | ENTRY };

	(void)state;
	begin();
	put_trace(native, COUNT(native), frames, COUNT(frames), false);
	finish(GMT_TRACES_TRIMMED, NULL);
	assert_string_equal(functions(0), "at::_ops::mm::call f1 f2 at::_ops::mm::call f3");
	assert_int_equal(traces.mismatches, 0);
	gmt_traces_fini(&traces);

	make_traces(GMT_TRACES_ALL, NULL);
	assert_string_equal(functions(0),
		"at::_ops::mm::call cfunction_vectorcall_NOARGS f1 f2 at::_ops::mm::call "
		"f3 cfunction_vectorcall_NOARGS");
	gmt_traces_fini(&traces);

	make_traces(GMT_TRACES_NONE, NULL);
	assert_string_equal(functions(0), "f1 f2 f3");
	end();
}

static void native_and_python_stacks_that_do_not_match_are_kept_and_counted(void **state)
{
	uint64_t native[] = { fake_operator(), fake_eval(), fake_eval() };
	uint64_t few[] = { FRAME(1) | ENTRY };
	uint64_t many[] = { FRAME(1) | ENTRY, FRAME(2) | ENTRY, FRAME(3) | ENTRY };

	(void)state;
	begin();
	put_trace(native, 3, few, 1, false);
	put_trace(native, 3, many, 3, false);
	finish(GMT_TRACES_TRIMMED, NULL);
	assert_string_equal(functions(0), "at::_ops::mm::call f1 _PyEval_EvalFrameDefault");
	assert_string_equal(functions(1), "at::_ops::mm::call f1 f2 f3");
	assert_int_equal(traces.mismatches, 2);
	end();
}

static void a_cut_native_stack_is_no_mismatch(void **state)
{
	uint64_t native[] = { fake_operator(), fake_eval() };
	uint64_t frames[] = { FRAME(1) | ENTRY, FRAME(2) | ENTRY };

	(void)state;
	begin();
	put_trace(native, 2, frames, 2, GMT_STACK_CUT);
	finish(GMT_TRACES_TRIMMED, NULL);
	assert_string_equal(functions(0), "at::_ops::mm::call f1 f2 " GMT_TRACES_LEFT_OUT);
	assert_int_equal(traces.mismatches, 0);
	end();
}

static void a_stack_whose_walk_stopped_ends_with_a_mark(void **state)
{
	uint64_t native[] = { fake_operator(), fake_eval() };
	uint64_t frames[] = { FRAME(1) | ENTRY, FRAME(2) | ENTRY };

	(void)state;
	begin();
	put_trace(native, 1, NULL, 0, GMT_STACK_STOPPED);
	put_trace(native, COUNT(native), frames, COUNT(frames), GMT_STACK_STOPPED);
	put_trace(native, 1, NULL, 0, GMT_STACK_WHOLE);
	finish(GMT_TRACES_TRIMMED, NULL);
	assert_string_equal(functions(0), "at::_ops::mm::call " GMT_TRACES_STOPPED);
	assert_string_equal(functions(1), "at::_ops::mm::call f1 f2 " GMT_TRACES_STOPPED);
	assert_string_equal(functions(2), "at::_ops::mm::call");
	assert_int_equal(traces.mismatches, 0);
	gmt_traces_fini(&traces);

	/* The mismatch is in the native half. */
	make_traces(GMT_TRACES_NONE, NULL);
	assert_string_equal(functions(1), "f1 f2");
	end();
}

static void omitted_middle_frames_are_one_line_and_both_ends_match(void **state)
{
	uint64_t native[] = { fake_operator(), fake_eval(), fake_operator(), 0, fake_operator(),
		fake_eval(), fake_cfunction() };
	uint64_t runs[] = { FRAME(1) | ENTRY, FRAME(2) | ENTRY, FRAME(2) | ENTRY, FRAME(3) | ENTRY };
	uint64_t one_run[] = { FRAME(1) | ENTRY };

	(void)state;
	begin();
	put_trace(native, COUNT(native), runs, COUNT(runs), GMT_STACK_WHOLE);
	put_trace(native, 5, NULL, 0, GMT_STACK_WHOLE);
	put_trace(native, COUNT(native), one_run, COUNT(one_run), GMT_STACK_WHOLE);
	finish(GMT_TRACES_TRIMMED, NULL);
	assert_string_equal(functions(0),
		"at::_ops::mm::call f1 at::_ops::mm::call f2 f2 " GMT_TRACES_LEFT_OUT
		" at::_ops::mm::call f3");
	assert_string_equal(functions(1),
		"at::_ops::mm::call _PyEval_EvalFrameDefault at::_ops::mm::call " GMT_TRACES_LEFT_OUT
		" at::_ops::mm::call");
	assert_int_equal(traces.mismatches, 1);
	end();
}

static void omitted_python_frames_of_a_recursion_are_in_their_own_run(void **state)
{
	uint64_t native[] = { fake_operator(), fake_eval(), fake_cfunction(), fake_operator(),
		fake_eval(), fake_operator() };
	uint64_t frames[] = { FRAME(1), FRAME(2), 0, FRAME(2), FRAME(3) | ENTRY, FRAME(4) | ENTRY };

	(void)state;
	begin();
	put_trace(native, COUNT(native), frames, COUNT(frames), GMT_STACK_WHOLE);
	put_trace(NULL, 0, frames, COUNT(frames), GMT_STACK_WHOLE);
	finish(GMT_TRACES_TRIMMED, NULL);
	assert_string_equal(functions(0),
		"at::_ops::mm::call f1 f2 " GMT_TRACES_LEFT_OUT
		" f2 f3 at::_ops::mm::call f4 at::_ops::mm::call");
	assert_string_equal(functions(1), "f1 f2 " GMT_TRACES_LEFT_OUT " f2 f3 f4");
	assert_int_equal(traces.mismatches, 0);
	assert_int_equal(traces.missing, 0);
	gmt_traces_fini(&traces);

	make_traces(GMT_TRACES_NONE, NULL);
	assert_string_equal(functions(0), "f1 f2 " GMT_TRACES_LEFT_OUT " f2 f3 f4");
	end();
}

static void native_frames_of_omitted_python_frames_get_no_python_frame(void **state)
{
	/* Three runs. The middle run has no known frames. */
	uint64_t native[] = { fake_eval(), fake_operator(), fake_eval(), fake_operator(), fake_eval() };
	uint64_t frames[] = { FRAME(1) | ENTRY, 0, FRAME(4) | ENTRY };

	(void)state;
	begin();
	put_trace(native, COUNT(native), frames, COUNT(frames), GMT_STACK_WHOLE);
	finish(GMT_TRACES_TRIMMED, NULL);
	assert_string_equal(functions(0),
		"f1 at::_ops::mm::call " GMT_TRACES_LEFT_OUT " at::_ops::mm::call f4");
	assert_int_equal(traces.mismatches, 0);
	end();
}

static void both_ends_match_if_both_stacks_lack_their_middle(void **state)
{
	uint64_t native[] = { fake_operator(), fake_eval(), fake_operator(), 0, fake_operator(),
		fake_eval(), fake_eval(), fake_operator() };
	uint64_t few[] = { FRAME(1) | ENTRY, 0, FRAME(4) | ENTRY };
	uint64_t many[] = { FRAME(1) | ENTRY, FRAME(2) | ENTRY, 0, FRAME(3) | ENTRY, FRAME(4) | ENTRY,
		FRAME(5) | ENTRY };

	(void)state;
	begin();
	put_trace(native, COUNT(native), few, COUNT(few), GMT_STACK_WHOLE);
	put_trace(native, COUNT(native), many, COUNT(many), GMT_STACK_WHOLE);
	put_trace(native, 3, many, COUNT(many), GMT_STACK_CUT);
	finish(GMT_TRACES_TRIMMED, NULL);
	assert_string_equal(functions(0),
		"at::_ops::mm::call f1 at::_ops::mm::call " GMT_TRACES_LEFT_OUT
		" at::_ops::mm::call f4 at::_ops::mm::call");
	assert_string_equal(functions(1),
		"at::_ops::mm::call f1 at::_ops::mm::call f2 " GMT_TRACES_LEFT_OUT
		" f3 " GMT_TRACES_LEFT_OUT " at::_ops::mm::call f4 f5 at::_ops::mm::call");
	assert_string_equal(functions(2),
		"at::_ops::mm::call f1 at::_ops::mm::call f2 " GMT_TRACES_LEFT_OUT
		" f3 f4 f5 " GMT_TRACES_LEFT_OUT);
	assert_int_equal(traces.mismatches, 0);
	end();
}

static void a_native_or_python_stack_alone_is_the_whole_stack(void **state)
{
	uint64_t native[] = { fake_operator(), fake_cfunction(), fake_eval() },
			 frames[] = { FRAME(4) | ENTRY };

	(void)state;
	begin();
	put_trace(native, 3, NULL, 0, false);
	put_trace(NULL, 0, frames, 1, false);
	put_trace(NULL, 0, NULL, 0, false);
	finish(GMT_TRACES_TRIMMED, NULL);
	assert_string_equal(functions(0),
		"at::_ops::mm::call cfunction_vectorcall_NOARGS _PyEval_EvalFrameDefault");
	assert_string_equal(functions(1), "f4");
	assert_string_equal(functions(2), "");
	assert_int_equal(traces.mismatches, 0);
	assert_int_equal(traces.missing, 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TRACES_TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)
		TRACES_TEST(each_frame_of_the_interpreter_is_replaced_by_the_python_frames_it_ran),
		TRACES_TEST(native_and_python_stacks_that_do_not_match_are_kept_and_counted),
		TRACES_TEST(a_cut_native_stack_is_no_mismatch),
		TRACES_TEST(a_stack_whose_walk_stopped_ends_with_a_mark),
		TRACES_TEST(omitted_middle_frames_are_one_line_and_both_ends_match),
		TRACES_TEST(omitted_python_frames_of_a_recursion_are_in_their_own_run),
		TRACES_TEST(native_frames_of_omitted_python_frames_get_no_python_frame),
		TRACES_TEST(both_ends_match_if_both_stacks_lack_their_middle),
		TRACES_TEST(a_native_or_python_stack_alone_is_the_whole_stack),
#undef TRACES_TEST
	};
	find_libraries();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
