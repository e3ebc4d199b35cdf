/* SPDX-License-Identifier: MIT */
#include "render/json.h"

#include <inttypes.h>
#include <string.h>

#include "base/budget.h"
#include "base/safe_text.h"
#include "base/text.h"

static void new_line(struct gmt_json *json)
{
	if (!json->pretty || json->depth > json->inline_depth)
		return;
	gmt_budget_spend_output(1 + 2 * json->depth);
	putc_unlocked('\n', json->file);
	for (unsigned i = 0; i < json->depth; i++)
		fputs_unlocked("  ", json->file);
}

/* Writes what precedes every value and every key. */
static void before_item(struct gmt_json *json)
{
	if (json->after_key) {
		json->after_key = false;
		return;
	}
	if (json->needs_comma)
		putc_unlocked(',', json->file);
	if (json->depth)
		new_line(json);
}

bool gmt_json_is_full(const struct gmt_json *json)
{
	return json->left_out || (gmt_budget_has_cut_output() && json->arrays >> json->depth & 1);
}

/*
 * Returns whether the next value is left out, because it is an item of an array and the budget is
 * spent.
 */
static bool is_left_out(const struct gmt_json *json)
{
	return json->left_out ||
		(gmt_budget_has_cut_output() && !json->after_key && json->arrays >> json->depth & 1);
}

static void begin(struct gmt_json *json, char bracket)
{
	if (is_left_out(json)) {
		json->left_out++;
		return;
	}
	before_item(json);
	gmt_budget_spend_output(3);
	putc_unlocked(bracket, json->file);
	json->depth++;
	json->needs_comma = false;
	json->arrays =
		(json->arrays & ~(UINT64_C(1) << json->depth)) | (uint64_t)(bracket == '[') << json->depth;
}

static void end(struct gmt_json *json, char bracket)
{
	if (json->left_out) {
		json->left_out--;
		return;
	}

	bool is_empty = !json->needs_comma;
	bool was_inline = json->depth > json->inline_depth;

	json->depth--;
	if (!is_empty && !was_inline)
		new_line(json);
	putc_unlocked(bracket, json->file);
	json->needs_comma = true;
}

void gmt_json_begin_object(struct gmt_json *json)
{
	begin(json, '{');
}

void gmt_json_end_object(struct gmt_json *json)
{
	end(json, '}');
}

void gmt_json_begin_array(struct gmt_json *json)
{
	begin(json, '[');
}

void gmt_json_end_array(struct gmt_json *json)
{
	end(json, ']');
}

/* Writes a character as an escape sequence. */
static void put_escaped(FILE *file, uint32_t character)
{
	static const char short_names[] = "b\bf\fn\nr\rt\t\"\"\\\\";

	for (const char *name = short_names; *name; name += 2) {
		if ((unsigned char)name[1] == character) {
			putc_unlocked('\\', file);
			putc_unlocked(name[0], file);
			return;
		}
	}
	if (character > 0xffff) {
		fprintf(file, "\\u%04x", 0xd7c0 + (character >> 10));
		character = 0xdc00 | (character & 0x3ff);
	}
	fprintf(file, "\\u%04x", character);
}

static bool is_plain(unsigned char character, bool is_in_html)
{
	return character >= 0x20 && character < 0x7f && character != '"' && character != '\\' &&
		!(is_in_html && (character == '<' || character == '>' || character == '&'));
}

/*
 * Returns whether the character could begin a command to a terminal or to the log of a CI job. Such
 * a character is escaped: programs that read JSON see no difference, and people can view the file
 * safely.
 */
static bool is_command(const unsigned char *start, const unsigned char *at)
{
	return *at == '[' && gmt_safe_makes_runner_command(start, at);
}

/* A report has millions of strings, almost all plain. Plain stretches are written in one call. */
static void put_string(const struct gmt_json *json, const char *text, size_t length)
{
	FILE *file = json->file;
	const unsigned char *start = (const unsigned char *)text, *at = start, *end;

	length = gmt_budget_spend_text(length);
	end = at + length;

	putc_unlocked('"', file);
	while (at < end) {
		size_t plain = 0;

		while (at + plain < end && is_plain(at[plain], json->is_in_html) &&
			!is_command(start, at + plain))
			plain++;
		fwrite_unlocked(at, 1, plain, file);
		at += plain;
		if (at == end)
			break;

		size_t skip, taken = gmt_text_utf8_length(at, (size_t)(end - at));
		if (taken == 1 || (taken && !gmt_safe_character_length(at, (size_t)(end - at), &skip)))
			put_escaped(file, gmt_text_utf8_code_point(at, taken));
		else if (taken)
			fwrite_unlocked(at, 1, taken, file);
		else
			fputs_unlocked("\\ufffd", file);
		at += taken ? taken : 1;
	}
	putc_unlocked('"', file);
}

void gmt_json_key(struct gmt_json *json, const char *key)
{
	if (json->left_out)
		return;
	before_item(json);
	put_string(json, key, strlen(key));
	putc_unlocked(':', json->file);
	json->after_key = true;
	json->needs_comma = false;
}

void gmt_json_bytes(struct gmt_json *json, const char *text, size_t length)
{
	if (is_left_out(json))
		return;
	before_item(json);
	put_string(json, length ? text : "", length);
	json->needs_comma = true;
}

static void word(struct gmt_json *json, const char *text)
{
	if (is_left_out(json))
		return;
	before_item(json);
	gmt_budget_spend_output(8);
	fputs_unlocked(text, json->file);
	json->needs_comma = true;
}

void gmt_json_text(struct gmt_json *json, const char *text)
{
	if (text)
		gmt_json_bytes(json, text, strlen(text));
	else
		gmt_json_null(json);
}

void gmt_json_u64(struct gmt_json *json, uint64_t value)
{
	char digits[24], *at = digits + sizeof(digits);

	*--at = 0;
	do
		*--at = (char)('0' + value % 10);
	while (value /= 10);
	word(json, at);
}

void gmt_json_i64(struct gmt_json *json, int64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, value);
	word(json, digits);
}

void gmt_json_double(struct gmt_json *json, double value)
{
	if (is_left_out(json))
		return;
	before_item(json);
	gmt_budget_spend_output(8);
	/* JSON has no infinity and no NaN. */
	if (value - value == 0)
		fprintf(json->file, "%.10g", value);
	else
		fputs("null", json->file);
	json->needs_comma = true;
}

void gmt_json_thousandths(struct gmt_json *json, uint64_t value)
{
	char digits[32];

	snprintf(digits, sizeof(digits), "%" PRIu64 ".%03u", value / 1000, (unsigned)(value % 1000));
	word(json, digits);
}

void gmt_json_bool(struct gmt_json *json, bool value)
{
	word(json, value ? "true" : "false");
}

void gmt_json_null(struct gmt_json *json)
{
	word(json, "null");
}

void gmt_json_key_text(struct gmt_json *json, const char *key, const char *text)
{
	gmt_json_key(json, key);
	gmt_json_text(json, text);
}

void gmt_json_key_u64(struct gmt_json *json, const char *key, uint64_t value)
{
	gmt_json_key(json, key);
	gmt_json_u64(json, value);
}

void gmt_json_key_i64(struct gmt_json *json, const char *key, int64_t value)
{
	gmt_json_key(json, key);
	gmt_json_i64(json, value);
}

void gmt_json_key_bool(struct gmt_json *json, const char *key, bool value)
{
	gmt_json_key(json, key);
	gmt_json_bool(json, value);
}

void gmt_json_key_known(struct gmt_json *json, const char *key, bool is_known, uint64_t value)
{
	gmt_json_key(json, key);
	if (is_known)
		gmt_json_u64(json, value);
	else
		gmt_json_null(json);
}

void gmt_json_key_double(struct gmt_json *json, const char *key, double value)
{
	gmt_json_key(json, key);
	if (value < 0)
		gmt_json_null(json);
	else
		gmt_json_double(json, value);
}

void gmt_json_key_array(struct gmt_json *json, const char *key)
{
	gmt_json_key(json, key);
	gmt_json_begin_array(json);
}

void gmt_json_key_object(struct gmt_json *json, const char *key)
{
	gmt_json_key(json, key);
	gmt_json_begin_object(json);
}

void gmt_json_key_texts(struct gmt_json *json, const char *key, const char *const *texts,
	size_t count)
{
	gmt_json_key_array(json, key);
	for (size_t i = 0; i < count; i++)
		gmt_json_text(json, texts[i]);
	gmt_json_end_array(json);
}
