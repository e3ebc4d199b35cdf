/* SPDX-License-Identifier: MIT */
#ifndef GMT_OPTIONS_RECORDER_OPTIONS_H
#define GMT_OPTIONS_RECORDER_OPTIONS_H

/*
 * Parses the text of the recorder's options: key=value:key=value, where each key is a row of
 * recorder_options.def. A value that contains a colon must be in single or double quotes. If a key
 * is given several times, the last value counts.
 *
 * The recorder, `run`, `env` and `doctor` share this code, so they report the same errors. No
 * state, no allocation, no stdio except snprintf: safe in any thread of the host process.
 */

#include <stdbool.h>
#include <stddef.h>

enum gmt_recorder_option {
#define GMT_OPTION(name, fallback, values, meaning) GMT_RECORDER_OPTION_##name,
#include "options/recorder_options.def"
#undef GMT_OPTION
	GMT_RECORDER_OPTION_COUNT
};

enum {
	GMT_RECORDER_VALUE_BYTES = 64,
	GMT_RECORDER_OUTPUT_BYTES = 4096,
	GMT_RECORDER_ITEM_BYTES = GMT_RECORDER_OUTPUT_BYTES + 32, /* size of key=value without quotes */
	/* fits into a note of the recording together with the variable's name */
	GMT_RECORDER_COMPLAINT_BYTES = 224,
};

struct gmt_recorder_option_row {
	const char *key;
	const char *fallback;
	const char *values; /* see gmt_option_value_is_allowed */
	const char *meaning;
};

const struct gmt_recorder_option_row *gmt_recorder_option(enum gmt_recorder_option option);

/* The current values, as text. */
struct gmt_recorder_settings {
	char output[GMT_RECORDER_OUTPUT_BYTES];
	/* the entry of `output` is unused, see above */
	char values[GMT_RECORDER_OPTION_COUNT][GMT_RECORDER_VALUE_BYTES];
	bool is_given[GMT_RECORDER_OPTION_COUNT]; /* a value was given and accepted */
	bool is_refused[GMT_RECORDER_OPTION_COUNT]; /* a value was given and refused */
};

const char *gmt_recorder_setting(const struct gmt_recorder_settings *settings,
	enum gmt_recorder_option option);

/*
 * One problem in a text of options. The texts have no newline and are valid only until `complain`
 * returns.
 */
struct gmt_option_complaint {
	/*
	 * true: the recorder uses another value; false: it uses the value, but the user may have meant
	 * something else
	 */
	bool is_refused;
	const char *line; /* the problem, and what the user probably meant */
	/* what the recorder does instead: "depth=128 is used"; "" if the line already states it */
	const char *consequence;
};

/*
 * Sets all options to their defaults, then applies `text` (NULL: no options). Calls `complain` for
 * each problem. A refused option keeps its previous value.
 */
void gmt_recorder_options_read(const char *text, struct gmt_recorder_settings *ret_settings,
	void (*complain)(void *context, const struct gmt_option_complaint *complaint), void *context);

enum gmt_recorder_item {
	GMT_RECORDER_ITEM_WHOLE,
	GMT_RECORDER_ITEM_OPEN_QUOTE,
	GMT_RECORDER_ITEM_TOO_LONG
};

/*
 * Copies the first item of `text`, key=value without quotes, to ret_item, truncated if necessary.
 * Returns the address after the item and its colon. ret_state may be NULL.
 */
const char *gmt_recorder_options_next(const char *text, char *ret_item, size_t item_bytes,
	enum gmt_recorder_item *ret_state);

/*
 * Returns whether a file can have the name that `output` produces, as far as the text shows. If
 * not, writes the problem to ret_why, as words that follow the name: "has the unknown token %z".
 */
bool gmt_recorder_output_is_possible(const char *output,
	char ret_why[GMT_RECORDER_COMPLAINT_BYTES]);

#endif
