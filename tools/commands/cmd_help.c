/* SPDX-License-Identifier: MIT */
#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/output/message.h"

const struct gmt_option_row gmt_option_rows_help[] = { { 0 } };

int gmt_cmd_help(const struct gmt_command *command, int argc, char **argv)
{
	int code = gmt_options_parse(command, NULL, false, &argc, argv);

	if (code >= 0)
		return code;
	if (argc > 1) {
		gmt_message_error("help: one verb at a time");
		return GMT_EXIT_USAGE;
	}
	if (!argc) {
		gmt_command_help_all();
		return 0;
	}

	const struct gmt_command *verb = gmt_command_find(argv[0]);
	if (!verb)
		return gmt_command_unknown(argv[0]);
	gmt_options_help(verb);
	return 0;
}
