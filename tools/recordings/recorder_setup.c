/* SPDX-License-Identifier: MIT */
#include "tools/recordings/recorder_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system/recording_name.h"
#include "tools/output/message.h"
#include "options/recorder_options.h"

static const char library_name[] = "libgpumemtrace.so";

/*
 * Folders with the recorder, relative to the program: next to it, in a build folder, or installed.
 */
static const char *const library_folders[] = {
	".",
	"../preload",
	"../" GMT_LIBDIR "/gpumemtrace",
	"../lib/gpumemtrace",
	"../lib64/gpumemtrace",
};

bool gmt_recorder_find(char ret_path[PATH_MAX], char ret_why[GMT_RECORDER_WHY_BYTES],
	char ret_remedy[GMT_RECORDER_WHY_BYTES])
{
	char program[PATH_MAX], candidate[2 * PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	program[length > 0 ? length : 0] = 0;
	char *slash = strrchr(program, '/');
	if (slash)
		*slash = 0;
	for (size_t i = 0; i < sizeof(library_folders) / sizeof(*library_folders); i++) {
		snprintf(candidate, sizeof(candidate), "%s/%s/%s", program, library_folders[i],
			library_name);
		if (realpath(candidate, ret_path) && !access(ret_path, R_OK))
			break;
		ret_path[0] = 0;
	}
	if (!ret_path[0]) {
		snprintf(ret_why, GMT_RECORDER_WHY_BYTES, "%s was not found", library_name);
		snprintf(ret_remedy, GMT_RECORDER_WHY_BYTES,
			"it must be next to %s, or in %s of the installation", program, library_folders[2] + 3);
		return false;
	}
	if (strpbrk(ret_path, ": \t\n")) {
		snprintf(ret_why, GMT_RECORDER_WHY_BYTES,
			"%s: LD_PRELOAD does not support a path with a space or a colon", ret_path);
		snprintf(ret_remedy, GMT_RECORDER_WHY_BYTES,
			"move or copy the installation to a path without them");
		return false;
	}
	return true;
}

bool gmt_recorder_library(char ret_path[PATH_MAX])
{
	char why[GMT_RECORDER_WHY_BYTES], remedy[GMT_RECORDER_WHY_BYTES];

	if (gmt_recorder_find(ret_path, why, remedy))
		return true;
	gmt_message_error("%s", why);
	gmt_message_hint("%s", remedy);
	return false;
}

char *gmt_recorder_put_first(const char *variable, const char *library)
{
	/* The loader splits LD_PRELOAD at spaces too, but LD_AUDIT only at colons. */
	const char *separators = strcmp(variable, "LD_AUDIT") == 0 ? ":" : ": ";
	const char *before = getenv(variable);
	const char *name = strrchr(library, '/') ? strrchr(library, '/') + 1 : library;
	char *value = NULL;
	size_t size;
	FILE *stream = open_memstream(&value, &size);

	if (!stream)
		return NULL;
	fputs(library, stream);
	for (const char *at = before ? before : ""; *at;) {
		int length = (int)strcspn(at, separators);
		const char *slash = memrchr(at, '/', (size_t)length);
		const char *begin = slash ? slash + 1 : at;
		size_t name_length = (size_t)(at + length - begin);

		if (length && (name_length != strlen(name) || memcmp(begin, name, name_length) != 0))
			fprintf(stream, ":%.*s", length, at);
		at += length;
		at += strspn(at, separators);
	}
	if (fclose(stream)) {
		free(value);
		return NULL;
	}
	return value;
}

/*
 * Writes a value, in quotes if it contains ':' or a quote. Ends the quotes after each '#', because
 * the log of a CI runner takes "##[" as a command.
 */
static void put_value(FILE *stream, const char *value)
{
	if (!strpbrk(value, ":'\"")) {
		fputs(value, stream);
		return;
	}
	while (*value) {
		bool is_quote = *value == '\'';
		size_t length = is_quote ? strspn(value, "'") : strcspn(value, "'#");
		char around = is_quote ? '"' : '\'';

		length += !is_quote && value[length] == '#';
		fprintf(stream, "%c%.*s%c", around, (int)length, value, around);
		value += length;
	}
}

/*
 * Returns whether the key of `item` (key=value) is among the passed options from number `first` on.
 */
static bool is_passed(const struct gmt_recorder_option_list *passed, size_t first, const char *item)
{
	for (size_t i = first; i < passed->count; i++) {
		size_t length = strlen(passed->keys[i]);

		if (strncmp(passed->keys[i], item, length) == 0 && strchr("=", item[length]))
			return true;
	}
	return false;
}

/*
 * Copies the items of `before` unchanged, except those that the command line sets again. Returns
 * whether it wrote an item.
 */
static bool put_items_before(FILE *stream, const char *before,
	const struct gmt_recorder_option_list *passed)
{
	char item[GMT_RECORDER_ITEM_BYTES];
	bool has_one = false;

	while (before && *before) {
		const char *next_item = gmt_recorder_options_next(before, item, sizeof(item), NULL);
		int length = (int)(next_item - before) - (next_item[-1] == ':');

		if (length && !is_passed(passed, 0, item)) {
			fprintf(stream, "%s%.*s", has_one ? ":" : "", length, before);
			has_one = true;
		}
		before = next_item;
	}
	return has_one;
}

char *gmt_recorder_options(const char *before, const struct gmt_recorder_option_list *passed)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;

	bool has_one = put_items_before(stream, before, passed);
	for (size_t i = 0; i < passed->count; i++) {
		/* If a key is given several times, the last value counts. */
		if (is_passed(passed, i + 1, passed->keys[i]))
			continue;
		fprintf(stream, "%s%s=", has_one ? ":" : "", passed->keys[i]);
		has_one = true;
		put_value(stream, passed->values[i]);
	}
	fclose(stream);
	return text;
}

/*
 * Returns `name` with the working directory in front of it, from malloc. NULL: out of memory, or
 * the working directory does not exist.
 */
static char *absolute_output(const char *name)
{
	char folder[PATH_MAX], *text = NULL;
	size_t size;
	FILE *stream = getcwd(folder, sizeof(folder)) ? open_memstream(&text, &size) : NULL;

	if (!stream)
		return NULL;
	/* The folder has no tokens. */
	for (const char *at = folder; *at; at++)
		fputs(*at == '%' ? "%%" : (char[]){ *at, 0 }, stream);
	fprintf(stream, "/%s", name);
	fclose(stream);
	return text;
}

char *gmt_recorder_options_absolute(const char *before,
	const struct gmt_recorder_option_list *passed)
{
	struct gmt_recorder_option_list absolute = *passed;
	char *last = NULL, *options;

	for (size_t i = 0; i < passed->count; i++) {
		const char *name = passed->values[i];

		if (strcmp(passed->keys[i], "output") != 0 || !*name || *name == '/')
			continue;
		free(last);
		/* Without a folder, the name stays relative. */
		last = absolute_output(name);
		if (last)
			absolute.values[i] = last;
	}
	options = gmt_recorder_options(before, &absolute);
	free(last);
	return options;
}

struct checking {
	const char *verb;
	bool is_refused;
};

static void print_refused(void *context, const struct gmt_option_complaint *complaint)
{
	struct checking *checking = context;

	if (!complaint->is_refused)
		return;
	checking->is_refused = true;
	gmt_message_error("%s: options of the recorder: %s", checking->verb, complaint->line);
}

bool gmt_recorder_accepts(const char *verb, const char *options)
{
	struct checking checking = { .verb = verb };
	struct gmt_recorder_settings settings;

	gmt_recorder_options_read(options, &settings, print_refused, &checking);
	if (checking.is_refused)
		gmt_message_hint("`gpumemtrace %s --help` lists the options%s", verb,
			getenv("GPUMEMTRACE_OPTIONS") ? "; GPUMEMTRACE_OPTIONS is used too" : "");
	return !checking.is_refused;
}

void gmt_recorder_output(const char *options, char *ret_output, size_t output_bytes)
{
	static const char key[] = "output=";
	char item[PATH_MAX];

	snprintf(ret_output, output_bytes, "%s",
		gmt_recorder_option(GMT_RECORDER_OPTION_output)->fallback);
	/* The recorder uses the last value too. */
	while (*options) {
		options = gmt_recorder_options_next(options, item, sizeof(item), NULL);
		if (strncmp(item, key, sizeof(key) - 1) == 0 && item[sizeof(key) - 1])
			snprintf(ret_output, output_bytes, "%s", item + sizeof(key) - 1);
	}
}

char *gmt_recorder_output_glob(const char *options)
{
	char output[PATH_MAX + 64], *text = NULL;
	const char *suffix;
	bool was_token = false; /* the pattern so far ends with a '*' */
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	gmt_recorder_output(options, output, sizeof(output));
	suffix = gmt_recording_name_suffix(output);
	for (const char *at = output;; at++) {
		/* The recorder may insert a launcher's rank here, or a number if the name was taken. */
		if (at == suffix && !was_token)
			fputs("{,.[0-9]*,.r[0-9]*}", stream);
		if (!*at)
			break;
		was_token = *at == '%' && at[1] && at[1] != '%';
		if (*at == '%' && at[1] == '%') {
			fputc('%', stream);
			at++;
		} else if (*at == '%' && at[1]) {
			fputc('*', stream);
			at++;
			if (*at == 'q' && at[1] == '{' && strchr(at, '}'))
				at = strchr(at, '}');
		} else {
			if (strchr("*?[\\{}", *at))
				fputc('\\', stream);
			fputc(*at, stream);
		}
	}
	fclose(stream);
	return text;
}
