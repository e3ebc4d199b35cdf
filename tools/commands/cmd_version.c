/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/output/message.h"
#include "format/format.h"

const struct gmt_option_row gmt_option_rows_version[] = { { 0 } };

int gmt_cmd_version(const struct gmt_command *command, int argc, char **argv)
{
	int code = gmt_options_parse(command, NULL, false, &argc, argv);

	if (code >= 0)
		return code;
	if (argc) {
		gmt_message_error("version: takes no operand");
		return GMT_EXIT_USAGE;
	}
	printf("gpumemtrace %s, recording format %d.%d\n", GMT_PROGRAM_VERSION, GMT_FORMAT_MAJOR,
		GMT_FORMAT_MINOR);
	return 0;
}
