/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OPTIONS_COMMAND_H
#define GMT_TOOLS_OPTIONS_COMMAND_H

/*
 * A verb of the command line, as data: its name, operands, one-line description, options and
 * function. The values come from commands.def and from the verb's own table of options. Dispatch,
 * help, completion scripts and man pages use these rows.
 */

#include "tools/options/options.h"

struct gmt_command {
	const char *name;
	const char *operands;
	const char *meaning;
	const struct gmt_option_row *options; /* ended by a row without a name; may be NULL */
	/* Takes the arguments after the verb. Returns the exit code. */
	int (*run)(const struct gmt_command *command, int argc, char **argv);
};

#define GMT_COMMAND(verb, operands, meaning) \
	extern const struct gmt_option_row gmt_option_rows_##verb[]; \
	int gmt_cmd_##verb(const struct gmt_command *command, int argc, char **argv);
#include "tools/options/commands.def"
#undef GMT_COMMAND

/* All verbs, ended by an entry without a name. */
extern const struct gmt_command gmt_commands[];

/* Returns the verb of this name, or NULL. */
const struct gmt_command *gmt_command_find(const char *name);

/* Reports that the verb does not exist, and suggests a similar verb. Returns the exit code. */
int gmt_command_unknown(const char *name);

/* Prints the list of verbs to stdout. */
void gmt_command_help_all(void);

#endif
