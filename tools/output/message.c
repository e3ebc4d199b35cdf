/* SPDX-License-Identifier: MIT */
#include "tools/output/message.h"
#include "system/monotonic_clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/safe_text.h"
#include "base/safe_stream.h"
#include "base/text.h"
#include "tools/output/memory_limit.h"
#include "tools/output/pager.h"

/*
 * Prints a message in one write, so that lines of several processes do not mix. Escapes bytes that
 * could control the terminal.
 */
static void print(const char *kind, const char *format, va_list arguments)
{
	enum { SMALL_BYTES = 2048 };
	char small[SMALL_BYTES], *whole = NULL, *text = small;
	va_list again;

	va_copy(again, arguments);
	/* File names may be long. If memory is exhausted, the line is cut. */
	if (vsnprintf(small, sizeof(small), format, arguments) >= (int)sizeof(small) &&
		vasprintf(&whole, format, again) >= 0)
		text = whole;
	va_end(again);
	/* stderr is line-buffered here, so this is one write. */
	fprintf(stderr, "gpumemtrace: %s: ", kind);
	gmt_safe_print(stderr, text);
	fputc('\n', stderr);
	free(whole);
}

static char last_error[1024];

const char *gmt_message_last_error(void)
{
	return last_error;
}

#define PRINT(name, kind) \
	void gmt_message_##name(const char *format, ...) \
	{ \
		va_list arguments; \
\
		va_start(arguments, format); \
		print(kind, format, arguments); \
		va_end(arguments); \
	}
PRINT(warning, "warning")
PRINT(hint, "hint")
#undef PRINT

void gmt_message_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(last_error, sizeof(last_error), format, arguments);
	va_end(arguments);
	va_start(arguments, format);
	print("error", format, arguments);
	va_end(arguments);
}

int gmt_message_failure(const struct gmt_error *error)
{
	gmt_message_error("%s%s", error->text,
		error->status == GMT_NO_MEMORY ? gmt_memory_limit_advice() : "");
	return gmt_status_exit_code(error->status);
}

void gmt_progress_step(struct gmt_progress *progress, const char *what, uint64_t done, uint64_t all)
{
	enum { FIRST_AFTER_NS = 500000000, NEXT_AFTER_NS = 100000000 };
	uint64_t now = gmt_monotonic_ns();

	if (!progress->start_ns)
		progress->start_ns = now;
	if (now - progress->start_ns < FIRST_AFTER_NS || now - progress->shown_ns < NEXT_AFTER_NS ||
		!isatty(STDERR_FILENO) || gmt_pager_is_running())
		return;
	progress->shown_ns = now;
	progress->is_shown = true;
	char text[80];
	/* The size of a pipe is not known. */
	if (all)
		snprintf(text, sizeof(text), "%.40s %3u %%", what, (unsigned)(done * 100 / all));
	else
		snprintf(text, sizeof(text), "%.40s %s", what, gmt_text_size(done).text);
	gmt_safe_stream_progress(text);
}

void gmt_progress_end(struct gmt_progress *progress)
{
	if (progress->is_shown)
		gmt_safe_stream_progress("");
	progress->is_shown = false;
}
