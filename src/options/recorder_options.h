/* SPDX-License-Identifier: MIT */
#ifndef GMT_OPTIONS_RECORDER_OPTIONS_H
#define GMT_OPTIONS_RECORDER_OPTIONS_H

/*
 * The text of the recorder's options: key=value:key=value, each key a row of recorder_options.def. A value that contains a
 * colon stands between single or double quotes. Where a key is given several times, the last value counts.
 *
 * The recorder, `run`, `env` and `doctor` read the text by this code, so they complain about the same things. No state, no
 * allocation, no stdio but snprintf: safe in any thread of the host.
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
	GMT_RECORDER_ITEM_BYTES = GMT_RECORDER_OUTPUT_BYTES + 32, /* key=value without its quotes */
	GMT_RECORDER_COMPLAINT_BYTES = 224, /* fits into a note of the recording, with the variable's name in front */
};

struct gmt_recorder_option_row {
	const char *key;
	const char *fallback;
	const char *values; /* see gmt_option_value_is_allowed */
	const char *meaning;
};

/* The row of one option. */
const struct gmt_recorder_option_row *gmt_recorder_option(enum gmt_recorder_option option);

/* The values in force, as text. */
struct gmt_recorder_settings {
	char output[GMT_RECORDER_OUTPUT_BYTES];
	char values[GMT_RECORDER_OPTION_COUNT][GMT_RECORDER_VALUE_BYTES]; /* `output` stands above */
	bool is_given[GMT_RECORDER_OPTION_COUNT];   /* with a value that is in force */
	bool is_refused[GMT_RECORDER_OPTION_COUNT]; /* with a value that was refused */
};

/* The value of one option in `settings`. */
const char *gmt_recorder_setting(const struct gmt_recorder_settings *settings, enum gmt_recorder_option option);

/* One thing that is wrong with a text of options. Its texts end without a newline and hold only until `complain` returns. */
struct gmt_option_complaint {
	bool is_refused;       /* another value is in force; else the value is in force, and may not be what the user meant */
	const char *line;      /* what was found, and what was probably meant */
	const char *in_force;  /* what the recorder does instead: "depth=128 is used"; "" where the line says it */
};

/*
 * Reads `text` (NULL: no options) over the defaults, and calls `complain` for each thing that is wrong. An option that is
 * refused keeps the value that it had before.
 */
void gmt_recorder_options_read(const char *text, struct gmt_recorder_settings *ret_settings,
	void (*complain)(void *context, const struct gmt_option_complaint *complaint), void *context);

enum gmt_recorder_item { GMT_RECORDER_ITEM_WHOLE, GMT_RECORDER_ITEM_OPEN_QUOTE, GMT_RECORDER_ITEM_TOO_LONG };

/*
 * Copies the first item of `text`, key=value without quotes, to ret_item, as far as there is room. Returns the address
 * behind the item and its colon; *ret_state may be NULL.
 */
const char *gmt_recorder_options_next(const char *text, char *ret_item, size_t item_bytes, enum gmt_recorder_item *ret_state);

/*
 * Whether a file can have the name that `output` makes, as far as its text tells. If not, writes to ret_why what is wrong with
 * it, as words behind the name: "has the unknown token %z".
 */
bool gmt_recorder_output_is_possible(const char *output, char ret_why[GMT_RECORDER_COMPLAINT_BYTES]);

#endif
