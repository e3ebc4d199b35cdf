/* SPDX-License-Identifier: MIT */
#include "analysis/tables/stack_summary.h"
#include "traces_of_fake_libraries.h"

/* The fake libraries are in FAKE_FOLDER. */

static void stacks_with_the_same_text_are_one_stack(void **state)
{
	uint64_t native[] = { fake_operator(), fake_eval() }, frames[] = { FRAME(1) | ENTRY };
	uint64_t other[] = { fake_operator(), fake_cfunction(), fake_eval() };

	(void)state;
	begin();
	put_trace(native, 2, frames, 1, false);
	put_trace(native, 2, frames, 1, false);
	put_trace(other, 3, frames, 1, false);
	finish(GMT_TRACES_TRIMMED, NULL);
	assert_int_equal(traces.stack_of_trace[0], traces.stack_of_trace[1]);
	assert_int_equal(traces.stack_of_trace[0], traces.stack_of_trace[2]);
	end();
}

static void inlined_functions_are_frames_with_their_own_lines(void **state)
{
	uint64_t native[] = { fake_outer() };
	uint32_t count;

	(void)state;
	begin();
	put_trace(native, 1, NULL, 0, false);
	finish(GMT_TRACES_TRIMMED, NULL);

	const uint32_t *places = gmt_traces_stack(&traces, traces.stack_of_trace[0], &count);
	assert_int_equal(count, 2);
	assert_string_equal(functions(0), "fake_inlined fake_outer");
	assert_int_equal(gmt_traces_place(&traces, places[0])->line, FAKE_INLINED_LINE);
	assert_int_equal(gmt_traces_place(&traces, places[1])->line, FAKE_OUTER_LINE);
	const char *source = gmt_traces_string(&traces, gmt_traces_place(&traces, places[0])->file);
	assert_string_equal(source + strlen(source) - strlen("/fake_framework.c"), "/fake_framework.c");
	assert_int_equal(traces.with_line, 1);
	end();
}

static void a_file_with_another_build_id_is_reported_and_not_used(void **state)
{
	uint64_t native[] = { fake_operator(), fake_cfunction() };

	(void)state;
	begin_without_modules();
	put_module(&framework, 0, framework.path, "00112233445566778899");
	put_module(&python, 0, "/no/such/libpython.so", python.build_id);
	put_trace(native, 2, NULL, 0, false);
	finish(GMT_TRACES_TRIMMED, NULL);
	assert_non_null(strstr(functions(0), "libframework-fake.so+0x"));
	assert_non_null(strstr(functions(0), "libpython.so+0x"));
	assert_int_equal(traces.addresses, 2);
	assert_int_equal(traces.named, 0);
	assert_int_equal(traces.problems.count, 2);
	assert_non_null(strstr(traces.problems.items[0].why, "its build differs"));
	assert_non_null(strstr(traces.problems.items[1].why, "not found"));
	end();
}

static void a_file_that_moved_is_found_by_its_build_id(void **state)
{
	uint64_t native[] = { fake_operator(), fake_cfunction() };

	(void)state;
	begin_without_modules();
	put_module(&framework, 0, "/elsewhere/a.so", framework.build_id);
	put_module(&python, 0, "/elsewhere/b.so", python.build_id);
	put_trace(native, 2, NULL, 0, false);
	finish(GMT_TRACES_TRIMMED, FAKE_FOLDER);
	assert_string_equal(functions(0), "at::_ops::mm::call cfunction_vectorcall_NOARGS");
	assert_int_equal(traces.problems.count, 0);
	end();
}

static void an_address_belongs_to_the_newest_module_at_that_time(void **state)
{
	uint64_t native[] = { fake_operator() };

	(void)state;
	begin_without_modules();
	put_module(&framework, 0, "/old.so", "aaaa11");
	put_module(&framework, 2, "/new.so", "bbbb22");
	put_module(&framework, 5, "/later.so", "cccc33");
	RECORDING_PUT(&file, STACK, gmt_stack, .id = 1, .generation = 3, .items = { native, 1 });
	RECORDING_PUT(&file, STACK, gmt_stack, .id = 2, .generation = 1, .items = { native, 1 });
	RECORDING_PUT(&file, EVENT, gmt_event, .kind = GMT_KIND_ALLOC, .layer = GMT_LAYER_CUDA,
		.stack = 1);
	RECORDING_PUT(&file, EVENT, gmt_event, .kind = GMT_KIND_ALLOC, .layer = GMT_LAYER_CUDA,
		.stack = 2);
	finish(GMT_TRACES_TRIMMED, NULL);
	assert_memory_equal(functions(0), "new.so+0x", 9);
	assert_memory_equal(functions(1), "old.so+0x", 9);
	end();
}

static void references_to_missing_definitions_are_counted(void **state)
{
	uint64_t native[] = { 0, 1, UINT64_MAX },
			 frames[] = { FRAME(77), FRAME(1) | ENTRY, UINT64_MAX };

	(void)state;
	begin();
	put_trace(native, 3, frames, 3, false);
	RECORDING_PUT(&file, EVENT, gmt_event, .kind = GMT_KIND_ALLOC, .layer = GMT_LAYER_CUDA,
		.stack = 88, .frames = 99);
	finish(GMT_TRACES_TRIMMED, NULL);
	assert_string_equal(functions(0),
		"<unknown> f1 <unknown> " GMT_TRACES_LEFT_OUT " 0x0 0xfffffffffffffffe");
	assert_string_equal(functions(1), "");
	assert_int_equal(traces.missing, 4);
	end();
}

static void the_own_line_is_the_innermost_line_of_the_user(void **state)
{
	static const struct {
		const char *leaf, *middle, *root;
		uint32_t own;
	} rows[] = {
		{ "/env/lib/python3.11/site-packages/torch/nn.py", "/home/me/model.py", "/home/me/train.py",
			1 },
		{ "/usr/lib/python3.11/threading.py", "/home/me/t.py", "/usr/lib/python3.11/runpy.py", 1 },
		{ "<frozen importlib._bootstrap>", "/usr/lib/python3/dist-packages/a.py", "<string>", 2 },
		{ "/usr/lib/python3/dist-packages/a.py", "<frozen runpy>", "/usr/lib/python3.11/a.py", 0 },
		{ "<string>", "/home/me/t.py", "<stdin>", 1 },
		{ "/env/lib/python3.11/site-packages/torch/nn.py", "/tmp/ipykernel_71/42.py",
			"/env/lib/python3.11/site-packages/ipykernel_launcher.py", 1 },
		{ "/usr/lib/python3.11/a.py", "/env/lib/python3.11/tmp/ipykernel_71/42.py", "<string>", 1 },
		{ "<timed exec>", "/tmp/ipykernel_71/42.py", "/usr/lib/python3.11/runpy.py", 0 },
		{ "/usr/lib/python3.11/a.py", "<ipython-input-3-0a1b>", "<string>", 1 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t frames[] = { FRAME(11), FRAME(12), FRAME(13) | ENTRY };
		const char *files[] = { rows[i].leaf, rows[i].middle, rows[i].root };

		begin();
		for (uint32_t f = 0; f < 3; f++) {
			RECORDING_PUT(&file, CODE, gmt_code, .id = 11 + f, .function = slice("f"),
				.file = slice(files[f]));
			RECORDING_PUT(&file, FRAME, gmt_frame, .id = 11 + f, .code = 11 + f, .line = 1);
		}
		put_trace(NULL, 0, frames, 3, false);
		finish(GMT_TRACES_TRIMMED, NULL);
		assert_int_equal(gmt_traces_own_line(&traces, traces.stack_of_trace[0]), rows[i].own);
		end();
	}
}

static void a_stack_summary_shows_consecutive_framework_frames_as_one_line(void **state)
{
	uint64_t native[] = { fake_outer(), fake_operator(), fake_cfunction(), fake_eval() };
	uint64_t frames[] = { FRAME(11), FRAME(11), FRAME(1), FRAME(2) | ENTRY };
	struct gmt_stack_summary summary = { 0 };

	(void)state;
	begin_without_modules();
	put_module(&python, 0, python.path, python.build_id);
	put_module(&framework, 0, "/env/lib/python3.11/site-packages/torch/libtorch.so",
		framework.build_id);
	RECORDING_PUT(&file, CODE, gmt_code, .id = 11, .function = slice("linear"),
		.file = slice("/env/lib/python3.11/site-packages/torch/nn.py"));
	RECORDING_PUT(&file, FRAME, gmt_frame, .id = 11, .code = 11, .line = 1);
	put_trace(native, COUNT(native), frames, COUNT(frames), false);
	finish(GMT_TRACES_TRIMMED, FAKE_FOLDER);
	assert_true(gmt_stack_summary_make(&summary, &traces, traces.stack_of_trace[0]));
	assert_int_equal(summary.lines.count, 4);
	assert_int_equal(summary.lines.items[0].frame,
		2); /* the operator hides two inlined functions and itself */
	assert_int_equal(summary.lines.items[0].hidden, 2);
	assert_int_equal(summary.lines.items[1].hidden, 1);
	assert_int_equal(summary.lines.items[3].hidden, 0);
	gmt_stack_summary_fini(&summary);
	end();
}

static void long_c_plus_plus_names_are_shortened_readably(void **state)
{
	static const char *const rows[][2] = {
		{ "at::native::empty_cuda(c10::ArrayRef<long>, bool)", "at::native::empty_cuda" },
		{ "void at::native::(anonymous namespace)::f<int, (bool)1>(int)", "at::native::f" },
		{ "std::vector<int>::operator()(int) const", "std::vector::operator()" },
		{ "bool operator< <int>(A const&, B)", "operator< <int>" },
		{ "A::operator bool() const", "A::operator bool" },
		{ "my::operatorial(int)", "my::operatorial" },
		{ "plain_c_function", "plain_c_function" },
		{ "(anonymous namespace)::run()", "run" },
		{ "", "" },
	};
	char name[64];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		gmt_short_name_of_function(rows[i][0], name, sizeof(name));
		assert_string_equal(name, rows[i][1]);
	}
	gmt_short_name_of_function("a_name_longer_than_its_room", name, 8);
	assert_string_equal(name, "a_name_");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TRACES_TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)
		TRACES_TEST(stacks_with_the_same_text_are_one_stack),
		TRACES_TEST(inlined_functions_are_frames_with_their_own_lines),
		TRACES_TEST(a_file_with_another_build_id_is_reported_and_not_used),
		TRACES_TEST(a_file_that_moved_is_found_by_its_build_id),
		TRACES_TEST(an_address_belongs_to_the_newest_module_at_that_time),
		TRACES_TEST(references_to_missing_definitions_are_counted),
		TRACES_TEST(the_own_line_is_the_innermost_line_of_the_user),
		TRACES_TEST(a_stack_summary_shows_consecutive_framework_frames_as_one_line),
		TRACES_TEST(long_c_plus_plus_names_are_shortened_readably),
#undef TRACES_TEST
	};
	find_libraries();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
