/* SPDX-License-Identifier: MIT */
/*
 * Changes the environment in every possible way. Compares the getenv that this program is bound to
 * with the C library's own. Prints each difference, and each answer for NVTX's variable.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static char *(*libc_getenv)(const char *);
static const char *home_before_constructors, *home_in_resolver;
extern const char *early_word, *early_nvtx; /* environment_early.c */

/*
 * Runs before all constructors of libraries. At this time, libc may not know the environment yet.
 */
static void before_constructors(void)
{
	home_before_constructors = getenv("HOME");
}

__attribute__((section(".preinit_array"),
	used)) static void (*const first)(void) = before_constructors;

static void nothing(void)
{
}

/* Runs while the program is being relocated. */
static void (*resolve(void))(void)
{
	home_in_resolver = getenv("HOME");
	return nothing;
}

__attribute__((ifunc("resolve"))) static void resolved(void);

static void compare(const char *name)
{
	errno = 4711;
	char *ours = getenv(name);

	if (errno != 4711)
		printf("%s: errno is %d\n", name, errno);
	if (ours != libc_getenv(name))
		printf("%s: %s instead of %s\n", name, ours ? ours : "nothing",
			libc_getenv(name) ? libc_getenv(name) : "nothing");
}

static void compare_all(void)
{
	static const char *const names[] = { "HOME", "PATH", "", "=", "A", "AB", "B", "EMPTY",
		"LD_PRELOAD", "NVTX", "NVTX_INJECTION64_PAT", "NVTX_INJECTION64_PATHS",
		"NVTX_INJECTION32_PATH", "GPUMEMTRACE_OPTIONS", "absent" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		compare(names[i]);
	const char *nvtx = getenv("NVTX_INJECTION64_PATH");
	printf("nvtx %s\n", nvtx ? nvtx : "-");
}

int main(void)
{
	static char put[] = "B=put";
	static char ab[] = "AB=own", no_value[] = "A", no_name[] = "=B", two[] = "A=own=own";
	char *own[] = { ab, no_value, no_name, two, NULL };

	resolved();
	*(void **)&libc_getenv = dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "getenv");
	printf("nvtx %s\n", early_nvtx ? early_nvtx : "-");
	if (early_word != getenv("EARLY"))
		printf("in the first constructors, EARLY is %s\n", early_word ? early_word : "nothing");
	printf("HOME is %s in the resolver, %s before the constructors\n",
		home_in_resolver ? "known" : "not known", home_before_constructors ? "known" : "not known");
	compare_all();
	setenv("A", "1", 1);
	setenv("AB", "2", 1);
	setenv("EMPTY", "", 1);
	putenv(put);
	compare_all();
	put[2] = 'P';
	unsetenv("A");
	setenv("NVTX_INJECTION64_PATH", "elsewhere", 1);
	compare_all();
	environ = own;
	compare_all();
	clearenv();
	compare_all();
	return 0;
}
