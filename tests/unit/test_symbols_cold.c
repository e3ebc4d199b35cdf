/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/symbols_elf.h"

/* The file that fake_cold.c becomes, stripped. */
static const char path[] = FAKE_FOLDER "/libpython-cold.so";

static uint64_t called_from;

static void note_caller(void)
{
	called_from = (uint64_t)(uintptr_t)__builtin_return_address(0);
}

/* What the file says of the call in front of a return address. */
static const char *name_of_caller(struct gmt_elf *elf, void *function)
{
	Dl_info info;

	assert_true(dladdr(function, &info));
	return gmt_elf_find_function(elf, called_from - 1 - (uint64_t)(uintptr_t)info.dli_fbase);
}

static void the_rare_part_of_the_loop_has_its_name_in_a_stripped_file(void **state)
{
	void *handle = dlopen(path, RTLD_NOW);
	struct gmt_elf *elf = gmt_elf_open(path);
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
	assert_false(gmt_elf_has_all_functions(elf));
	loop.call(note_caller, 0);
	assert_string_equal(name_of_caller(elf, loop.address), "_PyEval_EvalFrameDefault");
	for (int rare = 1; rare <= 3; rare++) {
		loop.call(note_caller, rare);
#if defined __x86_64__ && !defined __clang__
		assert_string_equal(name_of_caller(elf, loop.address), "_PyEval_EvalFrameDefault.cold");
#endif
	}
	/* Nothing but the loop's part is guessed. */
	other.call(note_caller);
	assert_null(name_of_caller(elf, other.address));
	gmt_elf_close(elf);
	dlclose(handle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rare_part_of_the_loop_has_its_name_in_a_stripped_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
