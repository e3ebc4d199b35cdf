/* SPDX-License-Identifier: MIT */
/*
 * two_runtimes LIBRARY...: plugins that were linked to different CUDA runtimes, opened locally as
 * Python opens extension modules, each allocating through its own. Each prints the version of the
 * runtime that its calls reached: with the recorder it must be the one that it was linked to.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **libraries)
{
	for (int i = 1; i < count; i++) {
		void *handle = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
		int (*use)(void) = handle ? (int (*)(void))dlsym(handle, "plugin_use") : NULL;

		if (!use) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		printf("%d\n", use());
	}
	return 0;
}
