/* SPDX-License-Identifier: MIT */
/*
 * loader HOW LIBRARY FUNCTION [ARGUMENT]...: opens a library and calls
 * int FUNCTION(int count, char **arguments), whose arguments begin with FUNCTION, as main's would.
 *
 * HOW is one of:
 *
 *	local, global, deepbind, lazy-deepbind   opens with dlopen
 *	namespace                                opens with dlmopen, in a new namespace
 *	again                                    opens, calls and closes the library, twice
 *	both                                     first local, then namespace
 *
 * With -DIS_LINKED the program itself is linked to the driver.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *open_library(const char *how, const char *path)
{
	if (strcmp(how, "global") == 0)
		return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (strcmp(how, "deepbind") == 0)
		return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	if (strcmp(how, "lazy-deepbind") == 0)
		return dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND);
	if (strcmp(how, "namespace") == 0)
		return dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

int main(int count, char **arguments)
{
	if (count < 4)
		return 2;

#if defined(IS_LINKED)
	extern int cuDriverGetVersion(int *version);
	int version;

	cuDriverGetVersion(&version);
#endif
	int result = 0;

	const char *how = arguments[1];
	int is_both = strcmp(how, "both") == 0;

	for (int times = is_both || strcmp(how, "again") == 0 ? 2 : 1; times && !result; times--) {
		void *library = open_library(is_both && times == 1 ? "namespace" : how, arguments[2]);
		int (*function)(int, char **) =
			library ? (int (*)(int, char **))dlsym(library, arguments[3]) : NULL;

		if (!function) {
			fprintf(stderr, "loader: %s\n", dlerror());
			return 2;
		}
		result = function(count - 3, arguments + 3);
		if (dlclose(library))
			return 2;
	}
	return result;
}
