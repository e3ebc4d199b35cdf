/* SPDX-License-Identifier: MIT */
#ifndef GMT_OPTIONS_OPTION_VALUE_H
#define GMT_OPTIONS_OPTION_VALUE_H

/*
 * The values of the recorder's options (recorder_options.def), as recorder and command line both read
 * them. No state, no memory; any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gmt_window_unit { GMT_WINDOW_EVENTS, GMT_WINDOW_SECONDS, GMT_WINDOW_STEPS };

/* How much of the newest detail a recording keeps. */
struct gmt_window {
	enum gmt_window_unit unit;
	uint64_t count;
};

/*
 * Whether `text` is one of `values`: "TEXT", or alternatives with '|' between them, each a word, a range
 * of numbers "1..512", of numbers with a unit behind them "1s..60s", or of sizes "1MiB..1TiB", or "SIZE" for
 * any size.
 */
bool gmt_option_value_is_allowed(const char *values, const char *text);

/* "100000", "30s", "10steps"; false for all else. */
bool gmt_option_value_window(const char *text, struct gmt_window *ret_window);

/* A size (base/text.h), or "none", which is UINT64_MAX; false for all else. */
bool gmt_option_value_size(const char *text, uint64_t *ret_bytes);

enum { GMT_OPTION_HINT_BYTES = 64 };

/*
 * Writes what the user probably meant by `text`, which is not allowed, as words that can follow a message: "did you mean 12?",
 * "the largest is 512". `example` is an allowed value, such as the default: a number without a unit gets the unit of
 * `example`. Returns false, and writes "", where no allowed value is near.
 */
bool gmt_option_value_hint(const char *values, const char *example, const char *text, char ret_hint[GMT_OPTION_HINT_BYTES]);

#endif
