/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "tools/options/command.h"
#include "tools/doctor/doctor.h"
#include "tools/output/output.h"

struct doctor_options {
	bool run, json;
	int color;
};

#define OFFSET_OF(field) offsetof(struct doctor_options, field)
const struct gmt_option_row gmt_option_rows_doctor[] = {
	{ "run", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(run),
		"also run and record the command, show what was recorded, and remove the recording" },
	{ "json", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(json), "JSON instead of text" },
	{ "color", 0, GMT_OPTION_WORD, "auto|always|never", OFFSET_OF(color),
		"colours (default: on a terminal)" },
	{ 0 },
};
#undef OFFSET_OF

enum {
	CANNOT_BE_RECORDED = 1,
	CHECKS = 0
#define GMT_DOCTOR_CHECK(section, id, question, remedy) +1
#include "tools/doctor/doctor_checks.def"
#undef GMT_DOCTOR_CHECK
};

static void (*const checks[])(const struct gmt_doctor *doctor,
	struct gmt_doctor_finding *finding) = {
#define GMT_DOCTOR_CHECK(section, id, question, remedy) gmt_doctor_##id,
#include "tools/doctor/doctor_checks.def"
#undef GMT_DOCTOR_CHECK
};

int gmt_cmd_doctor(const struct gmt_command *command, int argc, char **argv)
{
	static struct gmt_doctor doctor;
	static struct gmt_doctor_finding findings[CHECKS];
	struct gmt_doctor_result result = { .doctor = &doctor, .findings = findings };
	struct doctor_options options = { 0 };
	const char *probe = getenv(GMT_DOCTOR_PROBE);

	if (probe)
		return gmt_doctor_probe(probe);

	int code = gmt_options_parse(command, &options, true, &argc, argv);
	if (code >= 0)
		return code;
	/*
	 * argv comes from main, so argv[argc] may be written: the C standard guarantees the final NULL.
	 * Parsing moved only the operands to the front.
	 */
	argv[argc] = NULL;
	doctor.command = argc ? argv : NULL;
	doctor.run = options.run;

	gmt_doctor_gather_recorder(&doctor);
	gmt_doctor_gather_command(&doctor);
	gmt_doctor_gather_python(&doctor);
	gmt_doctor_gather_driver(&doctor);
	for (size_t i = 0; i < CHECKS; i++) {
		checks[i](&doctor, &findings[i]);
		result.counts[findings[i].state]++;
	}
	result.can_be_recorded = !result.counts[GMT_FINDING_PROBLEM];
	if (options.json)
		gmt_doctor_json(&result, stdout);
	else
		gmt_doctor_text(&result, stdout,
			gmt_output_enable_color(stdout, (enum gmt_color)options.color));
	return result.can_be_recorded ? 0 : CANNOT_BE_RECORDED;
}
