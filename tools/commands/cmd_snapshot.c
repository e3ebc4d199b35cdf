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

#define OFFSET_OF(field) offsetof(struct snapshot_options, field)
const struct gmt_option_row gmt_option_rows_snapshot[] = {
	{ "output", 'o', GMT_OPTION_TEXT, "FILE", OFFSET_OF(output),
		"the new file (default: next to the recording)" },
	{ "json", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(json), "JSON instead of text" },
	{ 0 },
};
#undef OFFSET_OF

/* Makes the path absolute, because the recorder may have another working directory. */
static bool make_absolute(const char *path, char *ret_absolute_path, size_t bytes)
{
	size_t length = 0;

	if (path[0] != '/') {
		if (!getcwd(ret_absolute_path, bytes))
			return false;
		length = strlen(ret_absolute_path);
		if (length + 1 < bytes)
			ret_absolute_path[length++] = '/';
	}
	return (size_t)snprintf(ret_absolute_path + length, bytes - length, "%s", path) <
		bytes - length;
}

int gmt_cmd_snapshot(const struct gmt_command *command, int argc, char **argv)
{
	struct snapshot_options options = { 0 };
	char absolute_path[GMT_CONTROL_PATH_BYTES] = "",
		 snapshot_path[GMT_CONTROL_PATH_BYTES + GMT_CONTROL_TEXT_BYTES];
	uint32_t pid;
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (!gmt_running_processes_parse_pid("snapshot", argc, argv, &pid))
		return GMT_EXIT_USAGE;
	if (options.output && !make_absolute(options.output, absolute_path, sizeof(absolute_path))) {
		gmt_message_error("snapshot: %s: the name is too long", options.output);
		return GMT_EXIT_USAGE;
	}
	code = gmt_running_processes_request(pid, GMT_CONTROL_SNAPSHOT, absolute_path, snapshot_path,
		sizeof(snapshot_path));
	if (code)
		return code;
	if (options.json) {
		gmt_running_processes_print_json(pid, "snapshot", snapshot_path);
		return 0;
	}
	gmt_safe_print(stdout, snapshot_path);
	putchar('\n');
	gmt_message_hint("next: gpumemtrace report %s", snapshot_path);
	return 0;
}
