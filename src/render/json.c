/* SPDX-License-Identifier: MIT */
#include "render/json.h"

#include <inttypes.h>
#include <string.h>

static void new_line(struct gmt_json *json)
{
	if (!json->pretty || json->depth > json->inline_depth)
		return;
	fputc('\n', json->file);
	for (unsigned i = 0; i < json->depth; i++)
		fputs("  ", json->file);
}

/* What stands before every value and every key. */
static void before_item(struct gmt_json *json)
{
	if (json->after_key) {
		json->after_key = false;
		return;
	}
	if (json->needs_comma)
		fputc(',', json->file);
	if (json->depth)
		new_line(json);
}

static void begin(struct gmt_json *json, char bracket)
{
	before_item(json);
	fputc(bracket, json->file);
	json->depth++;
	json->needs_comma = false;
}

static void end(struct gmt_json *json, char bracket)
{
	bool is_empty = !json->needs_comma;
	bool was_inline = json->depth > json->inline_depth;

	json->depth--;
	if (!is_empty && !was_inline)
		new_line(json);
	fputc(bracket, json->file);
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

/* How many bytes at `at` are one character of valid UTF-8; 0: none. */
static size_t utf8_length(const unsigned char *at, size_t left)
{
	size_t length = *at < 0x80 ? 1 : *at >= 0xc2 && *at < 0xe0 ? 2 : (*at & 0xf0) == 0xe0 ? 3 :
		*at >= 0xf0 && *at < 0xf5 ? 4 : 0;

	if (!length || length > left)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong forms, surrogates, beyond the last character. */
	if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] >= 0xa0) ||
		(*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] >= 0x90))
		return 0;
	return length;
}

static void put_ascii(FILE *file, unsigned char character)
{
	static const char short_names[] = "b\bf\fn\nr\rt\t\"\"\\\\";

	for (const char *name = short_names; *name; name += 2) {
		if ((unsigned char)name[1] == character) {
			fputc('\\', file);
			fputc(name[0], file);
			return;
		}
	}
	if (character < 0x20 || character == 0x7f)
		fprintf(file, "\\u%04x", character);
	else
		fputc(character, file);
}

static void put_string(FILE *file, const char *text, size_t length)
{
	const unsigned char *at = (const unsigned char *)text;

	fputc('"', file);
	while (length) {
		size_t taken = utf8_length(at, length);

		if (taken == 1)
			put_ascii(file, *at);
		else if (taken)
			fwrite(at, 1, taken, file);
		else
			fputs("\\ufffd", file);
		taken = taken ? taken : 1;
		at += taken;
		length -= taken;
	}
	fputc('"', file);
}

void gmt_json_key(struct gmt_json *json, const char *key)
{
	before_item(json);
	put_string(json->file, key, strlen(key));
	fputc(':', json->file);
	json->after_key = true;
	json->needs_comma = false;
}

void gmt_json_bytes(struct gmt_json *json, const char *text, size_t length)
{
	before_item(json);
	put_string(json->file, text, length);
	json->needs_comma = true;
}

static void word(struct gmt_json *json, const char *text)
{
	before_item(json);
	fputs(text, json->file);
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
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, value);
	word(json, digits);
}

void gmt_json_i64(struct gmt_json *json, int64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, value);
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
