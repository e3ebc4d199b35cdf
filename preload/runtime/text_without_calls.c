/* SPDX-License-Identifier: MIT */
#include "runtime/text_without_calls.h"

#include <stddef.h>

GMT_NO_CALLS const char *gmt_path_name(const char *path)
{
	const char *name = path;

	for (; *path; path++)
		if (*path == '/')
			name = path + 1;
	return name;
}

GMT_NO_CALLS bool gmt_same_text(const char *a, const char *b)
{
	for (; *a && *a == *b; a++)
		b++;
	return *a == *b;
}

GMT_NO_CALLS bool gmt_path_name_begins_with(const char *path, const char *prefix)
{
	const char *name = gmt_path_name(path);

	for (; *prefix && *name == *prefix; name++)
		prefix++;
	return !*prefix;
}
