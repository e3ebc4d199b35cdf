/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_TEXT_H
#define GMT_PYTHON_PYTHON_TEXT_H

/*
 * What a code object says about itself, read by plain loads: its strings as UTF-8, its lines. No call
 * into the interpreter, so no GIL, no allocation and no counted reference; the object must be held by
 * a frame of the calling thread. Internal to python*.c.
 */

#include "python/python_layout.h"

enum { GMT_PYTHON_TEXT_BYTES = 1024 }; /* longer strings are cut here */

/*
 * Writes a str object as UTF-8, at most GMT_PYTHON_TEXT_BYTES, cut between characters, without a
 * terminator. NUL becomes '?'; what UTF-8 cannot hold (a byte of a file name that was not UTF-8)
 * becomes U+FFFD. Returns the length; 0 for NULL.
 */
uint32_t gmt_python_text(const struct gmt_python_layout *layout, const char *string, char *ret_text);

/* A value that differs for strings whose text (as far as we keep it) differs. */
uint64_t gmt_python_text_hash(const struct gmt_python_layout *layout, const char *string);

/* The line of a byte of a code object; 0 when there is none. */
uint32_t gmt_python_line(const struct gmt_python_layout *layout, const char *code, int64_t instr);

#endif
