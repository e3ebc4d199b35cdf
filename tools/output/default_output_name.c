/* SPDX-License-Identifier: MIT */
#include "tools/output/default_output_name.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

const char *gmt_default_output_name(const char *recording, const char *suffix,
	char buffer[PATH_MAX])
{
	static const char recording_suffix[] = ".gmt.gz";
	size_t length = strlen(recording);
	const char *name = recording, *slash;

	/* A folder may have a slash at its end. */
	while (length > 1 && recording[length - 1] == '/')
		length--;
	slash = memrchr(recording, '/', length);
	if (slash && length > 1) {
		length -= (size_t)(slash + 1 - recording);
		name = slash + 1;
	}
	if (length > strlen(recording_suffix) &&
		memcmp(name + length - strlen(recording_suffix), recording_suffix,
			strlen(recording_suffix)) == 0)
		length -= strlen(recording_suffix);
	length = gmt_text_cut_length(name, length, NAME_MAX - strlen(suffix));
	snprintf(buffer, PATH_MAX, "%.*s%s", (int)length, name, suffix);
	return buffer;
}
