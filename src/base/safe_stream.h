/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_SAFE_STREAM_H
#define GMT_BASE_SAFE_STREAM_H

/*
 * Text streams that cannot command a terminal. Every byte of text that the program writes passes through one
 * of them: stdout, stderr and each file of text that it makes. The stream writes a '?' in place of each
 * character that safe.h hides, except the line feed, and of each byte that is not UTF-8.
 *
 * Renderers already make single texts safe (gmt_safe_print, JSON, XML). The streams are the second line: a text
 * that some renderer forgot cannot get out either. One thread opens, closes and asks streams.
 */

#include <stdbool.h>
#include <stdio.h>

/*
 * Returns a stream that writes to `fd`, which it owns and closes. NULL: out of memory; then `fd` stays open.
 * Errors show as ferror() and as the result of fclose(), with errno.
 */
FILE *gmt_safe_stream_open(int fd);

/* Replaces stdout and stderr by such streams. False: out of memory. Call it once, before anything is written. */
bool gmt_safe_stream_install(void);

/* Returns the descriptor that `file` writes to; -1 when it was not opened here. */
int gmt_safe_stream_descriptor(FILE *file);

/* Lets the four styles of gmt_plain_style (render/plain.h) pass through `file`. */
void gmt_safe_stream_allow_styles(FILE *file);

/*
 * Writes a line that goes on to be overwritten: the terminal's cursor moves to its begin and the line is cleared.
 * `text` is the program's own, without control characters. Only for a terminal on stderr.
 */
void gmt_safe_stream_progress(const char *text);

#endif
