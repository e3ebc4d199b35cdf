/* SPDX-License-Identifier: MIT */
#include "tools/output.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/say.h"

enum { WRITE_FAILED = 3 };

static bool is_stdout(const char *path)
{
	return !path || strcmp(path, "-") == 0;
}

FILE *gmt_output_open(const char *path)
{
	if (is_stdout(path))
		return stdout;

	FILE *file = fopen(path, "we");
	if (!file)
		gmt_say_error("%s: %s", path, strerror(errno));
	return file;
}

/* Whether the other end of the pipe is closed: the errno of the write that found out may be gone. */
static bool reader_is_gone(int fd)
{
	struct pollfd end = { .fd = fd, .events = POLLOUT };

	return poll(&end, 1, 0) == 1 && (end.revents & POLLERR);
}

static int failed(const char *name, int why)
{
	if (why == EPIPE)
		return 0;
	gmt_say_error("%s: %s", name, why ? strerror(why) : "cannot be written");
	return WRITE_FAILED;
}

int gmt_output_close(FILE *file, const char *path, int code)
{
	if (!file || file == stdout)
		return code;

	bool had_error = ferror(file);
	errno = 0;
	if (fclose(file) || had_error)
		return failed(path, errno);
	return code;
}

int gmt_output_finish_stdout(int code)
{
	bool had_error = ferror(stdout);

	errno = 0;
	if (!fflush(stdout) && !had_error && !close(STDOUT_FILENO))
		return code;
	/* stdout that was closed from the start and never used is no loss. */
	if (errno == EBADF && !had_error)
		return code;

	int why = errno;
	if (!why && reader_is_gone(STDOUT_FILENO))
		why = EPIPE;

	int answer = failed("standard output", why);
	return answer ? answer : code;
}

bool gmt_output_color(FILE *file, enum gmt_color color)
{
	const char *force = getenv("CLICOLOR_FORCE"), *none = getenv("NO_COLOR"), *term = getenv("TERM");

	if (color != GMT_COLOR_AUTO)
		return color == GMT_COLOR_ALWAYS;
	if (none && *none)
		return false;
	if (force && *force && strcmp(force, "0") != 0)
		return true;
	return isatty(fileno(file)) && !(term && strcmp(term, "dumb") == 0);
}
