/* SPDX-License-Identifier: MIT */
/* early-opener LIBRARY: opens the library and leaves it open, so its destructor runs at the end. */
#include <dlfcn.h>
#include <stddef.h>

int main(int count, char **words)
{
	void *library = count > 1 ? dlopen(words[1], RTLD_NOW) : NULL;
	void (*use)(void);

	if (!library)
		return 9;
	*(void **)&use = dlsym(library, "early_use");
	use();
	return 0;
}
