/* SPDX-License-Identifier: MIT */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

enum gmt_status gmt_error_set(struct gmt_error *error, enum gmt_status status, const char *format,
	...)
{
	if (!error)
		return status;

	va_list arguments;

	error->status = status;
	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return status;
}

int gmt_status_exit_code(enum gmt_status status)
{
	static const int exit_codes[] = {
#define GMT_STATUS(name, exit_code, meaning) [GMT_##name] = exit_code,
#include "base/status.def"
#undef GMT_STATUS
	};

	return (unsigned)status < GMT_STATUS_COUNT ? exit_codes[status] : 3;
}
