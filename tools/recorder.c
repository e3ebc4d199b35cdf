/* SPDX-License-Identifier: MIT */
#include "tools/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/say.h"

static const char library_name[] = "libgpumemtrace.so";

/* Beside the program, in a build folder, installed; all relative to the program itself. */
static const char *const places[] = {
	".", "../preload", "../" GMT_LIBDIR "/gpumemtrace", "../lib/gpumemtrace", "../lib64/gpumemtrace",
};

bool gmt_recorder_library(char ret_path[PATH_MAX])
{
	char program[PATH_MAX], candidate[2 * PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	program[length > 0 ? length : 0] = 0;
	char *slash = strrchr(program, '/');
	if (slash)
		*slash = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(candidate, sizeof(candidate), "%s/%s/%s", program, places[i], library_name);
		if (realpath(candidate, ret_path) && !access(ret_path, R_OK))
			break;
		ret_path[0] = 0;
	}
	if (!ret_path[0]) {
		gmt_say_error("%s is not where this program looks for it", library_name);
		gmt_say_hint("it belongs beside %s, or into %s of the installation", program, places[2] + 3);
		return false;
	}
	if (strpbrk(ret_path, ": \t\n")) {
		gmt_say_error("%s: LD_PRELOAD cannot name a path with a space or a colon in it", ret_path);
		gmt_say_hint("move or copy the installation to a folder without one");
		return false;
	}
	return true;
}

char *gmt_recorder_preload(const char *library, const char *before)
{
	char *value;
	bool has_before = before && *before;

	if (asprintf(&value, "%s%s%s", library, has_before ? ":" : "", has_before ? before : "") < 0)
		return NULL;
	return value;
}

/* A value in quotes where ':' or a quote is in it. */
static void put_value(FILE *stream, const char *value)
{
	if (!strpbrk(value, ":'\"")) {
		fputs(value, stream);
		return;
	}
	for (; *value; value++) {
		const char *quote = *value == '\'' ? "\"" : "'";

		fprintf(stream, "%s%c%s", quote, *value, quote);
	}
}

char *gmt_recorder_options(const char *before, const struct gmt_option_passed *passed)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	if (before)
		fputs(before, stream);
	for (size_t i = 0; i < passed->count; i++) {
		if (i || (before && *before))
			fputc(':', stream);
		fprintf(stream, "%s=", passed->keys[i]);
		put_value(stream, passed->values[i]);
	}
	fclose(stream);
	return text;
}

/* The value of `output` in force, unquoted, in `ret_output`; as the recorder reads it, the last counts. */
static void find_output(const char *options, char *ret_output, size_t size)
{
	static const char key[] = "output=";
	char item[PATH_MAX];

	for (const char *at = options; *at;) {
		size_t length = 0;
		char quote = 0;

		for (; *at && (quote || *at != ':'); at++) {
			if (quote ? *at == quote : (*at == '"' || *at == '\''))
				quote = quote ? 0 : *at;
			else if (length + 1 < sizeof(item))
				item[length++] = *at;
		}
		item[length] = 0;
		if (strncmp(item, key, sizeof(key) - 1) == 0 && item[sizeof(key) - 1])
			snprintf(ret_output, size, "%s", item + sizeof(key) - 1);
		at += *at == ':';
	}
}

char *gmt_recorder_output_glob(const char *options)
{
	char output[PATH_MAX + 64] = "", *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

#define GMT_OPTION(name, fallback, values, meaning) \
	if (strcmp(#name, "output") == 0) \
		snprintf(output, sizeof(output), "%s", fallback);
#include "wire/recorder_options.def"
#undef GMT_OPTION
	if (!stream)
		return NULL;
	find_output(options, output, sizeof(output));
	for (const char *at = output; *at; at++) {
		if (*at == '%' && at[1] == '%') {
			fputc('%', stream);
			at++;
		} else if (*at == '%' && at[1]) {
			fputc('*', stream);
			at++;
			if (*at == 'q' && at[1] == '{' && strchr(at, '}'))
				at = strchr(at, '}');
		} else {
			if (strchr("*?[\\", *at))
				fputc('\\', stream);
			fputc(*at, stream);
		}
	}
	/* A number is put behind a name that is taken. */
	fputc('*', stream);
	fclose(stream);
	return text;
}
