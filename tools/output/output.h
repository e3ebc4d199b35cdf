/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_OUTPUT_H
#define GMT_TOOLS_OUTPUT_OUTPUT_H

/*
 * Output of results to stdout or a file, with a check that all data was written. All verbs write
 * their files with these functions.
 *
 * A file is written under a temporary name next to the target ("report.txt.unfinished-1234") and
 * renamed when it is complete. Until then, and after a failure, the old file stays. Every failure,
 * exit and signal except SIGKILL removes the temporary file. A remaining temporary file does no
 * harm, because each output takes a free name.
 *
 * The new file has the mode of the old file and, as far as permitted, its owner. If the target is a
 * symbolic link, the link stays and the file behind it is replaced. Output to devices, pipes and
 * open descriptors is written to them directly.
 */

#include <stdbool.h>
#include <stdio.h>

#include "tools/output/output_target.h"

enum gmt_color { GMT_COLOR_AUTO, GMT_COLOR_ALWAYS, GMT_COLOR_NEVER }; /* "auto|always|never" */

struct gmt_output;

/*
 * Returns whether the rules allow writing to `path`. If not, prints an error and returns false.
 * NULL and "-" mean stdout, which must also not be an input or a recording.
 */
bool gmt_output_may_write(const char *path, const struct gmt_output_rules *rules);

/*
 * Returns whether these outputs are different files. If not (`verb --junit=a --sarif=a`), prints an
 * error. Ignores NULL and "-".
 */
bool gmt_output_paths_differ(const char *verb, const char *const *paths, size_t count);

/*
 * Opens `path`, or stdout if it is NULL or "-", for text. If the rules forbid it or opening fails,
 * prints an error and returns NULL. The caller ends the output with gmt_output_close.
 */
struct gmt_output *gmt_output_open(const char *path, const struct gmt_output_rules *rules);

/*
 * Same as gmt_output_open, for binary data, which the caller writes to gmt_output_descriptor. Only
 * the owner can read a new file.
 */
struct gmt_output *gmt_output_open_bytes(const char *path, const struct gmt_output_rules *rules);

/*
 * Same as gmt_output_open, for a document: no terminal shows its text, so the stream does not
 * escape it. The caller writes to gmt_output_file.
 */
struct gmt_output *gmt_output_open_document(const char *path, const struct gmt_output_rules *rules);

FILE *gmt_output_file(struct gmt_output *output);
int gmt_output_descriptor(const struct gmt_output *output);

/*
 * Ends the output and gives the file its name. `code` is the verb's exit code so far. If `code` is
 * 2 or 3 and nothing was written, the old file stays. Returns `code`, or 3 after an error message
 * if writing failed. `output` may be NULL.
 */
int gmt_output_close(struct gmt_output *output, int code);

/* Ends the output without a new file. The old file stays. `output` may be NULL. */
void gmt_output_discard(struct gmt_output *output);

/*
 * Appends `length` bytes of text to the file at `path`, in one write. If that fails, prints an
 * error and returns false; the file is then unchanged.
 */
bool gmt_output_append(const char *path, const struct gmt_output_rules *rules, const char *text,
	size_t length);

/*
 * Flushes stdout; main calls it last. Returns `code`, or 3 after an error message if data was lost.
 * If the reader of stdout has gone away, that is not an error.
 */
int gmt_output_finish_stdout(int code);

/*
 * Returns whether to write colours to `file`, which depends on --color, NO_COLOR, CLICOLOR_FORCE,
 * TERM, and whether `file` is a terminal. If so, the stream no longer escapes style sequences.
 */
bool gmt_output_enable_color(FILE *file, enum gmt_color color);

#endif
