/* SPDX-License-Identifier: MIT */
#include "tools/output/default_output_name.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

const char *gmt_default_output_name(const char *recording, const char *suffix,
	char buffer[PATH_MAX])
{
	static const char recording_suffix[] = ".gmt.gz";
	const char *slash = strrchr(recording, '/'), *name = slash ? slash + 1 : recording;
	size_t length = strlen(name);

	if (length > strlen(recording_suffix) &&
		strcmp(name + length - strlen(recording_suffix), recording_suffix) == 0)
		length -= strlen(recording_suffix);
	length = gmt_text_cut_length(name, length, NAME_MAX - strlen(suffix));
	snprintf(buffer, PATH_MAX, "%.*s%s", (int)length, name, suffix);
	return buffer;
}
