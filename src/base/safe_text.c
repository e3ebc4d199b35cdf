/* SPDX-License-Identifier: MIT */
#include "base/safe_text.h"

#include <stdbool.h>
#include <string.h>

#include "base/budget.h"
#include "base/text.h"

/*
 * The complete list of characters that command a terminal or deceive a reader, from first to last.
 */
static const struct span {
	uint32_t first, last;
} hidden[] = {
	{ 0x0000, 0x001f },   /* C0 */
	{ 0x007f, 0x009f },   /* DEL, C1 */
	{ 0x00ad, 0x00ad },   /* soft hyphen */
	{ 0x034f, 0x034f },   /* grapheme joiner */
	{ 0x061c, 0x061c },   /* Arabic letter mark */
	{ 0x115f, 0x1160 },   /* fillers */
	{ 0x180b, 0x180f },   /* Mongolian selectors */
	{ 0x200b, 0x200f },   /* zero width characters, direction marks */
	{ 0x2028, 0x202e },   /* line and paragraph separators, direction embeddings and overrides */
	{ 0x2060, 0x206f },   /* invisible operators, direction isolates, deprecated characters */
	{ 0x3164, 0x3164 },   /* filler */
	{ 0xfe00, 0xfe0f },   /* variation selectors */
	{ 0xfeff, 0xfeff },   /* byte order mark */
	{ 0xffa0, 0xffa0 },   /* filler */
	{ 0xfff0, 0xfffb },   /* annotations */
	{ 0xfffe, 0xffff },   /* noncharacters */
	{ 0xe0000, 0x10ffff }, /* tags and selectors; private use planes */
};

static bool is_hidden(uint32_t character)
{
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		if (character >= hidden[i].first && character <= hidden[i].last)
			return true;
	return false;
}

size_t gmt_safe_character_length(const unsigned char *at, size_t left, size_t *ret_skip)
{
	size_t length;

	if (*at >= 0x20 && *at < 0x7f)
		return 1;
	length = gmt_text_utf8_length(at, left);
	*ret_skip = length ? length : 1;
	return length && !is_hidden(gmt_text_utf8_code_point(at, length)) ? length : 0;
}

bool gmt_safe_makes_runner_command(const unsigned char *start, const unsigned char *at)
{
	const unsigned char *before = at;

	if (*at == '[')
		return at - start >= 2 && at[-1] == '#' && at[-2] == '#';
	if (*at != ':' || at[1] != ':')
		return false;
	while (before > start && (before[-1] == ' ' || before[-1] == '\t'))
		before--;
	return before == start;
}

/* Nearly all text is ASCII and is written in long pieces. */
void gmt_safe_print(FILE *file, const char *text)
{
	const unsigned char *start = (const unsigned char *)text, *at = start,
						*end = at + gmt_budget_spend_text(strlen(text));

	while (at < end) {
		size_t plain = 0, skip = 1, length;

		while (at + plain < end && !gmt_safe_makes_runner_command(start, at + plain) &&
			(length = gmt_safe_character_length(at + plain, (size_t)(end - at) - plain, &skip)))
			plain += length;
		fwrite(at, 1, plain, file);
		at += plain;
		if (at < end) {
			fputc('?', file);
			at += skip;
		}
	}
}

void gmt_safe_replace(char *text)
{
	size_t left = strlen(text);
	char *to = text;

	for (const char *at = text; left;) {
		size_t skip, length = gmt_safe_character_length((const unsigned char *)at, left, &skip);

		if (length)
			memmove(to, at, length);
		else
			*to = '?';
		to += length ? length : 1;
		at += length ? length : skip;
		left -= length ? length : skip;
	}
	*to = 0;
}
