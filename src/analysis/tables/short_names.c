/* SPDX-License-Identifier: MIT */
#include "analysis/tables/short_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char anonymous[] = "(anonymous namespace)";

static bool at_anonymous(const char *at)
{
	return strncmp(at, anonymous, sizeof(anonymous) - 1) == 0;
}

/*
 * Returns the position after the bracket that closes the bracket at `at`. Returns the end of the
 * text if it is not closed.
 */
static const char *skip_brackets(const char *at, char open, char close)
{
	int depth = 0;

	for (; *at; at++) {
		depth += (*at == open) - (*at == close);
		if (!depth)
			return at + 1;
	}
	return at;
}

static bool at_operator(const char *at)
{
	return strncmp(at, "operator", 8) == 0 && strchr(" ()<>=!+-*/%^&|~,[", at[8]);
}

/*
 * Copies "operator" and its symbol or type. Brackets and spaces in them are not template arguments
 * or a return type.
 */
static const char *copy_operator(const char *at, char *name, size_t *length, size_t size)
{
	const char *end = at + strlen("operator");

	end += strncmp(end, "()", 2) == 0 ? 2 : 0;
	end += strcspn(end, "(");
	for (; at < end && *length + 1 < size; at++)
		name[(*length)++] = *at;
	return end;
}

void gmt_short_name_of_function(const char *function, char *ret_name, size_t size)
{
	size_t length = 0;

	for (const char *at = function; *at && length + 1 < size;) {
		bool is_start = !length || ret_name[length - 1] == ':';

		if (at_anonymous(at)) {
			at += sizeof(anonymous) - 1;
			at += strncmp(at, "::", 2) == 0 ? 2 : 0;
		} else if (is_start && at_operator(at)) {
			at = copy_operator(at, ret_name, &length, size);
		} else if (*at == '<' && length) {
			at = skip_brackets(at, '<', '>');
		} else if (*at == '(') {
			break;
		} else if (*at == ' ') {
			/* The text before the space was the return type. */
			length = 0;
			at++;
		} else {
			ret_name[length++] = *at++;
		}
	}
	ret_name[length] = 0;
	if (!length)
		snprintf(ret_name, size, "%s", function);
}

static const char *after_last_separator(const char *path, const char *part)
{
	const char *at = strstr(path, part);

	return at ? at + strlen(part) : NULL;
}

const char *gmt_short_name_of_file(const struct gmt_recording *recording, const char *path)
{
	size_t directory = strlen(recording->directory);
	const char *package = after_last_separator(path, "/site-packages/");
	unsigned slashes = 0;

	if (!package)
		package = after_last_separator(path, "/dist-packages/");
	if (package)
		return package;
	if (directory > 1 && strncmp(path, recording->directory, directory) == 0 &&
		path[directory] == '/')
		return path + directory + 1;
	for (const char *at = path + strlen(path); at > path; at--)
		if (*at == '/' && ++slashes == 3)
			return at + 1;
	return path;
}
