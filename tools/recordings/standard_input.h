/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_STANDARD_INPUT_H
#define GMT_TOOLS_RECORDINGS_STANDARD_INPUT_H

/*
 * The operand `-`: the recording comes from standard input. A pipe can be read once; a verb that
 * reads its input several times calls gmt_standard_input_keep first. State of the process, one
 * thread.
 */

#include <stdbool.h>

#include "base/status.h"
#include "source/source.h"

/* Returns whether an operand means standard input. */
bool gmt_standard_input_is(const char *operand);

/* Returns the name of an operand for messages. */
const char *gmt_standard_input_name(const char *operand);

/*
 * Begins to read from the start of a file, of the kept bytes, or of a pipe. The stream is valid
 * until the next call. Returns GMT_NO_FILE if a pipe was read before, and for a terminal.
 */
enum gmt_status gmt_standard_input_begin(const struct gmt_source_stream **ret_stream,
	struct gmt_error *error);

/*
 * Reads a pipe to its end and keeps the bytes in memory, within the limit of gmt_memory_limit. Does
 * nothing for a file and for an operand that is not standard input. If that fails, prints an error
 * and returns the exit code.
 */
int gmt_standard_input_keep(const char *operand);

/*
 * Returns true if no operand means standard input. Otherwise prints that the verb needs files, for
 * the reason `why`.
 */
bool gmt_standard_input_is_absent(const char *verb, const char *why, int count, char **operands);

#endif
