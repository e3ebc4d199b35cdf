/* SPDX-License-Identifier: MIT */
#include "render/lines/text_columns.h"

#include <string.h>

#include "render/lines/character_width.h"

/* Returns the bytes of a style at `at`; 0: no style. */
static size_t style_bytes(const char *at, const char *end)
{
	const char *m = *at == '\033' ? memchr(at, 'm', (size_t)(end - at)) : NULL;

	return m ? (size_t)(m + 1 - at) : 0;
}

const char *gmt_columns_skip_styles(const char *at, const char *end)
{
	for (size_t style; at < end && (style = style_bytes(at, end));)
		at += style;
	return at;
}

/*
 * Returns where the character after the styles at `at` ends, and the columns that it takes. At the
 * end of the text, returns `end` and 0.
 */
static const char *next_character(const char *at, const char *end, size_t *ret_columns)
{
	at = gmt_columns_skip_styles(at, end);
	*ret_columns = 0;
	if (at == end)
		return end;

	unsigned char first = (unsigned char)*at++;
	uint32_t character = first < 0xc0 ? first
									  : first &
			(first < 0xe0          ? 0x1f
					: first < 0xf0 ? 0xf
								   : 7);
	for (; at < end && ((unsigned char)*at & 0xc0) == 0x80; at++)
		character = character << 6 | ((unsigned char)*at & 0x3f);
	*ret_columns = gmt_character_width(character);
	return at;
}

size_t gmt_columns_count(const char *at, const char *end)
{
	size_t columns = 0, width;

	while (at < end) {
		at = next_character(at, end, &width);
		columns += width;
	}
	return columns;
}

/* Returns where the combining marks at `at` end. */
static const char *skip_marks(const char *at, const char *end)
{
	size_t width;

	for (const char *next; gmt_columns_skip_styles(at, end) < end; at = next) {
		next = next_character(at, end, &width);
		if (width)
			break;
	}
	return at;
}

const char *gmt_columns_fit(const char *at, const char *end, size_t columns)
{
	size_t width;

	for (const char *next; at < end; at = next) {
		next = next_character(at, end, &width);
		if (width > columns)
			break;
		columns -= width;
	}
	return at;
}

const char *gmt_columns_skip(const char *at, const char *end, size_t columns)
{
	size_t width;

	for (size_t taken = 0; at < end && taken < columns; taken += width)
		at = next_character(at, end, &width);
	return skip_marks(at, end);
}

size_t gmt_columns_cut(char *text, size_t bytes, size_t from, size_t to, const char *ellipsis)
{
	const char *end = text + to;
	size_t styles = 0, length = strlen(ellipsis);

	/* The styles move together, then the text behind them, so that nothing is overwritten. */
	for (const char *at = text + from; at < end;) {
		size_t style = style_bytes(at, end);

		memmove(text + from + styles, at, style);
		styles += style;
		at += style ? style : 1;
	}
	memmove(text + from + length + styles, end, bytes - to);
	memmove(text + from + length, text + from, styles);
	memcpy(text + from, ellipsis, length);
	return bytes - (to - from) + length + styles;
}

/* Returns the slash before the last part of a path, or NULL. */
static const char *last_slash(const char *at, const char *end)
{
	return at < end ? memrchr(at, '/', (size_t)(end - at)) : NULL;
}

size_t gmt_columns_path_spare(const char *at, const char *end, const char *ellipsis)
{
	const char *slash = last_slash(at, end);
	size_t front = slash ? gmt_columns_count(at, slash) : 0;
	size_t least = gmt_columns_count(ellipsis, ellipsis + strlen(ellipsis));

	return front > least ? front - least : 0;
}

size_t gmt_columns_cut_path(char *text, size_t bytes, size_t from, size_t to, size_t columns,
	const char *ellipsis)
{
	const char *path = text + from;
	size_t ellipsis_columns = gmt_columns_count(ellipsis, ellipsis + strlen(ellipsis));
	const char *rest = gmt_columns_skip(path, text + to, columns + ellipsis_columns);

	return gmt_columns_cut(text, bytes, from, (size_t)(rest - text), ellipsis);
}
