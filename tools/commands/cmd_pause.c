/* SPDX-License-Identifier: MIT */
/* The verbs pause and resume (cmd_resume.c). The name of the verb says which request is sent. */
#include <stdio.h>
#include <string.h>

#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/recordings/running_processes.h"

struct pause_options {
	bool json;
};

#define OFFSET_OF(field) offsetof(struct pause_options, field)
const struct gmt_option_row gmt_option_rows_pause[] = {
	{ "json", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(json), "JSON instead of text" },
	{ 0 },
};
#undef OFFSET_OF

int gmt_cmd_pause(const struct gmt_command *command, int argc, char **argv)
{
	bool pauses = strcmp(command->name, "pause") == 0;
	struct pause_options options = { 0 };
	char answer[GMT_CONTROL_TEXT_BYTES];
	uint32_t pid;
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (!gmt_running_processes_parse_pid(command->name, argc, argv, &pid))
		return GMT_EXIT_USAGE;
	code = gmt_running_processes_request(pid, pauses ? GMT_CONTROL_PAUSE : GMT_CONTROL_RESUME, NULL,
		answer, sizeof(answer));
	if (code)
		return code;
	if (options.json)
		gmt_running_processes_print_json(pid, "state", pauses ? "paused" : "recording");
	else
		printf("process %u: %s\n", pid,
			pauses ? "the recorder now takes no stacks" : "the recorder takes stacks again");
	return 0;
}
