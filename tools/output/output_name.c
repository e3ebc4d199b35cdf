/* SPDX-License-Identifier: MIT */
#include "tools/output/output_name.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

const char *gmt_output_name(const char *recording, const char *suffix, char buffer[PATH_MAX])
{
	static const char of_recording[] = ".gmt.gz";
	const char *slash = strrchr(recording, '/'), *name = slash ? slash + 1 : recording;
	size_t length = strlen(name);

	if (length > strlen(of_recording) &&
		strcmp(name + length - strlen(of_recording), of_recording) == 0)
		length -= strlen(of_recording);
	length = gmt_text_cut_length(name, length, NAME_MAX - strlen(suffix));
	snprintf(buffer, PATH_MAX, "%.*s%s", (int)length, name, suffix);
	return buffer;
}
