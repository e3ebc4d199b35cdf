/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_TEXT_H
#define GMT_PYTHON_PYTHON_TEXT_H

/*
 * Reads the strings of a code object as UTF-8, and its line numbers, by plain loads from memory. It
 * does not call the interpreter, so it needs no GIL, allocates no memory and counts no reference. A
 * frame of the calling thread must hold the code object. Internal to python*.c.
 */

#include "python/python_layout.h"

enum { GMT_PYTHON_TEXT_BYTES = 1024 }; /* longer strings are cut here */

/*
 * Writes a str object as UTF-8: at most GMT_PYTHON_TEXT_BYTES, cut between characters, without a
 * terminator. NUL becomes '?'. A character that UTF-8 cannot represent (from a file name that was
 * not UTF-8) becomes U+FFFD. Returns the length in bytes; 0 for NULL.
 */
uint32_t gmt_python_text(const struct gmt_python_layout *layout, const char *string,
	char *ret_text);

/*
 * Returns a hash of the text that the recorder keeps of `string`: at most the first
 * GMT_PYTHON_TEXT_BYTES characters. Returns 0 for NULL.
 */
uint64_t gmt_python_text_hash(const struct gmt_python_layout *layout, const char *string);

/* Returns the line of the instruction at byte `instr` of a code object; 0 if it has no line. */
uint32_t gmt_python_line(const struct gmt_python_layout *layout, const char *code, int64_t instr);

#endif
