/* SPDX-License-Identifier: MIT */
#include "tools/export/call_trees.h"
#include "tools/options/command.h"

const struct gmt_option_row gmt_option_rows_flamegraph[] = {
	GMT_CALL_TREES_OPTIONS,
	{ "color", 0, GMT_OPTION_WORD, "auto|always|never", GMT_CALL_TREES_OFFSET(color),
		"colours (default: on a terminal)" },
	{ 0 },
};

int gmt_cmd_flamegraph(const struct gmt_command *command, int argc, char **argv)
{
	struct gmt_call_trees_options options = {
		.export = GMT_EXPORT_OPTIONS_UNSET,
		.is_flame_graph = true,
	};

	return gmt_call_trees_run(command, &options, argc, argv);
}
