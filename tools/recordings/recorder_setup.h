/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_RECORDER_SETUP_H
#define GMT_TOOLS_RECORDINGS_RECORDER_SETUP_H

/*
 * Sets up the recorder for `run` and `env`: the path of the library, and the values of the
 * environment variables.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "tools/options/options.h"

/*
 * Rows for a verb's option table, one for each option of the recorder. The values go to the struct
 * gmt_option_passed at `place`. The row `help` is ignored, because the verb has its own.
 */
#define GMT_RECORDER_ROW(name, values_, place, meaning_) \
	{ __builtin_strcmp(#name, "help") ? #name : "", __builtin_strcmp(#name, "output") ? 0 : 'o', \
		GMT_OPTION_FOR_RECORDER, values_, place, meaning_ },

/*
 * Finds the recorder library that belongs to this program. If it is missing or LD_PRELOAD cannot
 * name its path, prints an error and returns false.
 */
bool gmt_recorder_library(char ret_path[PATH_MAX]);

enum { GMT_RECORDER_WHY_BYTES = PATH_MAX + 128 };

/*
 * Same as gmt_recorder_library, but prints nothing. Returns false if the library is missing or if
 * LD_PRELOAD cannot name its path. Then `ret_why` has the reason and `ret_remedy` the remedy, one
 * line each. The path is "" if the library is missing.
 */
bool gmt_recorder_find(char ret_path[PATH_MAX], char ret_why[GMT_RECORDER_WHY_BYTES],
	char ret_remedy[GMT_RECORDER_WHY_BYTES]);

/*
 * Returns the value of the environment variable LD_PRELOAD or LD_AUDIT, with `library` before it.
 * Leaves out other files of the same name: two recorders in one process would record each call
 * twice. The result comes from malloc; NULL: memory is exhausted.
 */
char *gmt_recorder_put_first(const char *variable, const char *library);

/*
 * Returns GPUMEMTRACE_OPTIONS: `before` (may be NULL or empty) without the keys that `passed` sets
 * again, then `passed`. The result comes from malloc; NULL: memory is exhausted.
 */
char *gmt_recorder_options(const char *before, const struct gmt_option_passed *passed);

/*
 * Same as gmt_recorder_options, but makes a relative `output` in `passed` absolute: a program may
 * change its folder before it uses CUDA.
 */
char *gmt_recorder_options_absolute(const char *before, const struct gmt_option_passed *passed);

/*
 * Parses `options` as the recorder will, and prints an error for each option that the recorder
 * would refuse. The messages begin with `verb`. Returns false if the recorder would refuse an
 * option: no run is better than a different recording.
 */
bool gmt_recorder_accepts(const char *verb, const char *options);

/*
 * Copies the effective value of `output` under these options, with its tokens. Cuts it to
 * `output_bytes`.
 */
void gmt_recorder_output(const char *options, char *ret_output, size_t output_bytes);

/*
 * Returns a pattern for glob(3) that matches the names of all files written under these options.
 * The result comes from malloc; NULL: memory is exhausted.
 */
char *gmt_recorder_output_glob(const char *options);

#endif
