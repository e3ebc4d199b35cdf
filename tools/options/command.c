/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/suggestion.h"
#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/output/message.h"

const struct gmt_command gmt_commands[] = {
#define GMT_COMMAND(verb, arguments, text) \
	{ .name = #verb, \
		.operands = arguments, \
		.meaning = text, \
		.options = gmt_option_rows_##verb, \
		.run = gmt_cmd_##verb },
#include "tools/options/commands.def"
#undef GMT_COMMAND
	{ 0 },
};

const struct gmt_command *gmt_command_find(const char *name)
{
	for (const struct gmt_command *command = gmt_commands; command->name; command++)
		if (strcmp(command->name, name) == 0)
			return command;
	return NULL;
}

int gmt_command_unknown(const char *name)
{
	struct gmt_suggestion suggestion = { 0 };

	for (const struct gmt_command *command = gmt_commands; command->name; command++)
		gmt_suggestion_consider(&suggestion, name, command->name);
	if (suggestion.best)
		gmt_message_error("unknown verb `%s`; did you mean `%s`?", name, suggestion.best);
	else
		gmt_message_error("unknown verb `%s`", name);
	gmt_message_hint("`gpumemtrace help` lists the verbs");
	return GMT_EXIT_USAGE;
}

void gmt_command_help_all(void)
{
	puts("usage: gpumemtrace [--max-memory=SIZE] [--max-work=N] verb [options] [operands]\n\n"
		 "Shows which lines of a program hold how much GPU memory.\n");
	for (const struct gmt_command *command = gmt_commands; command->name; command++)
		printf("  %-10s %s\n", command->name, command->meaning);
	puts("\n--max-memory and --max-work limit what one verb may use: man gpumemtrace.\n"
		 "`gpumemtrace help verb` shows the options of a verb. Record a program, "
		 "then read the answers:\n\n"
		 "  gpumemtrace run -- python train.py\n"
		 "  gpumemtrace report");
}
