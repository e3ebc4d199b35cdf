/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_OUTPUT_H
#define GMT_TOOLS_OUTPUT_OUTPUT_H

/*
 * Where results go: stdout or a file, and whether all that was written arrived. Every verb writes its files through here.
 *
 * A file is written under a temporary name beside the target ("report.txt.unfinished-1234") and gets its name when it
 * is whole. Until then the old file stands, and when something fails it stays. The temporary file is removed on
 * every failure, exit and signal except SIGKILL. Its name blocks nothing, because each output takes one that is free.
 *
 * The new file has the mode and, as far as the user may, the owner of the old one. A symbolic link goes on to mean
 * the file. Devices, pipes and open descriptors are written to directly.
 */

#include <stdbool.h>
#include <stdio.h>

#include "tools/output/output_target.h"

enum gmt_color { GMT_COLOR_AUTO, GMT_COLOR_ALWAYS, GMT_COLOR_NEVER }; /* "auto|always|never" */

struct gmt_output;

/*
 * Whether `path` may be written to by these rules. If not, says so and returns false. NULL and "-", stdout, may not
 * go into an input or into a recording either.
 */
bool gmt_output_may_write(const char *path, const struct gmt_output_rules *rules);

/*
 * Whether these outputs are different files, as `verb --junit=a --sarif=a` are not. Says so if they are not. NULL and
 * "-" do not count.
 */
bool gmt_output_are_apart(const char *verb, const char *const *paths, size_t count);

/*
 * Opens `path`, or stdout when it is NULL or "-", for text. Returns NULL, and says why, when the rules forbid it or it
 * cannot be written. The caller ends the output with gmt_output_close.
 */
struct gmt_output *gmt_output_open(const char *path, const struct gmt_output_rules *rules);

/*
 * Opens `path` for bytes that are no text, which the caller writes to gmt_output_descriptor. A new file can be read by
 * its owner alone.
 */
struct gmt_output *gmt_output_open_bytes(const char *path, const struct gmt_output_rules *rules);

FILE *gmt_output_file(struct gmt_output *output);
int gmt_output_descriptor(const struct gmt_output *output);

/*
 * Ends the output and gives the file its name. `code` is the verb's exit code so far: when it is 2 or 3 and nothing was
 * written, the old file stays. Returns `code`, or 3, and says why, when not all could be written. `output` may be NULL.
 */
int gmt_output_close(struct gmt_output *output, int code);

/* Ends the output; the old file stays as it was. `output` may be NULL. */
void gmt_output_discard(struct gmt_output *output);

/*
 * Appends `length` bytes of text to the file at `path`, in one piece. Returns false and says why when that failed. The
 * file is then as it was.
 */
bool gmt_output_append(const char *path, const struct gmt_output_rules *rules, const char *text, size_t length);

/* The last act of main: flushes stdout. A reader that went away is no error. */
int gmt_output_finish_stdout(int code);

/* Whether to write colours to `file`: --color, NO_COLOR, CLICOLOR_FORCE, TERM, a terminal. If so, it lets them through. */
bool gmt_output_color(FILE *file, enum gmt_color color);

#endif
