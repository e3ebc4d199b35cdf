/* SPDX-License-Identifier: MIT */
#include "diag.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/safe.h"
#include "config.h"

/* A pipe without a reader must not end the host by our line: SIGPIPE is held back and taken. */
static void write_line(const char *text, size_t left)
{
	while (left) {
		ssize_t written = write(STDERR_FILENO, text, left);

		if (written <= 0)
			break; /* nobody can be told */
		text += written;
		left -= (size_t)written;
	}
}

void gmt_diag_print(const char *text)
{
	int kept_errno = errno;
	const struct timespec now = { 0 };
	sigset_t pipe_signal, before, pending;

	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
	write_line(text, strlen(text));
	if (!sigismember(&pending, SIGPIPE))
		sigtimedwait(&pipe_signal, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = kept_errno;
}

static void say(const char *format, va_list arguments)
{
	char line[1200] = "gpumemtrace: ";
	size_t prefix = strlen(line);
	int kept_errno = errno;

	vsnprintf(line + prefix, sizeof(line) - prefix - 1, format, arguments);
	gmt_safe_line(line);
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
