/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_SAFE_H
#define GMT_BASE_SAFE_H

/*
 * Text of others, on its way to a person. Names of functions, files, threads, devices and heaps, arguments
 * and paths come from a file that anybody may have written, and a terminal takes some characters as commands.
 * All that is shown passes through here, in every room that writes.
 *
 * Not shown: control characters (C0, DEL, C1), what changes the direction of writing, breaks lines or cannot
 * be seen at all, and what is not UTF-8. No state, no allocation, no locale: any thread, also in the shim.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * How many bytes at `at` are one character that can be shown as it is; 0: none, and *ret_skip bytes, at
 * least one, are to be left out together. At least one byte is there.
 */
size_t gmt_safe_length(const unsigned char *at, size_t left, size_t *ret_skip);

/*
 * Whether the character at `at`, in the NUL-ended text that begins at `start`, would make a line of a log a
 * command to GitHub's runner: it takes `::` behind blanks at the start of a line for one, and `##[` anywhere.
 */
bool gmt_safe_is_command(const unsigned char *start, const unsigned char *at);

/* Writes `text` with a '?' in place of each character that cannot be shown, or would make a command. */
void gmt_safe_print(FILE *file, const char *text);

/* The same in place; the text may become shorter. */
void gmt_safe_line(char *text);

/* The number of the character at `at`, which gmt_text_utf8_length found to be `length` bytes long. */
uint32_t gmt_safe_character(const unsigned char *at, size_t length);

#endif
