/* SPDX-License-Identifier: MIT */
/* A second library that replaces getenv. It answers for one additional name. */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

__attribute__((visibility("default"))) char *getenv(const char *name);

char *getenv(const char *name)
{
	static char *(*next)(const char *);
	static char found[] = "answered behind";

	if (strcmp(name, "GETENV_BEHIND") == 0)
		return found;
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "getenv");
	return next ? next(name) : NULL;
}
