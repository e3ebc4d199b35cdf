/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/safe_text.h"
#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/recordings/running_processes.h"
#include "tools/output/message.h"

struct snapshot_options {
	const char *output;
	bool json;
};

#define AT(field) offsetof(struct snapshot_options, field)
const struct gmt_option_row gmt_table_snapshot[] = {
	{ "output", 'o', GMT_OPTION_TEXT, "FILE", AT(output),
		"the new file (default: next to the recording)" },
	{ "json", 0, GMT_OPTION_FLAG, NULL, AT(json), "JSON instead of text" },
	{ 0 },
};
#undef AT

/* Makes the path absolute, because the recorder has another working directory. */
static bool make_whole(const char *path, char *ret_whole, size_t bytes)
{
	size_t length = 0;

	if (path[0] != '/') {
		if (!getcwd(ret_whole, bytes))
			return false;
		length = strlen(ret_whole);
		if (length + 1 < bytes)
			ret_whole[length++] = '/';
	}
	return (size_t)snprintf(ret_whole + length, bytes - length, "%s", path) < bytes - length;
}

int gmt_cmd_snapshot(const struct gmt_command *command, int argc, char **argv)
{
	struct snapshot_options options = { 0 };
	char whole[GMT_CONTROL_PATH_BYTES] = "",
		 answer[GMT_CONTROL_PATH_BYTES + GMT_CONTROL_TEXT_BYTES];
	uint32_t pid;
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (!gmt_running_processes_operand("snapshot", argc, argv, &pid))
		return GMT_EXIT_USAGE;
	if (options.output && !make_whole(options.output, whole, sizeof(whole))) {
		gmt_message_error("snapshot: %s: the name is too long", options.output);
		return GMT_EXIT_USAGE;
	}
	code = gmt_running_processes_request(pid, GMT_CONTROL_SNAPSHOT, whole, answer, sizeof(answer));
	if (code)
		return code;
	if (options.json) {
		gmt_running_processes_print(pid, "snapshot", answer);
		return 0;
	}
	gmt_safe_print(stdout, answer);
	putchar('\n');
	gmt_message_hint("next: gpumemtrace report %s", answer);
	return 0;
}
