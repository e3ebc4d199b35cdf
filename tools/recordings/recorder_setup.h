/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_RECORDER_SETUP_H
#define GMT_TOOLS_RECORDINGS_RECORDER_SETUP_H

/*
 * Sets up the recorder for `run`, `env` and `doctor`: finds its library, and makes the values of
 * the environment variables.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "tools/options/options.h"

/*
 * A row of a verb's option table for an option of the recorder, whose value goes to the struct
 * gmt_recorder_option_list at `offset`. The row `help` is ignored, because each verb has this
 * option.
 */
#define GMT_RECORDER_ROW(name, values_, offset, meaning_) \
	{ __builtin_strcmp(#name, "help") ? #name : "", __builtin_strcmp(#name, "output") ? 0 : 'o', \
		GMT_OPTION_OF_RECORDER, values_, offset, meaning_ },

/*
 * Finds the recorder library that belongs to this program. If the library is missing, or its path
 * cannot stand in LD_PRELOAD, prints an error and returns false.
 */
bool gmt_recorder_library(char ret_path[PATH_MAX]);

enum { GMT_RECORDER_WHY_BYTES = PATH_MAX + 128 };

/*
 * Same as gmt_recorder_library, but prints nothing. If it returns false, `ret_why` has the reason
 * and `ret_remedy` the remedy, one line each. `ret_path` is "" if the library is missing.
 */
bool gmt_recorder_find(char ret_path[PATH_MAX], char ret_why[GMT_RECORDER_WHY_BYTES],
	char ret_remedy[GMT_RECORDER_WHY_BYTES]);

/*
 * Returns a value for the environment variable LD_PRELOAD or LD_AUDIT: `library`, then the files of
 * the present value. Leaves out other files of the same name, because two recorders in one process
 * would record each call twice. The result comes from malloc; NULL: out of memory.
 */
char *gmt_recorder_put_first(const char *variable, const char *library);

/*
 * Returns a value for GPUMEMTRACE_OPTIONS: the options of `before` (may be NULL or empty) except
 * those that `passed` sets too, then the options of `passed`. The result comes from malloc; NULL:
 * out of memory.
 */
char *gmt_recorder_options(const char *before, const struct gmt_recorder_option_list *passed);

/*
 * Same as gmt_recorder_options, but makes a relative `output` in `passed` absolute, because a
 * program may change its working directory before it uses CUDA.
 */
char *gmt_recorder_options_absolute(const char *before,
	const struct gmt_recorder_option_list *passed);

/*
 * Parses `options` as the recorder will, and prints an error for each option that the recorder
 * would refuse. The errors begin with `verb`. Returns false if the recorder would refuse an option:
 * then the verb must not start the program, because the recording would not be the wanted one.
 */
bool gmt_recorder_accepts(const char *verb, const char *options);

/*
 * Copies the value of `output` that the recorder uses with these options. Tokens such as %p stay.
 * Cuts the value to `output_bytes`.
 */
void gmt_recorder_output(const char *options, char *ret_output, size_t output_bytes);

/*
 * Returns a pattern for glob(3) that matches the names of all recordings that the recorder writes
 * with these options. The result comes from malloc; NULL: out of memory.
 */
char *gmt_recorder_output_glob(const char *options);

#endif
