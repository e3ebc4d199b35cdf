/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "analysis/names.h"
#include "analysis/outline.h"
#include "fake_frames.h"
#include "model/symbols_elf.h"
#include "model/traces.h"
#include "snapshot_file.h"
#include "temporary.h"

/* FAKE_FOLDER: where the fake libraries lie. */
static struct snapshot_file file;
static struct gmt_snapshot *snapshot;
static struct gmt_traces traces;
static uint32_t next_stack, next_module;

struct library {
	uint64_t start, end, bias;
	char path[512], build_id[130];
};

static struct library python, framework;

static int look(struct dl_phdr_info *info, size_t size, void *user)
{
	struct library *library = user;

	(void)size;
	if (!strstr(info->dlpi_name, library->path))
		return 0;
	snprintf(library->path, sizeof(library->path), "%s", info->dlpi_name);
	library->bias = info->dlpi_addr;
	library->start = UINT64_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uint64_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		library->start = from < library->start ? from : library->start;
		library->end = from + info->dlpi_phdr[i].p_memsz;
	}
	return 1;
}

static void find_library(struct library *library, const char *name)
{
	snprintf(library->path, sizeof(library->path), "%s", name);
	assert_int_equal(dl_iterate_phdr(look, library), 1);

	struct gmt_elf *elf = gmt_elf_open(library->path);
	assert_non_null(elf);
	snprintf(library->build_id, sizeof(library->build_id), "%s", gmt_elf_build_id(elf));
	assert_true(strlen(library->build_id) >= 16);
	gmt_elf_close(elf);
}

static void put_module(const struct library *library, uint32_t generation, const char *module_path,
	const char *build_id)
{
	SNAPSHOT_PUT(&file, MODULE, gmt_module, .id = ++next_module, .generation = generation,
		.start = library->start, .end = library->end, .bias = library->bias,
		.path = slice(module_path), .build_id = slice(build_id));
}

static void begin_without_modules(void)
{
	next_stack = next_module = 0;
	snapshot_file_open(&file, path, 6);
	SNAPSHOT_PUT(&file, PROCESS, gmt_process, .pid = 7, .directory = slice("/home/me"));
	for (uint32_t id = 1; id <= 5; id++) {
		char name[8] = { 'f', (char)('0' + id), 0 };

		SNAPSHOT_PUT(&file, CODE, gmt_code, .id = id, .function = slice(name),
			.file = slice("/home/me/t.py"));
		SNAPSHOT_PUT(&file, FRAME, gmt_frame, .id = id, .code = id, .line = id * 10);
	}
}

static void begin(void)
{
	begin_without_modules();
	put_module(&python, 0, python.path, python.build_id);
	put_module(&framework, 0, framework.path, framework.build_id);
}

/* An event with these stacks. `frames` are record items; counts of 0 are no stack. */
static void put_trace(const uint64_t *addresses, uint32_t address_count, const uint64_t *frames,
	uint32_t frame_count, unsigned truncated)
{
	uint32_t id = ++next_stack;

	SNAPSHOT_PUT(&file, STACK, gmt_stack, .id = id, .truncated = truncated,
		.items = { addresses, address_count });
	SNAPSHOT_PUT(&file, FRAMES, gmt_frames, .id = id, .items = { frames, frame_count });
	SNAPSHOT_PUT(&file, EVENT, gmt_event, .stamp = id, .thread = 1, .kind = GMT_KIND_ALLOC,
		.layer = GMT_LAYER_CUDA, .space = GMT_SPACE_DEVICE, .address = id * 4096, .size_bytes = 1,
		.stack = address_count ? id : 0, .frames = frame_count ? id : 0);
}

static void make_traces(enum gmt_traces_native native, const char *directory)
{
	struct gmt_traces_options options = {
		.native = native, .symbol_directories = &directory,
		.symbol_directory_count = directory ? 1 : 0,
	};
	struct gmt_error error;

	traces = (struct gmt_traces){ 0 };
	assert_int_equal(gmt_traces_init(&traces, snapshot, &options, &error), GMT_OK);
}

static void finish(enum gmt_traces_native native, const char *directory)
{
	struct gmt_error error;

	snapshot_file_close(&file);
	assert_int_equal(gmt_snapshot_load(path, NULL, &snapshot, &error), GMT_OK);
	make_traces(native, directory);
}

static void end(void)
{
	gmt_traces_fini(&traces);
	gmt_snapshot_free(snapshot);
}

/* The functions of a merged stack, leaf first, with blanks between them; C++ names cut short. */
static const char *functions(size_t trace)
{
	static char text[2000];
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(&traces, traces.stack_of_trace[trace], &count);

	text[0] = 0;
	for (uint32_t i = 0; i < count; i++) {
		char name[200];

		const struct gmt_place *place = gmt_traces_place(&traces, places[i]);
		gmt_names_function(gmt_traces_string(&traces, place->function), name, sizeof(name));
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "", name);
	}
	return text;
}

enum { ENTRY = 1 };
#define FRAME(id) ((id) * 2)
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void each_frame_of_the_interpreter_becomes_the_python_frames_it_ran(void **state)
{
	uint64_t native[] = { fake_operator(), fake_cfunction(), fake_eval(), fake_operator(), fake_eval(),
		fake_cfunction() };
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

static void halves_that_do_not_fit_are_kept_whole_and_counted(void **state)
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

static void a_native_stack_that_was_cut_is_no_riddle(void **state)
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

static void a_stack_whose_walk_stopped_says_so_at_its_end(void **state)
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

	/* It is about the native half. */
	make_traces(GMT_TRACES_NONE, NULL);
	assert_string_equal(functions(1), "f1 f2");
	end();
}

static void frames_that_were_left_out_in_the_middle_are_a_line_and_both_ends_fit(void **state)
{
	uint64_t native[] = { fake_operator(), fake_eval(), fake_operator(), 0, fake_operator(), fake_eval(), fake_cfunction() };
	uint64_t runs[] = { FRAME(1) | ENTRY, FRAME(2) | ENTRY, FRAME(2) | ENTRY, FRAME(3) | ENTRY };
	uint64_t one_run[] = { FRAME(1) | ENTRY };

	(void)state;
	begin();
	put_trace(native, COUNT(native), runs, COUNT(runs), GMT_STACK_WHOLE);
	put_trace(native, 5, NULL, 0, GMT_STACK_WHOLE);
	put_trace(native, COUNT(native), one_run, COUNT(one_run), GMT_STACK_WHOLE);
	finish(GMT_TRACES_TRIMMED, NULL);
	assert_string_equal(functions(0), "at::_ops::mm::call f1 at::_ops::mm::call f2 f2 " GMT_TRACES_LEFT_OUT
		" at::_ops::mm::call f3");
	assert_string_equal(functions(1), "at::_ops::mm::call _PyEval_EvalFrameDefault at::_ops::mm::call " GMT_TRACES_LEFT_OUT
		" at::_ops::mm::call");
	assert_int_equal(traces.mismatches, 1);
	end();
}

static void one_half_alone_is_the_whole_stack(void **state)
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

static void stacks_that_read_the_same_are_one(void **state)
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
	assert_int_equal(traces.lined, 1);
	end();
}

static void a_file_with_another_build_id_is_not_used_and_named(void **state)
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
	assert_non_null(strstr(traces.problems.items[0].why, "another build"));
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

static void the_newest_module_that_was_there_holds_an_address(void **state)
{
	uint64_t native[] = { fake_operator() };

	(void)state;
	begin_without_modules();
	put_module(&framework, 0, "/old.so", "aaaa11");
	put_module(&framework, 2, "/new.so", "bbbb22");
	put_module(&framework, 5, "/later.so", "cccc33");
	SNAPSHOT_PUT(&file, STACK, gmt_stack, .id = 1, .generation = 3, .items = { native, 1 });
	SNAPSHOT_PUT(&file, STACK, gmt_stack, .id = 2, .generation = 1, .items = { native, 1 });
	SNAPSHOT_PUT(&file, EVENT, gmt_event, .kind = GMT_KIND_ALLOC, .layer = GMT_LAYER_CUDA, .stack = 1);
	SNAPSHOT_PUT(&file, EVENT, gmt_event, .kind = GMT_KIND_ALLOC, .layer = GMT_LAYER_CUDA, .stack = 2);
	finish(GMT_TRACES_TRIMMED, NULL);
	assert_memory_equal(functions(0), "new.so+0x", 9);
	assert_memory_equal(functions(1), "old.so+0x", 9);
	end();
}

static void what_the_file_does_not_hold_is_counted_not_believed(void **state)
{
	uint64_t native[] = { 0, 1, UINT64_MAX }, frames[] = { FRAME(77), FRAME(1) | ENTRY, UINT64_MAX };

	(void)state;
	begin();
	put_trace(native, 3, frames, 3, false);
	SNAPSHOT_PUT(&file, EVENT, gmt_event, .kind = GMT_KIND_ALLOC, .layer = GMT_LAYER_CUDA, .stack = 88,
		.frames = 99);
	finish(GMT_TRACES_TRIMMED, NULL);
	assert_string_equal(functions(0), "<unknown> f1 <unknown> " GMT_TRACES_LEFT_OUT " 0x0 0xfffffffffffffffe");
	assert_string_equal(functions(1), "");
	assert_int_equal(traces.missing, 4);
	end();
}

static void the_own_line_is_the_users_innermost_one(void **state)
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
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t frames[] = { FRAME(11), FRAME(12), FRAME(13) | ENTRY };
		const char *files[] = { rows[i].leaf, rows[i].middle, rows[i].root };

		begin();
		for (uint32_t f = 0; f < 3; f++) {
			SNAPSHOT_PUT(&file, CODE, gmt_code, .id = 11 + f, .function = slice("f"),
				.file = slice(files[f]));
			SNAPSHOT_PUT(&file, FRAME, gmt_frame, .id = 11 + f, .code = 11 + f, .line = 1);
		}
		put_trace(NULL, 0, frames, 3, false);
		finish(GMT_TRACES_TRIMMED, NULL);
		assert_int_equal(gmt_traces_own_line(&traces, traces.stack_of_trace[0]), rows[i].own);
		end();
	}
}

static void an_outline_shows_runs_of_a_framework_as_one_line(void **state)
{
	uint64_t native[] = { fake_outer(), fake_operator(), fake_cfunction(), fake_eval() };
	uint64_t frames[] = { FRAME(11), FRAME(11), FRAME(1), FRAME(2) | ENTRY };
	struct gmt_outline outline = { 0 };

	(void)state;
	begin_without_modules();
	put_module(&python, 0, python.path, python.build_id);
	put_module(&framework, 0, "/env/lib/python3.11/site-packages/torch/libtorch.so", framework.build_id);
	SNAPSHOT_PUT(&file, CODE, gmt_code, .id = 11, .function = slice("linear"),
		.file = slice("/env/lib/python3.11/site-packages/torch/nn.py"));
	SNAPSHOT_PUT(&file, FRAME, gmt_frame, .id = 11, .code = 11, .line = 1);
	put_trace(native, COUNT(native), frames, COUNT(frames), false);
	finish(GMT_TRACES_TRIMMED, FAKE_FOLDER);
	assert_true(gmt_outline_make(&outline, &traces, traces.stack_of_trace[0]));
	assert_int_equal(outline.lines.count, 4);
	assert_int_equal(outline.lines.items[0].frame, 2); /* the operator, for two inlined ones and itself */
	assert_int_equal(outline.lines.items[0].hidden, 2);
	assert_int_equal(outline.lines.items[1].hidden, 1);
	assert_int_equal(outline.lines.items[3].hidden, 0);
	gmt_outline_fini(&outline);
	end();
}

static void long_names_of_c_plus_plus_are_cut_where_they_read_well(void **state)
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
		gmt_names_function(rows[i][0], name, sizeof(name));
		assert_string_equal(name, rows[i][1]);
	}
	gmt_names_function("a_name_longer_than_its_room", name, 8);
	assert_string_equal(name, "a_name_");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TRACES_TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)
		TRACES_TEST(each_frame_of_the_interpreter_becomes_the_python_frames_it_ran),
		TRACES_TEST(halves_that_do_not_fit_are_kept_whole_and_counted),
		TRACES_TEST(a_native_stack_that_was_cut_is_no_riddle),
		TRACES_TEST(a_stack_whose_walk_stopped_says_so_at_its_end),
		TRACES_TEST(frames_that_were_left_out_in_the_middle_are_a_line_and_both_ends_fit),
		TRACES_TEST(one_half_alone_is_the_whole_stack),
		TRACES_TEST(stacks_that_read_the_same_are_one),
		TRACES_TEST(inlined_functions_are_frames_with_their_own_lines),
		TRACES_TEST(a_file_with_another_build_id_is_not_used_and_named),
		TRACES_TEST(a_file_that_moved_is_found_by_its_build_id),
		TRACES_TEST(the_newest_module_that_was_there_holds_an_address),
		TRACES_TEST(what_the_file_does_not_hold_is_counted_not_believed),
		TRACES_TEST(the_own_line_is_the_users_innermost_one),
		TRACES_TEST(an_outline_shows_runs_of_a_framework_as_one_line),
		TRACES_TEST(long_names_of_c_plus_plus_are_cut_where_they_read_well),
#undef TRACES_TEST
	};
	find_library(&python, "libpython-fake.so");
	find_library(&framework, "libframework-fake.so");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
