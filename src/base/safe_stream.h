/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_SAFE_STREAM_H
#define GMT_BASE_SAFE_STREAM_H

/*
 * Text streams that cannot command a terminal. The program writes every byte of text through one of
 * them: stdout, stderr and each text file. A '?' replaces each character that safe_text.h hides,
 * except the line feed, and each byte that is not UTF-8.
 *
 * Renderers already make individual texts safe (gmt_safe_print, JSON, XML). The streams are the
 * second line of defence: they also catch a text that a renderer forgot. Only one thread may open,
 * close and query streams.
 */

#include <stdbool.h>
#include <stdio.h>

/*
 * Returns a stream that writes to `fd`. The stream owns `fd` and closes it. Returns NULL when out
 * of memory; then `fd` stays open. Errors appear in ferror() and in the result of fclose(), with
 * errno.
 */
FILE *gmt_safe_stream_open(int fd);

/*
 * Same as above, but writes each byte as it is: for a document, which no terminal shows. Whoever
 * writes to it escapes foreign text.
 */
FILE *gmt_safe_stream_open_raw(int fd);

/*
 * Replaces stdout and stderr by such streams. Returns false when out of memory. Call it once,
 * before any output.
 */
bool gmt_safe_stream_install(void);

/* Returns the descriptor that `file` writes to; -1 if `file` was not opened here. */
int gmt_safe_stream_descriptor(FILE *file);

/* Lets the styles of gmt_console_style (render/console.h) pass through `file`. */
void gmt_safe_stream_allow_styles(FILE *file);

/*
 * Writes a line that the next output overwrites. It moves the terminal's cursor to the beginning of
 * the line and clears the line. `text` must be the program's own and contain no control characters.
 * Only for a terminal on stderr.
 */
void gmt_safe_stream_progress(const char *text);

/* What a terminal on stdout does for a program that fills the whole screen. */
enum gmt_terminal_command {
	GMT_TERMINAL_ENTER, /* shows an empty screen instead of the text so far, without a cursor */
	GMT_TERMINAL_HOME,  /* the next output overwrites the screen from its first line on */
	GMT_TERMINAL_CLEAR_BELOW, /* clears the screen after the end of the last output */
	GMT_TERMINAL_LEAVE, /* shows the text before GMT_TERMINAL_ENTER again */
};

/*
 * Sends a command to the terminal, after the output so far. Only for a terminal on stdout. A signal
 * handler may send GMT_TERMINAL_LEAVE; then the output so far may be lost.
 */
void gmt_safe_stream_command(enum gmt_terminal_command command);

#endif
