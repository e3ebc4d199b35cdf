/* SPDX-License-Identifier: MIT */
#include "render/page/html_escape.h"

#include "base/safe_text.h"
#include "base/text.h"

static const char *entity_of(unsigned char character)
{
	switch (character) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void gmt_html_escape(FILE *file, const char *text, size_t length)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + length;

	while (at < end) {
		size_t skip = 1, taken = gmt_safe_character_length(at, (size_t)(end - at), &skip);
		const char *entity = entity_of(*at);

		if (entity) {
			fputs(entity, file);
			at++;
		} else if (*at == '\n' || taken) {
			taken = taken ? taken : 1;
			fwrite(at, 1, taken, file);
			at += taken;
		} else {
			fputs("\xef\xbf\xbd", file);
			at += skip;
		}
	}
}
