/* SPDX-License-Identifier: MIT */
#include "tools/options/command.h"

/* Offset 0 is the field `json` in struct pause_options of cmd_pause.c, which parses the options. */
const struct gmt_option_row gmt_option_rows_resume[] = {
	{ "json", 0, GMT_OPTION_FLAG, NULL, 0, "JSON instead of text" },
	{ 0 },
};

int gmt_cmd_resume(const struct gmt_command *command, int argc, char **argv)
{
	return gmt_cmd_pause(command, argc, argv);
}
