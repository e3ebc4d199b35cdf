/* SPDX-License-Identifier: MIT */
#ifndef GMT_OPTIONS_OPTION_VALUE_H
#define GMT_OPTIONS_OPTION_VALUE_H

/*
 * Parses the values of the recorder's options (recorder_options.def). The recorder and the command
 * line program share this code. No state, no allocation; any thread.
 */

#include <stdbool.h>
#include <stdint.h>

enum gmt_window_unit { GMT_WINDOW_EVENTS, GMT_WINDOW_SECONDS, GMT_WINDOW_STEPS };

/* How much of the newest detail a recording keeps. */
struct gmt_window {
	enum gmt_window_unit unit;
	uint64_t count;
};

/*
 * Returns whether `text` is one of `values`. `values` is "TEXT", or alternatives separated by '|'.
 * An alternative is a word, or a range of numbers "1..512", "1s..60s" or sizes "1MiB..1TiB". "SIZE"
 * is any size, "RANKS" a list of ranks (rank_list.h).
 */
bool gmt_option_value_is_allowed(const char *values, const char *text);

/* Parses a window: "100000", "30s" or "10steps". Returns false for any other text. */
bool gmt_option_value_window(const char *text, struct gmt_window *ret_window);

/* Parses a size (base/text.h), or "none", which is UINT64_MAX. Returns false for any other text. */
bool gmt_option_value_size(const char *text, uint64_t *ret_bytes);

enum { GMT_OPTION_HINT_BYTES = 64 };

/*
 * Writes what the user probably meant by `text`, which is not an allowed value. The hint can follow
 * a message: "did you mean 12?", "the largest is 512". `example` is an allowed value, such as the
 * default. A number without a unit gets the unit of `example`. Returns false, and writes "", if no
 * allowed value is similar.
 */
bool gmt_option_value_hint(const char *values, const char *example, const char *text,
	char ret_hint[GMT_OPTION_HINT_BYTES]);

#endif
