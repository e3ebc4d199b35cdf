/* SPDX-License-Identifier: MIT */
#include "tools/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/recording_name.h"
#include "tools/say.h"

static const char library_name[] = "libgpumemtrace.so";

/* Beside the program, in a build folder, installed; all relative to the program itself. */
static const char *const places[] = {
	".", "../preload", "../" GMT_LIBDIR "/gpumemtrace", "../lib/gpumemtrace", "../lib64/gpumemtrace",
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
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(candidate, sizeof(candidate), "%s/%s/%s", program, places[i], library_name);
		if (realpath(candidate, ret_path) && !access(ret_path, R_OK))
			break;
		ret_path[0] = 0;
	}
	if (!ret_path[0]) {
		snprintf(ret_why, GMT_RECORDER_WHY_BYTES, "%s is not where this program looks for it", library_name);
		snprintf(ret_remedy, GMT_RECORDER_WHY_BYTES, "it belongs beside %s, or into %s of the installation",
			program, places[2] + 3);
		return false;
	}
	if (strpbrk(ret_path, ": \t\n")) {
		snprintf(ret_why, GMT_RECORDER_WHY_BYTES,
			"%s: LD_PRELOAD cannot name a path with a space or a colon in it", ret_path);
		snprintf(ret_remedy, GMT_RECORDER_WHY_BYTES,
			"move or copy the installation to a folder without one");
		return false;
	}
	return true;
}

bool gmt_recorder_library(char ret_path[PATH_MAX])
{
	char why[GMT_RECORDER_WHY_BYTES], remedy[GMT_RECORDER_WHY_BYTES];

	if (gmt_recorder_find(ret_path, why, remedy))
		return true;
	gmt_say_error("%s", why);
	gmt_say_hint("%s", remedy);
	return false;
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

const char *gmt_recorder_next_item(const char *options, char *ret_item, size_t item_bytes, bool *ret_open)
{
	const char *at = options;
	size_t length = 0;
	char quote = 0;

	for (; *at && (quote || *at != ':'); at++) {
		if (quote ? *at == quote : (*at == '"' || *at == '\''))
			quote = quote ? 0 : *at;
		else if (length + 1 < item_bytes)
			ret_item[length++] = *at;
	}
	ret_item[length] = 0;
	if (ret_open)
		*ret_open = quote != 0;
	return at + (*at == ':');
}

/* As the recorder reads it, the last one counts. */
void gmt_recorder_output(const char *options, char *ret_output, size_t output_bytes)
{
	static const char key[] = "output=";
	char item[PATH_MAX];

#define GMT_OPTION(name, fallback, values, meaning) \
	if (strcmp(#name, "output") == 0) \
		snprintf(ret_output, output_bytes, "%s", fallback);
#include "wire/recorder_options.def"
#undef GMT_OPTION
	while (*options) {
		options = gmt_recorder_next_item(options, item, sizeof(item), NULL);
		if (strncmp(item, key, sizeof(key) - 1) == 0 && item[sizeof(key) - 1])
			snprintf(ret_output, output_bytes, "%s", item + sizeof(key) - 1);
	}
}

char *gmt_recorder_output_glob(const char *options)
{
	char output[PATH_MAX + 64], *text = NULL;
	const char *suffix;
	bool was_token = false; /* what stands in front is a '*' */
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	gmt_recorder_output(options, output, sizeof(output));
	suffix = gmt_recording_name_suffix(output);
	for (const char *at = output;; at++) {
		/* The rank of a launcher, and the number of a name that was taken. */
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
