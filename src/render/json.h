/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_JSON_H
#define GMT_RENDER_JSON_H

/*
 * Writes JSON as a stream, so that a report of any size needs no memory. It writes the commas and,
 * if `pretty`, the line breaks. The caller must pair begin and end. Text need not be valid UTF-8:
 * invalid bytes become U+FFFD. Errors of the file stay in it (ferror).
 *
 * The written bytes spend the output budget (base/budget.h). When it is spent, arrays end early and
 * long strings are cut. The result is still valid JSON with every key.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct gmt_json {
	FILE *file;
	bool pretty;       /* one value per line down to `inline_depth`; deeper values on one line */
	unsigned inline_depth;
	unsigned depth;
	bool needs_comma;
	bool after_key;
	uint64_t arrays;   /* bit per depth: inside an array */
	/* escapes `<`, `>` and `&`, so that no text can end or begin an element of HTML around it */
	bool is_in_html;
	unsigned left_out; /* number of open values that are not written, because the budget is spent */
};

void gmt_json_begin_object(struct gmt_json *json);
void gmt_json_end_object(struct gmt_json *json);
void gmt_json_begin_array(struct gmt_json *json);
void gmt_json_end_array(struct gmt_json *json);

/* Returns whether arrays take no more items, so that the caller can stop. */
bool gmt_json_is_full(const struct gmt_json *json);

/* Writes a key for the next value. */
void gmt_json_key(struct gmt_json *json, const char *key);

void gmt_json_text(struct gmt_json *json, const char *text); /* NULL: null */
void gmt_json_bytes(struct gmt_json *json, const char *text, size_t length);
void gmt_json_u64(struct gmt_json *json, uint64_t value);
void gmt_json_i64(struct gmt_json *json, int64_t value);
void gmt_json_double(struct gmt_json *json, double value);
/* Writes `value` / 1000 with three decimals, exactly. */
void gmt_json_thousandths(struct gmt_json *json, uint64_t value);
void gmt_json_bool(struct gmt_json *json, bool value);
void gmt_json_null(struct gmt_json *json);

void gmt_json_key_text(struct gmt_json *json, const char *key, const char *text);
void gmt_json_key_u64(struct gmt_json *json, const char *key, uint64_t value);
void gmt_json_key_i64(struct gmt_json *json, const char *key, int64_t value);
void gmt_json_key_bool(struct gmt_json *json, const char *key, bool value);
/* null if it is not known */
void gmt_json_key_known(struct gmt_json *json, const char *key, bool is_known, uint64_t value);
/* null if it is below 0 */
void gmt_json_key_double(struct gmt_json *json, const char *key, double value);
void gmt_json_key_texts(struct gmt_json *json, const char *key, const char *const *texts,
	size_t count);

/* Write a key and begin its value. */
void gmt_json_key_array(struct gmt_json *json, const char *key);
void gmt_json_key_object(struct gmt_json *json, const char *key);

#endif
