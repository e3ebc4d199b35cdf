/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_COMPLETION_COMPLETION_H
#define GMT_TOOLS_COMPLETION_COMPLETION_H

/*
 * Writes completion scripts for shells from the verbs and their option tables. A new verb or option
 * needs no change here.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "tools/options/command.h"

/* The words that a shell can offer as the value of an option, or as an operand of a verb. */
enum gmt_completion_kind {
	GMT_COMPLETE_NOTHING,   /* the option has no value, the verb no operand */
	GMT_COMPLETE_ANY,       /* a number, a time or a text: nothing to offer */
	GMT_COMPLETE_WORD,      /* one word of a list */
	GMT_COMPLETE_WORDS,     /* several words of a list, separated by commas */
	GMT_COMPLETE_FILE,      /* any file */
	GMT_COMPLETE_FOLDER,
	GMT_COMPLETE_RECORDING, /* a file whose name ends in .gz */
	GMT_COMPLETE_COMMAND,   /* a program with its arguments */
	GMT_COMPLETE_PROCESS,   /* a process that is being recorded */
	GMT_COMPLETE_VERB,
};

/* A part of a borrowed text. */
struct gmt_completion_word {
	const char *text;
	size_t length;
};

enum gmt_completion_kind gmt_completion_of_option(const struct gmt_option_row *row);
enum gmt_completion_kind gmt_completion_of_operand(const struct gmt_command *command);

/*
 * Stores the next word of a list such as "a|b|c" or "4s|peak|end". Skips alternatives that are not
 * words. `*at` is the place in the list, at first its beginning. Returns false at the end.
 */
bool gmt_completion_next_word(const char **at, struct gmt_completion_word *ret_word);

/* Writes the completion script of a shell. */
void gmt_completion_bash(FILE *file);
void gmt_completion_zsh(FILE *file);
void gmt_completion_fish(FILE *file);

#endif
