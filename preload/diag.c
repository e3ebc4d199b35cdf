/* SPDX-License-Identifier: MIT */
#include "diag.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

void gmt_diag_print(const char *text)
{
	int kept_errno = errno;
	size_t left = strlen(text);

	while (left) {
		ssize_t written = write(STDERR_FILENO, text, left);

		if (written <= 0)
			break; /* nobody can be told */
		text += written;
		left -= (size_t)written;
	}
	errno = kept_errno;
}

static void say(const char *format, va_list arguments)
{
	char line[1200] = "gpumemtrace: ";
	size_t prefix = strlen(line);
	int kept_errno = errno;

	vsnprintf(line + prefix, sizeof(line) - prefix - 1, format, arguments);
	strcat(line, "\n");
	gmt_diag_print(line);
	errno = kept_errno;
}

void gmt_diag_warn(const char *format, ...)
{
	va_list arguments;

	if (gmt_config.verbosity < 1)
		return;
	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
}

void gmt_diag_tell(const char *format, ...)
{
	va_list arguments;

	if (gmt_config.verbosity < 2)
		return;
	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
}
