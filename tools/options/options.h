/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OPTIONS_OPTIONS_H
#define GMT_TOOLS_OPTIONS_OPTIONS_H

/*
 * Options of a verb, declared as rows: parsing, checking, "did you mean" and -h come from them. Each
 * row says where in the verb's own structure its value goes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gmt_option_kind {
	GMT_OPTION_FLAG,   /* bool */
	GMT_OPTION_NUMBER, /* uint64_t */
	GMT_OPTION_TEXT,   /* const char * */
	GMT_OPTION_TEXTS,  /* struct gmt_option_texts: may be given several times */
	GMT_OPTION_MAYBE,  /* const char *: only in the form --name=VALUE; "" without */
	GMT_OPTION_WORD,   /* int: which of the words in `values` */
	GMT_OPTION_PASSED, /* struct gmt_option_passed: key and value, checked against `values` */
};

struct gmt_option_row {
	const char *name; /* "" is a row that does not count */
	char letter; /* 0: none */
	enum gmt_option_kind kind;
	const char *values; /* what help calls the value; for words "a|b|c"; for passed ones see .def */
	size_t offset;
	const char *meaning;
};

enum { GMT_OPTION_MAX_TEXTS = 64 };

struct gmt_option_texts {
	const char *items[GMT_OPTION_MAX_TEXTS];
	size_t count;
};

struct gmt_option_passed {
	const char *keys[GMT_OPTION_MAX_TEXTS];
	const char *values[GMT_OPTION_MAX_TEXTS];
	size_t count;
};

struct gmt_command;

/*
 * Parses argv[0..*argc) into `target`, where defaults already stand. Operands are moved to the front
 * of argv and counted in *argc; `--` ends the options; with `until_operand` so does the first
 * operand. Returns -1 when the verb shall go on, else the exit code: -h was given (and answered), or
 * something is wrong (and said).
 */
int gmt_options_parse(const struct gmt_command *command, void *target, bool until_operand, int *argc,
	char **argv);

/* Whether `text` is among the values of a recorder's option (options/recorder_options.def): "a|b" (SIZE: any), "N..M" or "TEXT". */
bool gmt_option_allows(const char *values, const char *text);

/* -h of a verb, to stdout. */
void gmt_options_help(const struct gmt_command *command);

#endif
