/* SPDX-License-Identifier: MIT */
#include "system/recording_name.h"

#include <stdio.h>
#include <string.h>

static const char suffix[] = ".gmt.gz";

/* Returns whether `path` ends with `end` and has a name before it. */
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

bool gmt_recording_name_number(char *path, size_t bytes, uint32_t number)
{
	char digits[16];
	size_t length = strlen(path), stem = (size_t)(gmt_recording_name_suffix(path) - path);
	size_t added = (size_t)snprintf(digits, sizeof(digits), ".%u", number);

	if (length + added >= bytes)
		return false;
	memmove(path + stem + added, path + stem, length - stem + 1);
	memcpy(path + stem, digits, added);
	return true;
}

bool gmt_recording_name_matches(const char *path)
{
	size_t length = strlen(path), digits = 0;

	while (digits < length && path[length - 1 - digits] >= '0' && path[length - 1 - digits] <= '9')
		digits++;
	if (digits && digits < length && path[length - 1 - digits] == '.')
		length -= digits + 1;
	return ends_with(path, length, suffix);
}
