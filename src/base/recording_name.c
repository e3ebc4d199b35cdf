/* SPDX-License-Identifier: MIT */
#include "base/recording_name.h"

#include <stdio.h>
#include <string.h>

static const char suffix[] = ".gmt.gz";

/* Whether `path` ends with `end` and has a name in front of it. */
static bool ends_with(const char *path, size_t length, const char *end)
{
	size_t end_length = strlen(end);

	return length > end_length && memcmp(path + length - end_length, end, end_length) == 0 &&
		path[length - end_length - 1] != '/';
}

const char *gmt_recording_name_suffix(const char *path)
{
	size_t length = strlen(path);

	if (ends_with(path, length, suffix))
		return path + length - strlen(suffix);
	return path + length - (ends_with(path, length, ".gz") ? strlen(".gz") : 0);
}

bool gmt_recording_name_numbered(const char *path, uint32_t number, char *ret_name, size_t bytes)
{
	const char *end = gmt_recording_name_suffix(path);
	size_t stem = (size_t)(end - path);
	int rest;

	if (stem >= bytes)
		return false;
	memcpy(ret_name, path, stem);
	rest = snprintf(ret_name + stem, bytes - stem, ".%u%s", number, end);
	return rest > 0 && (size_t)rest < bytes - stem;
}

bool gmt_recording_name_is_one(const char *path)
{
	size_t length = strlen(path), digits = 0;

	while (digits < length && path[length - 1 - digits] >= '0' && path[length - 1 - digits] <= '9')
		digits++;
	if (digits && digits < length && path[length - 1 - digits] == '.')
		length -= digits + 1;
	return ends_with(path, length, suffix);
}
