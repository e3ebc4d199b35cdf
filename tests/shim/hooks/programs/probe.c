/* SPDX-License-Identifier: MIT */
/*
 * Looks for CUDA like programs that run with and without it: by a weak reference, and by dlsym in
 * the global scope and in the handle of dlopen(NULL). Prints a line per name: WEAK DEFAULT HANDLE
 * NAME.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "hooks/hooks.h"

#define WEAK(library, symbol, ...) \
	extern void weak_##symbol(void) __asm__(#symbol) __attribute__((weak));
#define GMT_HOOK_ANY(...) WEAK(__VA_ARGS__)
#include "hooks/hooks.def"

int main(void)
{
	void *handle = dlopen(NULL, RTLD_LAZY);

#define LOOK(library, symbol, ...) \
	printf("%d %d %d %s\n", weak_##symbol != NULL, dlsym(RTLD_DEFAULT, #symbol) != NULL, \
		dlsym(handle, #symbol) != NULL, #symbol);
#define GMT_HOOK_ANY(...) LOOK(__VA_ARGS__)
#include "hooks/hooks.def"
	return 0;
}
