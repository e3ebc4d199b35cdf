/* SPDX-License-Identifier: MIT */
/* Preloaded beside the recorder: what it asks at its beginning, and a program never, takes longer than a second. */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((visibility("default"))) char *realpath(const char *restrict path, char *restrict resolved)
{
	char *(*next)(const char *, char *) = (char *(*)(const char *, char *))dlsym(RTLD_NEXT, "realpath");

	usleep(1300000);
	return next(path, resolved);
}
