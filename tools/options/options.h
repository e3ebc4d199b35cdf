/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OPTIONS_OPTIONS_H
#define GMT_TOOLS_OPTIONS_OPTIONS_H

/*
 * Options of a verb, declared as rows. Parsing, checks, suggestions and -h use these rows. Each row
 * has the offset of its value in the verb's own structure.
 */

#include <stdbool.h>
#include <stddef.h>

enum gmt_option_kind {
	GMT_OPTION_FLAG,   /* bool */
	GMT_OPTION_NUMBER, /* uint64_t */
	GMT_OPTION_TEXT,   /* const char * */
	GMT_OPTION_TEXTS,  /* struct gmt_option_texts: may be given several times */
	GMT_OPTION_OPTIONAL_TEXT, /* const char *: only in the form --name=VALUE; "" without a value */
	GMT_OPTION_WORD, /* int: index of the word in `values` */
	GMT_OPTION_WORDS, /* uint64_t: bits of the words in `values`, from "a,b"; may be repeated */
	GMT_OPTION_MOMENT, /* struct gmt_moment (moment.h) */
	/* struct gmt_recorder_option_list: an option of the recorder, checked against `values` */
	GMT_OPTION_OF_RECORDER,
};

struct gmt_option_row {
	const char *name; /* "": the row is ignored */
	char letter; /* 0: no letter */
	enum gmt_option_kind kind;
	/*
	 * Name of the value in the help text; for words "a|b|c"; for options of the recorder as in
	 * options/recorder_options.def.
	 */
	const char *values;
	size_t offset;
	const char *meaning;
};

enum { GMT_OPTION_MAX_TEXTS = 64 };

struct gmt_option_texts {
	const char *items[GMT_OPTION_MAX_TEXTS];
	size_t count;
};

/* Options of the recorder (options/recorder_options.def) on the command line, in their order. */
struct gmt_recorder_option_list {
	const char *keys[GMT_OPTION_MAX_TEXTS];
	const char *values[GMT_OPTION_MAX_TEXTS];
	size_t count;
};

struct gmt_command;

/*
 * Parses argv[0..*argc) into `target`, which already has the defaults. Moves the operands to the
 * front of argv and stores their number in *argc. `--` ends the options. With `until_operand`, the
 * first operand ends them too. Returns -1 if the verb shall continue. Otherwise returns the exit
 * code, after it printed the help for -h, or an error.
 */
int gmt_options_parse(const struct gmt_command *command, void *target, bool until_operand,
	int *argc, char **argv);

/* Prints the help of a verb to stdout. */
void gmt_options_help(const struct gmt_command *command);

#endif
