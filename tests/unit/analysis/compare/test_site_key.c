/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "analysis/compare/site_key.h"
#include "analysis/compare/site_key_names.h"
#include "recording_file.h"
#include "temporary_file.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

enum { BUFFER_BYTES = 200 };

/* A stack for the recording: functions of one file, leaf first, and addresses in one module. */
struct recorded {
	const char *directory, *file, *module;
	const char *functions[80];
	uint32_t first_line;
	uint64_t bias, addresses[4];
};

static struct gmt_recording *recording;
static struct gmt_traces traces;
static struct gmt_site_keys keys;

static void put_python(struct recording_file *file, const struct recorded *recorded)
{
	uint64_t frames[80];
	uint32_t count = 0;

	for (; recorded->functions[count]; count++) {
		RECORDING_PUT(file, CODE, gmt_code, .id = count + 1,
			.function = slice(recorded->functions[count]), .file = slice(recorded->file));
		RECORDING_PUT(file, FRAME, gmt_frame, .id = count + 1, .code = count + 1,
			.line = recorded->first_line + count);
		frames[count] = (count + 1) * 2 + (recorded->functions[count + 1] == NULL);
	}
	if (count)
		RECORDING_PUT(file, FRAMES, gmt_frames, .id = 1, .items = { frames, count });
}

static void put_native(struct recording_file *file, const struct recorded *recorded)
{
	uint64_t addresses[4];
	uint32_t count = 0;

	for (; count < 4 && recorded->addresses[count]; count++)
		addresses[count] = recorded->bias + recorded->addresses[count];
	if (recorded->module)
		RECORDING_PUT(file, MODULE, gmt_module, .id = 1, .start = recorded->bias,
			.end = recorded->bias + 0x10000, .bias = recorded->bias,
			.path = slice(recorded->module));
	if (count)
		RECORDING_PUT(file, STACK, gmt_stack, .id = 1, .items = { addresses, count });
}

static const struct gmt_site_key *record(struct recorded recorded)
{
	struct recording_file file;
	struct gmt_traces_options options = { 0 };
	struct gmt_error error;

	recording_file_open(&file, path, 6);
	RECORDING_PUT(&file, PROCESS, gmt_process, .pid = 7,
		.directory = slice(recorded.directory ? recorded.directory : "/home/me/project"));
	recorded.file = recorded.file ? recorded.file : "/home/me/project/train.py";
	put_python(&file, &recorded);
	put_native(&file, &recorded);
	RECORDING_PUT(&file, EVENT, gmt_event, .thread = 1, .kind = GMT_KIND_ALLOC,
		.layer = GMT_LAYER_CUDA, .space = GMT_SPACE_DEVICE, .address = 4096, .size_bytes = 1,
		.stack = recorded.addresses[0] ? 1 : 0, .frames = recorded.functions[0] ? 1 : 0);
	recording_file_close(&file);
	assert_int_equal(gmt_recording_load(path, NULL, &recording, &error), GMT_OK);
	traces = (struct gmt_traces){ 0 };
	keys = (struct gmt_site_keys){ 0 };
	assert_int_equal(gmt_traces_compute(&traces, recording, &options, &error), GMT_OK);
	assert_int_equal(gmt_site_keys_compute(&keys, recording, &traces, &error), GMT_OK);
	return gmt_site_keys_stack(&keys, traces.stack_of_trace[0]);
}

static void end(void)
{
	gmt_site_keys_fini(&keys);
	gmt_traces_fini(&traces);
	gmt_recording_free(recording);
}

static uint64_t hash_of(struct recorded recorded)
{
	uint64_t hash = record(recorded)->hash;

	end();
	return hash;
}

static const char *group_of(struct recorded recorded)
{
	static char group[BUFFER_BYTES];

	snprintf(group, sizeof(group), "%s", record(recorded)->group);
	end();
	return group;
}

#define HASH(...) hash_of((struct recorded){ __VA_ARGS__ })
#define GROUP(...) group_of((struct recorded){ __VA_ARGS__ })
#define FUNCTIONS(...) .functions = { __VA_ARGS__ }

static void a_file_key_is_the_same_on_every_machine(void **state)
{
	static const char *const rows[][3] = {
		{ "/home/me/project", "/home/me/project/train.py", "train.py" },
		{ "/home/me/project", "/home/me/project/src/net/model.py", "src/net/model.py" },
		{ "/home/me/project", "/home/me/projects/model.py", "projects/model.py" },
		{ "/home/me/project", "/home/me/project/env/lib/python3.11/site-packages/torch/nn/x.py",
			"torch/nn/x.py" },
		{ "/home/me", "/usr/lib/python3/dist-packages/numpy/core.py", "numpy/core.py" },
		{ "/home/me", "/e/lib/python3.9/site-packages/thing-1.2-py3.9.egg/thing/a.py",
			"thing/a.py" },
		{ "/home/me", "/usr/lib/python3.11/threading.py", "lib/python/threading.py" },
		{ "/home/me", "/usr/lib64/python3.12/json/decoder.py", "lib/python/json/decoder.py" },
		{ "/", "/home/me/project/train.py", "project/train.py" },
		{ "", "train.py", "train.py" },
		{ "/home/me", "train.py", "train.py" },
		{ "/home/me/run", "../src/./train.py", "src/train.py" },
		{ "/home/me", "a//b/../train.py", "a/train.py" },
		{ "/home/me", "/train.py", "train.py" },
		{ "/home/me", "/../../train.py", "../train.py" },
		{ "/home/me", "<stdin>", "<stdin>" },
		{ "/home/me", "<ipython-input-3-0123456789ab>", "<ipython>" },
		{ "/home/me", "/tmp/ipykernel_4711/1234567.py", "<ipython>" },
		{ "/home/me", "<eval_with_key>.17", "<eval_with_key>" },
		{ "/home/me", "/tmp/torchinductor_me/5x/c5xabc.py", "<torchinductor>" },
		{ "/home/me", "", "?" },
	};
	char name[BUFFER_BYTES];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		gmt_site_key_file(rows[i][0], rows[i][1], name, sizeof(name));
		assert_string_equal(name, rows[i][2]);
	}
	gmt_site_key_file("/home/me", "/home/me/longer_than_its_room.py", name, 8);
	assert_string_equal(name, "longer_");
}

static void a_module_key_has_no_versions_and_build_hashes(void **state)
{
	static const char *const rows[][2] = {
		{ "/opt/libext.so", "libext.so" },
		{ "/usr/lib/libcuda.so.535.104.05", "libcuda.so" },
		{ "/e/torch/lib/libcudart-9335f6a2.so.12.4.127", "libcudart.so" },
		{ "/e/numpy.libs/libopenblas-r0-f650aae0.3.3.so", "libopenblas-r0.so" },
		{ "/lib/libc-2.31.so", "libc.so" },
		{ "/e/torch/_C.cpython-311-x86_64-linux-gnu.so", "_C.so" },
		{ "/e/fast.abi3.so", "fast.so" },
		{ "/usr/bin/python3.11", "python" },
		{ "/usr/lib/libpython3.12.so.1.0", "libpython.so" },
		{ "/root/.cache/torch_extensions/py311/mine/mine_v2.so", "mine.so" },
		{ "/opt/mine_v2.so", "mine_v2.so" },
		{ "/usr/lib/libc10.so", "libc10.so" },
		{ "/usr/lib/libfoo2.so", "libfoo2.so" },
		{ "/build/lib.sort/tool-1.2", "tool-1.2" },
		{ "/build/lib.so (deleted)", "lib.so" },
		{ "/build/solver", "solver" },
		{ "", "?" },
	};
	char name[BUFFER_BYTES];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		gmt_site_key_module(rows[i][0], name, sizeof(name));
		assert_string_equal(name, rows[i][1]);
	}
}

static void the_group_is_the_file_and_function_of_the_own_line(void **state)
{
	(void)state;
	assert_string_equal(GROUP(FUNCTIONS("Model.forward", "main"), .first_line = 7),
		"train.py:Model.forward");
	assert_string_equal(GROUP(.module = "/opt/me/libext.so.3", .addresses = { 0x1234 }),
		"libext.so");
	assert_string_equal(GROUP(.addresses = { 0x1234 }), "?");
	assert_string_equal(GROUP(FUNCTIONS("f.<locals>.<listcomp>", "f", "main")), "train.py:f");
	assert_string_equal(GROUP(FUNCTIONS("a\nb")), "train.py:a?b");
	assert_string_equal(GROUP(.file = NULL), "");
}

static void a_hash_ignores_lines_addresses_folders_and_versions(void **state)
{
	uint64_t hash = HASH(FUNCTIONS("f", "main"), .module = "/opt/libext.so.1",
		.addresses = { 0x10, 0x20 }, .bias = 0x7000000, .first_line = 1);

	(void)state;
	assert_int_equal(hash,
		HASH(FUNCTIONS("f", "main"), .module = "/home/you/libext.so.2", .addresses = { 0x30, 0x50 },
			.bias = 0x5000000, .first_line = 90, .directory = "/home/you",
			.file = "/home/you/train.py"));
	assert_int_not_equal(hash,
		HASH(FUNCTIONS("g", "main"), .module = "/opt/libext.so", .addresses = { 0x10 }));
	assert_int_not_equal(hash,
		HASH(FUNCTIONS("f", "main"), .module = "/opt/libint.so", .addresses = { 0x10 }));
	assert_int_not_equal(hash,
		HASH(FUNCTIONS("f", "main"), .module = "/opt/libext.so", .addresses = { 0x10 },
			.file = "/home/me/project/eval.py"));
	assert_int_not_equal(hash,
		HASH(FUNCTIONS("main", "f"), .module = "/opt/libext.so", .addresses = { 0x10 }));
}

static void recursion_of_any_depth_has_the_same_hash(void **state)
{
	uint64_t one = HASH(FUNCTIONS("leaf", "walk", "main")),
			 two = HASH(FUNCTIONS("leaf", "walk", "visit", "main"));

	(void)state;
	assert_int_equal(HASH(FUNCTIONS("leaf", "walk", "walk", "walk", "main")), one);
	assert_int_equal(HASH(FUNCTIONS("leaf", "walk", "visit", "walk", "visit", "walk", "visit",
						 "main")),
		two);
	assert_int_equal(HASH(FUNCTIONS("leaf", "walk", "walk", "visit", "walk", "visit", "main")),
		two);
	assert_int_not_equal(one, two);
	assert_int_not_equal(HASH(FUNCTIONS("leaf", "walk", "visit", "walk", "main")), two);
}

static void frames_of_only_some_interpreters_and_systems_do_not_count(void **state)
{
	uint64_t hash = HASH(FUNCTIONS("f", "main"));

	(void)state;
	assert_int_equal(HASH(FUNCTIONS("f.<locals>.<listcomp>", "f", "main")), hash);
	assert_int_equal(HASH(FUNCTIONS("<dictcomp>", "f", "main")), hash);
	assert_int_not_equal(HASH(FUNCTIONS("f.<locals>.<lambda>", "f", "main")), hash);
	assert_int_equal(HASH(FUNCTIONS("f", "main"), .module = "/lib/libc.so.6",
						 .addresses = { 0x10 }),
		hash);
	assert_int_equal(HASH(FUNCTIONS("f", "main"), .module = "/usr/bin/python3.11",
						 .addresses = { 0x10 }),
		hash);
	/* Addresses count if the stack has nothing else. */
	assert_int_not_equal(HASH(.module = "/lib/libc.so.6", .addresses = { 0x10 }),
		HASH(.module = "/usr/bin/python3.11", .addresses = { 0x10 }));
}

static void a_hash_follows_the_description_in_the_header(void **state)
{
	(void)state;
	/*
	 * FNV-1a of "train.py:f\ntrain.py:main\n". A change of the hash needs another
	 * GMT_SITE_KEY_VERSION.
	 */
	assert_string_equal(gmt_site_key_text(HASH(FUNCTIONS("f", "main"))).text, "0548e90148e6c23c");
	assert_string_equal(gmt_site_key_text(HASH(.file = NULL)).text, "cbf29ce484222325");
	assert_string_equal(gmt_site_key_text(0x12).text, "0000000000000012");
	assert_int_equal(GMT_SITE_KEY_VERSION, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define KEY_TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)
		KEY_TEST(a_file_key_is_the_same_on_every_machine),
		KEY_TEST(a_module_key_has_no_versions_and_build_hashes),
		KEY_TEST(the_group_is_the_file_and_function_of_the_own_line),
		KEY_TEST(a_hash_ignores_lines_addresses_folders_and_versions),
		KEY_TEST(recursion_of_any_depth_has_the_same_hash),
		KEY_TEST(frames_of_only_some_interpreters_and_systems_do_not_count),
		KEY_TEST(a_hash_follows_the_description_in_the_header),
#undef KEY_TEST
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
