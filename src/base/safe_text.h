/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_SAFE_TEXT_H
#define GMT_BASE_SAFE_TEXT_H

/*
 * Makes foreign text safe to show. Names of functions, files, threads, devices and heaps, arguments
 * and paths come from a file that anyone may have written. A terminal takes some characters as
 * commands. All code that writes output passes such text through here.
 *
 * Hidden are: control characters (C0, DEL, C1), characters that change the writing direction, break
 * lines or are invisible, and bytes that are not UTF-8. No state, no allocation, no locale: any
 * thread may use it, also in the recorder.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Returns the length in bytes of the character at `at`, if it can be shown as it is. Returns 0 if
 * not; then the caller must skip *ret_skip bytes (at least 1). `left` must be at least 1.
 */
size_t gmt_safe_character_length(const unsigned char *at, size_t left, size_t *ret_skip);

/*
 * Returns whether the character at `at` would turn a log line into a command for GitHub's runner.
 * `start` is the beginning of the NUL-terminated text. The runner takes `::` after blanks at the
 * start of a line as a command, and `##[` anywhere.
 */
bool gmt_safe_makes_runner_command(const unsigned char *start, const unsigned char *at);

/*
 * Writes `text`. A '?' replaces each character that cannot be shown, or that would make a command.
 */
void gmt_safe_print(FILE *file, const char *text);

/* Same as gmt_safe_print, in place. The text may become shorter. */
void gmt_safe_replace(char *text);

#endif
