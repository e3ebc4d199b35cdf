/* SPDX-License-Identifier: MIT */
#include "reader/stacks/frame_kinds.h"

#include <stddef.h>
#include <string.h>

enum frame_kind { PYTHON, NATIVE };

static const struct row {
	uint8_t bit;
	uint8_t kind;
	bool except;
	const char *path_pattern, *function_pattern;
} frame_kinds[] = {
#define GMT_FRAME_KIND_NAME(NAME, meaning)
#define GMT_FRAME_KIND(NAME, kind, path_pattern, function_pattern) \
	{ GMT_FRAME_KIND_##NAME, kind, false, path_pattern, function_pattern },
#define GMT_FRAME_KIND_EXCEPT(NAME, kind, path_pattern, function_pattern) \
	{ GMT_FRAME_KIND_##NAME, kind, true, path_pattern, function_pattern },
#include "reader/stacks/frame_kinds.def"
#undef GMT_FRAME_KIND_NAME
#undef GMT_FRAME_KIND
#undef GMT_FRAME_KIND_EXCEPT
};

static bool ends_with(const char *text, size_t length, const char *end, size_t end_length)
{
	return length >= end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

static bool matches_path(const char *path, size_t length, const char *pattern)
{
	if (!*pattern)
		return true;
	if (strncmp(pattern, "...", 3) == 0)
		return strstr(path, pattern + 3);
	return ends_with(path, length, pattern, strlen(pattern));
}

/* Matches `function_pattern` without a star: against the whole name, or against its last part. */
static bool is_name(const char *function, const char *function_pattern)
{
	size_t length = strlen(function), pattern_length = strlen(function_pattern);

	if (!ends_with(function, length, function_pattern, pattern_length))
		return false;
	return length == pattern_length || function[length - pattern_length - 1] == '.' ||
		function[length - pattern_length - 1] == ':';
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

static bool matches_function(const char *function, const char *function_pattern)
{
	size_t length = strlen(function_pattern);

	if (!length)
		return true;
	if (function_pattern[0] == '*')
		return contains_parts(function, function_pattern + 1);
	if (function_pattern[length - 1] == '*')
		return strncmp(function, function_pattern, length - 1) == 0;
	return is_name(function, function_pattern);
}

uint32_t gmt_frame_kinds(bool is_python, const char *path, const char *function)
{
	size_t length = strlen(path);
	uint32_t bits = 0, excepted = 0;

	for (size_t i = 0; i < sizeof(frame_kinds) / sizeof(*frame_kinds); i++) {
		const struct row *row = &frame_kinds[i];
		uint32_t *set = row->except ? &excepted : &bits;

		if ((row->kind == PYTHON) == is_python && !(*set >> row->bit & 1) &&
			matches_path(path, length, row->path_pattern) &&
			matches_function(function, row->function_pattern))
			*set |= UINT32_C(1) << row->bit;
	}
	return bits & ~excepted;
}
