/* SPDX-License-Identifier: MIT */
#include "tools/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>

void gmt_finding_set(struct gmt_finding *finding, enum gmt_verdict verdict, const char *format, ...)
{
	va_list arguments;

	finding->verdict = verdict;
	va_start(arguments, format);
	vsnprintf(finding->text, sizeof(finding->text), format, arguments);
	va_end(arguments);
}

void gmt_finding_advise(struct gmt_finding *finding, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(finding->remedy, sizeof(finding->remedy), format, arguments);
	va_end(arguments);
}

bool gmt_doctor_has_program(const struct gmt_doctor *doctor)
{
	return doctor->command && doctor->program.state == GMT_PROGRAM_FOUND && !doctor->is_elsewhere;
}
