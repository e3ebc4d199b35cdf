/* SPDX-License-Identifier: MIT */
#include "reader/stacks/frame_kinds.h"

#include <stddef.h>
#include <string.h>

enum frame_kind { PYTHON, NATIVE };

static const struct landmark {
	uint8_t bit;
	uint8_t kind;
	bool except;
	const char *where, *what;
} frame_kinds[] = {
#define GMT_FRAME_KIND_NAME(NAME, meaning)
#define GMT_FRAME_KIND(NAME, kind, where, what) { GMT_FRAME_KIND_##NAME, kind, false, where, what },
#define GMT_FRAME_KIND_EXCEPT(NAME, kind, where, what) \
	{ GMT_FRAME_KIND_##NAME, kind, true, where, what },
#include "reader/stacks/frame_kinds.def"
#undef GMT_FRAME_KIND_NAME
#undef GMT_FRAME_KIND
#undef GMT_FRAME_KIND_EXCEPT
};

static bool ends_with(const char *text, size_t length, const char *end, size_t end_length)
{
	return length >= end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

static bool fits_where(const char *where, size_t length, const char *pattern)
{
	if (!*pattern)
		return true;
	if (strncmp(pattern, "...", 3) == 0)
		return strstr(where, pattern + 3);
	return ends_with(where, length, pattern, strlen(pattern));
}

/* Matches `what` without a star: against the whole name, or against its last part. */
static bool is_name(const char *function, const char *what)
{
	size_t length = strlen(function), what_length = strlen(what);

	if (!ends_with(function, length, what, what_length))
		return false;
	return length == what_length || function[length - what_length - 1] == '.' ||
		function[length - what_length - 1] == ':';
}

/* Matches "*a*b*": the parts in this order. `pattern` begins after the first star. */
static bool contains_parts(const char *function, const char *pattern)
{
	char part[64];

	while (*pattern) {
		size_t length = strcspn(pattern, "*");

		if (length >= sizeof(part))
			return false;
		memcpy(part, pattern, length);
		part[length] = 0;
		function = strstr(function, part);
		if (!function)
			return false;
		function += length;
		pattern += length + (pattern[length] == '*');
	}
	return true;
}

static bool fits_what(const char *function, const char *what)
{
	size_t length = strlen(what);

	if (!length)
		return true;
	if (what[0] == '*')
		return contains_parts(function, what + 1);
	if (what[length - 1] == '*')
		return strncmp(function, what, length - 1) == 0;
	return is_name(function, what);
}

uint32_t gmt_frame_kinds(bool is_python, const char *where, const char *function)
{
	size_t length = strlen(where);
	uint32_t bits = 0, excepted = 0;

	for (size_t i = 0; i < sizeof(frame_kinds) / sizeof(*frame_kinds); i++) {
		const struct landmark *landmark = &frame_kinds[i];
		uint32_t *set = landmark->except ? &excepted : &bits;

		if ((landmark->kind == PYTHON) == is_python && !(*set >> landmark->bit & 1) &&
			fits_where(where, length, landmark->where) && fits_what(function, landmark->what))
			*set |= UINT32_C(1) << landmark->bit;
	}
	return bits & ~excepted;
}
