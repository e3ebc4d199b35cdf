/* SPDX-License-Identifier: MIT */
#include "library/messages.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/safe_text.h"
#include "tools/output/message.h"

enum { WARNINGS = 8, WARNING_BYTES = 2048 };

static struct gmt_error failure;
static char warnings[WARNINGS][WARNING_BYTES];
static unsigned warning_count;

void gmt_messages_clear(void)
{
	failure = (struct gmt_error){ 0 };
	warning_count = 0;
}

const struct gmt_error *gmt_messages_failure(void)
{
	return &failure;
}

const char *gmt_messages_warning(unsigned index)
{
	return index < warning_count ? warnings[index] : NULL;
}

void gmt_message_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(failure.text, sizeof(failure.text), format, arguments);
	va_end(arguments);
	gmt_safe_replace(failure.text);
}

/* Keeps a message that is no failure. */
static void keep(const char *format, va_list arguments)
{
	if (warning_count == WARNINGS)
		return;
	vsnprintf(warnings[warning_count], WARNING_BYTES, format, arguments);
	gmt_safe_replace(warnings[warning_count++]);
}

void gmt_message_warning(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	keep(format, arguments);
	va_end(arguments);
}

void gmt_message_hint(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	keep(format, arguments);
	va_end(arguments);
}

int gmt_message_failure(const struct gmt_error *error)
{
	gmt_message_error("%s", error->text);
	failure.status = error->status;
	return gmt_status_exit_code(error->status);
}

/* Does nothing: the calling program shows its own progress. */
void gmt_progress_step(struct gmt_progress *progress, const char *what, uint64_t done, uint64_t all)
{
	(void)progress;
	(void)what;
	(void)done;
	(void)all;
}

void gmt_progress_end(struct gmt_progress *progress)
{
	(void)progress;
}
