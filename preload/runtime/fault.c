/* SPDX-License-Identifier: MIT */
#include "runtime/fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "runtime/diag.h"
#include "writer/session.h"

void gmt_fault(const char *where, const char *format, ...)
{
	char text[256];
	int kept_errno = errno;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (gmt_diag_warn_kind(format, "%s%s%s", where ? where : "", where ? ": " : "", text))
		gmt_session_note_fault(text);
	errno = kept_errno;
}
