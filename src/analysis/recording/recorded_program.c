/* SPDX-License-Identifier: MIT */
#include "analysis/recording/recorded_program.h"

#include <string.h>

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Returns whether Python's option takes the next argument as its value. */
static bool takes_value(const char *option)
{
	return strcmp(option, "-W") == 0 || strcmp(option, "-X") == 0;
}

/* Returns the script or module of a Python command line, or NULL: `python [-X] [-m] NAME ...`. */
static const char *find_script(const struct gmt_recording *recording)
{
	for (size_t i = 1; i < recording->command.count; i++) {
		const char *argument = recording->command.items[i];

		if (strcmp(argument, "-c") == 0)
			return "python -c";
		if (strcmp(argument, "-m") == 0 && i + 1 < recording->command.count)
			return recording->command.items[i + 1];
		if (takes_value(argument))
			i++;
		else if (*argument && *argument != '-')
			return file_name(argument);
	}
	return NULL;
}

const char *gmt_recorded_program(const struct gmt_recording *recording)
{
	bool has_command = recording->command.count && *recording->command.items[0];
	const char *program =
		file_name(has_command ? recording->command.items[0] : recording->executable);
	const char *script =
		strncmp(program, "python", strlen("python")) == 0 ? find_script(recording) : NULL;

	return script ? script : *program ? program : file_name(recording->path);
}
