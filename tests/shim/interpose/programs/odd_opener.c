/* SPDX-License-Identifier: MIT */
/*
 * odd_opener [LIBRARY FUNCTION]...: a program without CUDA. Opens each library locally, prints what
 * its function returns, closes it. Then prints whether there is a driver behind the program.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **arguments)
{
	for (int i = 1; i + 1 < count; i += 2) {
		void *block, *library = dlopen(arguments[i], RTLD_NOW | RTLD_LOCAL);
		int (*call)(void **, size_t) =
			library ? (int (*)(void **, size_t))dlsym(library, arguments[i + 1]) : NULL;

		if (!call) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		printf("%d\n", call(&block, 4096));
		fflush(stdout);
		dlclose(library);
	}
	puts(dlsym(RTLD_NEXT, "cuInit") ? "driver" : "no driver");
	return 0;
}
