/* SPDX-License-Identifier: MIT */
/*
 * two_runtimes [close] LIBRARY...: plugins that were linked to different CUDA runtimes, opened
 * locally as Python opens extension modules, each allocating through its own. Each prints the
 * version of the runtime that its calls reached: with the recorder it must be the one that it was
 * linked to. With `close`, each is closed before the next one is opened, which then may lie where
 * it was.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **libraries)
{
	bool is_closing = count > 1 && strcmp(libraries[1], "close") == 0;

	for (int i = 1 + is_closing; i < count; i++) {
		void *handle = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
		int (*use)(void) = handle ? (int (*)(void))dlsym(handle, "plugin_use") : NULL;

		if (!use) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		printf("%d\n", use());
		if (is_closing)
			dlclose(handle);
	}
	return 0;
}
