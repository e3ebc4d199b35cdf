/* SPDX-License-Identifier: MIT */
#include "analysis/compare/site_key_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Returns the rest of the path after the last `part`, or NULL if the path does not contain it. */
static const char *behind_last(const char *path, const char *part)
{
	const char *found = NULL;

	for (const char *at = path; (at = strstr(at, part)); at++)
		found = at + strlen(part);
	return found;
}

static const char *in_packages(const char *path)
{
	const char *site = behind_last(path, "/site-packages/"),
			   *dist = behind_last(path, "/dist-packages/");
	const char *package = site > dist ? site : dist;

	if (!package)
		return NULL;

	/* The name of an egg contains versions, so skip it. */
	const char *slash = strchr(package, '/');
	return slash && slash - package > 4 && strncmp(slash - 4, ".egg", 4) == 0 ? slash + 1 : package;
}

static const char *in_standard_library(const char *path)
{
	const char *version = behind_last(path, "/lib/python3");

	version = version ? version : behind_last(path, "/lib64/python3");

	const char *slash = version ? strchr(version, '/') : NULL;
	return slash ? slash + 1 : NULL;
}

/* Tools generate a different name for such a source in each run. */
static bool name_generated_code(const char *path, char *ret_name, size_t size)
{
	const char *end = strchr(path, '>');

	if (strncmp(path, "<ipython", 8) == 0 || strstr(path, "/ipykernel_"))
		snprintf(ret_name, size, "<ipython>");
	else if (strstr(path, "/torchinductor_"))
		snprintf(ret_name, size, "<torchinductor>");
	else if (*path == '<' && end) /* "<eval_with_key>.3" */
		snprintf(ret_name, size, "%.*s", (int)(end + 1 - path), path);
	else
		return false;
	return true;
}

/* Changes "a/./b/../c" to "a/c". ".." above the root, or at the start, stays. */
static void tidy(char *path)
{
	char *out = path;

	for (const char *at = path; *at;) {
		size_t length = strcspn(at, "/"), step = length + (at[length] == '/');
		bool is_root = !length && out == path;
		bool goes_up = length == 2 && strncmp(at, "..", 2) == 0;

		if (goes_up && out - path > 1 && strncmp(out - 3 < path ? path : out - 3, "../", 3) != 0) {
			for (out--; out > path && out[-1] != '/';)
				out--;
		} else if (is_root || (length && !(length == 1 && *at == '.'))) {
			memmove(out, at, step);
			out += step;
		}
		at += step;
	}
	*out = 0;
}

/*
 * Returns the last two parts of a path. The file name alone is too ambiguous, and more would
 * contain the user's home directory.
 */
static const char *last_two(const char *path)
{
	unsigned slashes = 0;

	for (const char *at = path + strlen(path); at > path; at--)
		if (*at == '/' && ++slashes == 2)
			return at + 1;
	return *path == '/' ? path + 1 : path;
}

void gmt_site_key_file(const char *directory, const char *path, char *ret_name, size_t size)
{
	size_t length = strlen(directory);
	const char *shared = in_packages(path), *standard = shared ? NULL : in_standard_library(path);
	char whole[4096];

	if (!*path)
		snprintf(ret_name, size, "?");
	else if (shared)
		snprintf(ret_name, size, "%s", shared);
	else if (standard)
		snprintf(ret_name, size, "lib/python/%s", standard);
	else if (!name_generated_code(path, ret_name, size)) {
		bool is_relative = *path != '/' && *directory == '/';

		snprintf(whole, sizeof(whole), "%s%s%s", is_relative ? directory : "",
			is_relative ? "/" : "", path);
		tidy(whole);
		if (length > 1 && strncmp(whole, directory, length) == 0 && whole[length] == '/')
			snprintf(ret_name, size, "%s", whole + length + 1);
		else
			snprintf(ret_name, size, "%s", *whole == '/' ? last_two(whole) : whole);
	}
}

static bool ends_with(const char *text, size_t length, const char *end)
{
	size_t end_length = strlen(end);

	return length >= end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

/* Returns the length without digits and dots at the end. */
static size_t cut_numbers(const char *name, size_t length)
{
	while (length && (isdigit((unsigned char)name[length - 1]) || name[length - 1] == '.'))
		length--;
	return length;
}

/*
 * Returns where the version begins that ends these `length` letters: "-2.31", "-9335f6a2.3",
 * "_v12", "3.11".
 */
static size_t cut_version(const char *name, size_t length, bool is_extension)
{
	size_t at = cut_numbers(name, length);

	if (ends_with(name, at, "libpython") ||
		(at == strlen("python") && ends_with(name, at, "python")))
		return at;
	if (at && at < length && name[at - 1] == '-')
		return at - 1;
	/* PyTorch appends a number to an extension when it builds the extension again. */
	if (is_extension && at < length && ends_with(name, at, "_v"))
		return at - 2;
	/*
	 * auditwheel packs a library into a wheel and appends a hash to its name. A version may follow
	 * the hash.
	 */
	const char *dot = memchr(name, '.', length);
	size_t hashed =
		dot && cut_numbers(dot, (size_t)(name + length - dot)) == 0 ? (size_t)(dot - name) : length;
	for (at = hashed; at && isxdigit((unsigned char)name[at - 1]);)
		at--;
	return at && hashed - at == 8 && name[at - 1] == '-' ? at - 1 : length;
}

const char *gmt_site_key_without_folder(const char *key)
{
	const char *name = key;

	for (const char *at = key; *at && *at != ':'; at++)
		if (*at == '/')
			name = at + 1;
	return name;
}

void gmt_site_key_module(const char *path, char *ret_name, size_t size)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t length = strlen(name);
	const char *end = NULL;

	if (ends_with(name, length, " (deleted)"))
		length -= strlen(" (deleted)");
	/* Find the last ".so" that ends the name or is followed by a version. */
	for (const char *at = name; (at = strstr(at, ".so")) && at < name + length; at++)
		if (at + 3 == name + length || at[3] == '.')
			end = at;

	size_t stem = end ? (size_t)(end - name) : length;
	const char *tag = end ? strstr(name, ".cpython-") : NULL;
	if (tag && tag < end)
		stem = (size_t)(tag - name);
	else if (end && ends_with(name, stem, ".abi3"))
		stem -= strlen(".abi3");
	stem = end || strncmp(name, "python", 6) == 0
		? cut_version(name, stem, strstr(path, "/torch_extensions/"))
		: stem;
	if (length)
		snprintf(ret_name, size, "%.*s%s", (int)stem, name, end ? ".so" : "");
	else
		snprintf(ret_name, size, "?");
}
