/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_RECORDER_H
#define GMT_TOOLS_RECORDINGS_RECORDER_H

/* The recorder as `run` and `env` set it up: where the library is, what the variables must say. */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "tools/options/options.h"

/*
 * Rows for a verb's option table, one for each option of the recorder, whose values go to the
 * struct gmt_option_passed at `place`. `help` is left to the verb's own.
 */
#define GMT_RECORDER_ROW(name, values_, place, meaning_) \
	{ __builtin_strcmp(#name, "help") ? #name : "", __builtin_strcmp(#name, "output") ? 0 : 'o', \
	  GMT_OPTION_PASSED, values_, place, meaning_ },

/* The library that belongs to this program; false, and said, when it is not there. */
bool gmt_recorder_library(char ret_path[PATH_MAX]);

enum { GMT_RECORDER_WHY_BYTES = PATH_MAX + 128 };

/*
 * The same without a word: when it is not there or cannot be named in LD_PRELOAD, false, with one line each on
 * why and on what to do. The path is "" when there is none.
 */
bool gmt_recorder_find(char ret_path[PATH_MAX], char ret_why[GMT_RECORDER_WHY_BYTES],
	char ret_remedy[GMT_RECORDER_WHY_BYTES]);

/* LD_PRELOAD with `library` in front of `before` (may be NULL or empty). From malloc; NULL: no memory. */
char *gmt_recorder_preload(const char *library, const char *before);

/*
 * GPUMEMTRACE_OPTIONS: `before` (may be NULL or empty) without the keys that `passed` gives another value, then `passed`. From
 * malloc; NULL: no memory.
 */
char *gmt_recorder_options(const char *before, const struct gmt_option_passed *passed);

/*
 * Reads `options` as the recorder will, and says each thing on stderr that it would refuse, as `verb`. Returns false when
 * there is such a thing: better no run than one that records something else.
 */
bool gmt_recorder_takes(const char *verb, const char *options);

/* The value of `output` in force under these options, with its tokens, as far as there is room. */
void gmt_recorder_output(const char *options, char *ret_output, size_t output_bytes);

/*
 * A pattern for glob(3) that the names of all files written under these options match. From malloc;
 * NULL: no memory.
 */
char *gmt_recorder_output_glob(const char *options);

#endif
