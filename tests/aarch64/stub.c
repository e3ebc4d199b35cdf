/* SPDX-License-Identifier: MIT */
/*
 * Tests all promises of the shim's dlsym to a program without CUDA. The program is linked to three
 * links of a chain (link.c). Prints a line of TAP per promise. The program does not allocate.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/hooks.h"

#if defined(__aarch64__)
enum { KEPT = 20 };
#else
enum { KEPT = 7 };
#endif

extern int chain(int depth);
extern void *ask_next(const char *name);
extern void *call_watched(void *(*function)(void *, const char *), void *handle, const char *name,
	uint64_t kept[KEPT]);

extern void weak_allocation(void) __asm__("cudaMalloc") __attribute__((weak));

static const char *const hooked[] = {
#define GMT_HOOK_ANY(library, symbol, ...) #symbol,
#include "hooks/hooks.def"
};

enum { HOOKED_COUNT = sizeof(hooked) / sizeof(*hooked) };

static int number, failures;

static void print_result(bool holds, const char *sentence)
{
	printf("%s %d - %s\n", holds ? "ok" : "not ok", ++number, sentence);
	failures += !holds;
}

/* Returns whether dlsym comes from the shim. Without the shim this test would only test glibc. */
static bool is_from_shim(void)
{
	Dl_info info;

	return dladdr((void *)(uintptr_t)dlsym, &info) && strstr(info.dli_fname, "libgpumemtrace.so");
}

static bool all_absent(void *handle)
{
	bool absent = true;

	for (int i = 0; i < HOOKED_COUNT; i++) {
		void *found = dlsym(handle, hooked[i]);

		if (found)
			printf("# %s is at %p\n", hooked[i], found);
		absent = absent && !found;
	}
	return absent;
}

static bool ordinary_names_are_found(void)
{
	void *handle = dlopen("liblink100.so", RTLD_NOW);
	int (*length_of)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "atoi");
	int (*last)(int) = handle ? (int (*)(int))dlsym(handle, "chain") : NULL;

	return length_of && length_of("4711") == 4711 && last && last(0) == 100;
}

static bool registers_are_kept(const char *name, void *expected)
{
	uint64_t kept[KEPT] = { 0 };
	void *found = call_watched(dlsym, RTLD_DEFAULT, name, kept);
	bool same = found == expected;

	if (!same)
		printf("# %s: %p, not %p\n", name, found, expected);
	for (uint64_t i = 0; i < KEPT; i++) {
		uint64_t wanted = i == KEPT - 1 ? 0 : 0x1001 + i; /* the last is for the stack pointer */

		if (kept[i] != wanted)
			printf("# register %d: %#llx\n", (int)i, (unsigned long long)kept[i]);
		same = same && kept[i] == wanted;
	}
	return same;
}

/* The error must name the symbol, and `by`, the object on whose behalf the loader searched. */
static bool error_names(const char *name, const char *by)
{
	const char *text = dlerror();
	bool is_named = text && strstr(text, name) && strstr(text, by);

	if (!is_named)
		printf("# dlerror: %s\n", text ? text : "nothing");
	return is_named && !dlerror();
}

static bool errors_are_the_callers(const char *program)
{
	void *handle = dlopen("liblink10.so", RTLD_NOW);
	bool is_named = true;

	dlerror();
	is_named &= !dlsym(handle, "no_such_name") && error_names("no_such_name", "liblink10.so");
	is_named &= !dlsym(handle, "cudaMalloc") && error_names("cudaMalloc", "liblink10.so");
	is_named &= !dlsym(RTLD_DEFAULT, "no_such_name") && error_names("no_such_name", program);
	is_named &= !ask_next("no_such_name") && error_names("no_such_name", "liblink1.so");
	return is_named;
}

static bool success_leaves_no_error(void)
{
	dlerror();
	return dlsym(RTLD_DEFAULT, "atoi") && !dlerror();
}

int main(int argument_count, char **arguments)
{
	const char *exports = argument_count > 1 ? arguments[1] : "on";

	setvbuf(stdout, NULL, _IOLBF, 0); /* keeps the output if the next test crashes */
	printf("1..9\n");
	print_result(is_from_shim(), "the dlsym that is called is the shim's");
	print_result(chain(0) == 111, "RTLD_NEXT finds the definition behind the library that asks");
	print_result(ask_next("chain") != dlsym(RTLD_NEXT, "chain"),
		"RTLD_NEXT means another place for the program");
	print_result(all_absent(RTLD_DEFAULT),
		"without CUDA no hooked name is found in the global scope");
	print_result(all_absent(dlopen(NULL, RTLD_NOW)),
		"without CUDA no hooked name is found in the program's handle");
	print_result(ordinary_names_are_found() && success_leaves_no_error(),
		"other names are found as without the recorder");
	/* The shim jumps to glibc for the first name, and answers the second one itself. */
	print_result(registers_are_kept("atoi", (void *)(uintptr_t)atoi) &&
			registers_are_kept("cudaMalloc", NULL),
		"arguments arrive, and what a function must keep is kept");
	print_result(errors_are_the_callers(arguments[0]), "dlerror reports the caller's own error");
	print_result((weak_allocation != NULL) == (strcmp(exports, "on") == 0),
		"a weak reference is bound unless exports are off");
	return failures != 0;
}
