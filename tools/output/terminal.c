/* SPDX-License-Identifier: MIT */
#include "tools/output/terminal.h"

#include <stdlib.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/safe_stream.h"

enum { LEAST_COLUMNS = 60, MOST_COLUMNS = 240 };

size_t gmt_terminal_columns(FILE *file)
{
	int fd = gmt_safe_stream_descriptor(file);
	struct winsize size;

	if (fd < 0 || !isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col)
		return GMT_TERMINAL_COLUMNS;
	return size.ws_col < LEAST_COLUMNS ? LEAST_COLUMNS
		: size.ws_col > MOST_COLUMNS   ? MOST_COLUMNS
									   : size.ws_col;
}

/* Follows the C library: the first of these variables that is set decides. */
bool gmt_terminal_is_utf8(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *value = getenv(variables[i]);

		if (value && *value) {
			const char *codeset = value;

			while (*codeset && *codeset++ != '.')
				continue;
			return !strncasecmp(codeset, "UTF-8", 5) || !strncasecmp(codeset, "UTF8", 4);
		}
	}
	return false;
}
