/* SPDX-License-Identifier: MIT */
/*
 * two_runtimes [close] LIBRARY...: opens plugins that were linked to different CUDA runtimes.
 * Opens them locally, as Python opens extension modules. Each plugin allocates by its own runtime
 * and prints the version of the runtime that its calls reached. With the recorder, this must be the
 * version that the plugin was linked to. With `close`, the program closes each plugin before it
 * opens the next one, which may get the same address.
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
