/* SPDX-License-Identifier: MIT */
/* The verbs pause and resume. */
#include <stdio.h>

#include "tools/options/command.h"
#include "tools/recordings/input.h"
#include "tools/recordings/running.h"

struct pause_options {
	bool json;
};

#define AT(field) offsetof(struct pause_options, field)
const struct gmt_option_row gmt_table_pause[] = {
	{ "json", 0, GMT_OPTION_FLAG, NULL, AT(json), "JSON instead of text" },
	{ 0 },
};
const struct gmt_option_row gmt_table_resume[] = {
	{ "json", 0, GMT_OPTION_FLAG, NULL, AT(json), "JSON instead of text" },
	{ 0 },
};
#undef AT

static int request(const struct gmt_command *command, const char *name, enum gmt_control_verb verb,
	int argc, char **argv)
{
	struct pause_options options = { 0 };
	char answer[GMT_CONTROL_TEXT_BYTES];
	uint32_t pid;
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (!gmt_running_operand(name, argc, argv, &pid))
		return GMT_EXIT_USAGE;
	code = gmt_running_request(pid, verb, NULL, answer, sizeof(answer));
	if (code)
		return code;
	if (options.json)
		gmt_running_print(pid, "state", verb == GMT_CONTROL_PAUSE ? "paused" : "recording");
	else
		printf("process %u: %s\n", pid,
			verb == GMT_CONTROL_PAUSE ? "the recorder now takes no stacks"
									  : "the recorder takes stacks again");
	return 0;
}

int gmt_cmd_pause(const struct gmt_command *command, int argc, char **argv)
{
	return request(command, "pause", GMT_CONTROL_PAUSE, argc, argv);
}

int gmt_cmd_resume(const struct gmt_command *command, int argc, char **argv)
{
	return request(command, "resume", GMT_CONTROL_RESUME, argc, argv);
}
