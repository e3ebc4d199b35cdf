/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OPTIONS_COMMAND_H
#define GMT_TOOLS_OPTIONS_COMMAND_H

/*
 * A verb is a value: its name, operands, one line, options and function, from commands.def and the
 * verb's own table. Dispatch, help and the check of the man page read the same rows.
 */

#include "tools/options/options.h"

struct gmt_command {
	const char *name;
	const char *operands;
	const char *meaning;
	const struct gmt_option_row *options; /* ended by a row without a name; may be NULL */
	/* Gets the arguments behind the verb; returns the exit code. */
	int (*run)(const struct gmt_command *command, int argc, char **argv);
};

#define GMT_COMMAND(verb, operands, meaning) \
	extern const struct gmt_option_row gmt_table_##verb[]; \
	int gmt_cmd_##verb(const struct gmt_command *command, int argc, char **argv);
#include "tools/options/commands.def"
#undef GMT_COMMAND

/* All verbs; ended by one without a name. */
extern const struct gmt_command gmt_commands[];

/* NULL when there is none of that name. */
const struct gmt_command *gmt_command_find(const char *name);

/* Says that there is no such verb, and which one may have been meant; returns the exit code. */
int gmt_command_unknown(const char *name);

/* The list of verbs. */
void gmt_command_help_all(void);

#endif
