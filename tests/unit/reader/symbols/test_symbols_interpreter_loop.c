/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "containers/map.h"
#include "reader/symbols/symbols_elf.h"

/* The stripped file that is built from fake_split_loop.c. */
static const char path[] = FAKE_FOLDER "/libpython-split-loop.so";

static uint64_t called_from;

static void note_caller(void)
{
	called_from = (uint64_t)(uintptr_t)__builtin_return_address(0);
}

/* Returns the name that the file gives to the call before a return address. */
static const char *name_of_caller(struct gmt_symbols_elf *elf, void *function)
{
	Dl_info info;

	assert_true(dladdr(function, &info));
	return gmt_symbols_elf_find_function(elf,
		called_from - 1 - (uint64_t)(uintptr_t)info.dli_fbase);
}

static void the_cold_part_of_the_interpreter_loop_has_a_name_in_a_stripped_file(void **state)
{
	void *handle = dlopen(path, RTLD_NOW);
	struct gmt_symbols_elf *elf = gmt_symbols_elf_open(path);
	union {
		void *address;
		int (*call)(void (*)(void), int);
	} loop = { handle ? dlsym(handle, "_PyEval_EvalFrameDefault") : NULL };
	union {
		void *address;
		void (*call)(void (*)(void));
	} other = { handle ? dlsym(handle, "gmt_fake_other") : NULL };

	(void)state;
	assert_true(elf && loop.address && other.address);
	assert_false(gmt_symbols_elf_has_all_functions(elf));
	loop.call(note_caller, 0);
	assert_string_equal(name_of_caller(elf, loop.address), "_PyEval_EvalFrameDefault");
	for (int rare = 1; rare <= 3; rare++) {
		loop.call(note_caller, rare);
#if defined __x86_64__ && !defined __clang__
		assert_string_equal(name_of_caller(elf, loop.address), "_PyEval_EvalFrameDefault.cold");
#endif
	}
	/* The reader guesses only the loop's part. */
	other.call(note_caller);
	assert_null(name_of_caller(elf, other.address));
	gmt_symbols_elf_close(elf);
	dlclose(handle);
}

/* A damaged file gives no name or one of two names. The reader never reads outside of it. */
static void a_damaged_file_causes_no_crash(void **state)
{
	static const char damaged_path[] = FAKE_FOLDER "/libpython-split-loop-damaged.so";
	static uint8_t whole[1 << 16], damaged[sizeof(whole)];
	FILE *file = fopen(path, "rb");
	size_t size = file ? fread(whole, 1, sizeof(whole), file) : 0, loops = 0;
	uint64_t random = 1;

	(void)state;
	assert_in_range(size, 1, sizeof(whole) - 1);
	fclose(file);
	for (int round = 0; round < 3000; round++) {
		struct gmt_symbols_elf *elf;

		memcpy(damaged, whole, size);
		for (int i = 0; i < 1 + round % 9; i++) {
			random = gmt_hash_u64(random + 1);
			damaged[random % size] = (uint8_t)(random >> 32 & 1 ? 0xff : random >> 40);
		}
		file = fopen(damaged_path, "wb");
		assert_non_null(file);
		assert_int_equal(fwrite(damaged, 1, round % 5 ? size : random % size, file),
			round % 5 ? size : random % size);
		fclose(file);
		elf = gmt_symbols_elf_open(damaged_path);
		for (uint64_t address = 0; elf && address < size; address += 5) {
			const char *name = gmt_symbols_elf_find_function(elf, address);

			loops += name && strcmp(name, "_PyEval_EvalFrameDefault") == 0;
		}
		gmt_symbols_elf_close(elf);
	}
	assert_in_range(loops, 1, SIZE_MAX);
	unlink(damaged_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cold_part_of_the_interpreter_loop_has_a_name_in_a_stripped_file),
		cmocka_unit_test(a_damaged_file_causes_no_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
