/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_JSON_H
#define GMT_RENDER_JSON_H

/*
 * Writes JSON as it goes, so that a report of any size needs no memory. Puts the commas and, when
 * pretty, the line ends; the caller keeps begin and end in pairs. Text need not be valid UTF-8:
 * bytes that are not become U+FFFD. Errors of the file stay in it (ferror).
 *
 * What is written spends the budget for output (base/budget.h). Once that is spent, arrays end where they are, and long
 * strings are cut: what was written is still JSON, and has every key.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct gmt_json {
	FILE *file;
	bool pretty;       /* one value per line down to `inline_depth`; below, and else, all on one */
	unsigned inline_depth;
	unsigned depth;
	bool needs_comma;
	bool after_key;
	uint64_t arrays;   /* a bit of each depth that is inside an array */
	unsigned left_out; /* how many values are open of which nothing is written: the budget is spent */
};

void gmt_json_begin_object(struct gmt_json *json);
void gmt_json_end_object(struct gmt_json *json);
void gmt_json_begin_array(struct gmt_json *json);
void gmt_json_end_array(struct gmt_json *json);

/* Whether arrays take no more items, so that a caller can stop. */
bool gmt_json_is_full(const struct gmt_json *json);

/* The next value belongs to this key. */
void gmt_json_key(struct gmt_json *json, const char *key);

void gmt_json_text(struct gmt_json *json, const char *text); /* NULL: null */
void gmt_json_bytes(struct gmt_json *json, const char *text, size_t length);
void gmt_json_u64(struct gmt_json *json, uint64_t value);
void gmt_json_i64(struct gmt_json *json, int64_t value);
void gmt_json_double(struct gmt_json *json, double value);
void gmt_json_bool(struct gmt_json *json, bool value);
void gmt_json_null(struct gmt_json *json);

/* key and value in one. */
void gmt_json_key_text(struct gmt_json *json, const char *key, const char *text);
void gmt_json_key_u64(struct gmt_json *json, const char *key, uint64_t value);
void gmt_json_key_known(struct gmt_json *json, const char *key, bool is_known, uint64_t value); /* null where it is not */
void gmt_json_key_double(struct gmt_json *json, const char *key, double value); /* likewise where it is below 0 */
void gmt_json_key_texts(struct gmt_json *json, const char *key, const char *const *texts, size_t count);

#endif
