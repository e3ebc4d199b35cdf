/* SPDX-License-Identifier: MIT */
#include "tools/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>

void gmt_doctor_finding_set(struct gmt_doctor_finding *finding, enum gmt_doctor_finding_state state,
	const char *format, ...)
{
	va_list arguments;

	finding->state = state;
	va_start(arguments, format);
	vsnprintf(finding->text, sizeof(finding->text), format, arguments);
	va_end(arguments);
}

void gmt_doctor_finding_advise(struct gmt_doctor_finding *finding, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(finding->remedy, sizeof(finding->remedy), format, arguments);
	va_end(arguments);
}

bool gmt_doctor_has_program(const struct gmt_doctor *doctor)
{
	return doctor->command && doctor->program.state == GMT_PROGRAM_FOUND &&
		!doctor->starts_elsewhere;
}
