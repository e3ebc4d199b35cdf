/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_STANDARD_INPUT_H
#define GMT_TOOLS_RECORDINGS_STANDARD_INPUT_H

/*
 * The operand `-`: the recording comes from standard input. A pipe can be read only once, so a verb
 * that reads its input several times calls gmt_standard_input_keep first. State of the process; for
 * one thread.
 */

#include <stdbool.h>

#include "base/status.h"
#include "source/source.h"

/* Returns whether an operand means standard input. */
bool gmt_standard_input_is(const char *operand);

/* Returns the name of an operand for messages: "standard input" for `-`. */
const char *gmt_standard_input_name(const char *operand);

/*
 * Begins to read standard input from its start. The stream is valid until the next call. Fails with
 * GMT_NO_FILE for a terminal, and for a pipe that was read before and not kept.
 */
enum gmt_status gmt_standard_input_begin(const struct gmt_source_stream **ret_stream,
	struct gmt_error *error);

/*
 * Reads a pipe to its end and keeps the bytes in memory, within the memory limit. Does nothing for
 * a file, and for an operand that is not standard input. On failure, prints an error and returns
 * the exit code; otherwise returns 0.
 */
int gmt_standard_input_keep(const char *operand);

/*
 * Returns whether no operand means standard input. If one does, prints an error of `verb` with the
 * reason `why`.
 */
bool gmt_standard_input_is_absent(const char *verb, const char *why, int count, char **operands);

#endif
