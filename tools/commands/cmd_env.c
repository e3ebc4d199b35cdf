/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/safe_text.h"
#include "render/json.h"
#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/recordings/recorder_setup.h"
#include "tools/output/message.h"

struct env_options {
	bool export;
	bool path;
	bool json;
	bool docker;
	struct gmt_recorder_option_list recorder;
};

#define OFFSET_OF(field) offsetof(struct env_options, field)
const struct gmt_option_row gmt_option_rows_env[] = {
	{ "export", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(export),
		"print one line for `eval` in a shell, which keeps the other libraries in LD_PRELOAD" },
	{ "path", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(path),
		"print only the path of the recorder: LD_PRELOAD=$(gpumemtrace env --path) python "
		"train.py" },
	{ "json", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(json), "print the variables as JSON" },
	{ "docker", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(docker),
		"print lines for a Dockerfile that add the recorder to an image" },
#define GMT_OPTION(name, fallback, values, meaning) \
	GMT_RECORDER_ROW(name, values, OFFSET_OF(recorder), meaning)
#include "options/recorder_options.def"
#undef GMT_OPTION
	{ 0 },
};
#undef OFFSET_OF

/* Returns whether a terminal would show all of the text unchanged. */
static bool is_safe(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	for (size_t left = strlen(text), length, skip; left; at += length, left -= length) {
		length = gmt_safe_character_length(at, left, &skip);
		if (!length)
			return false;
	}
	return true;
}

/*
 * Prints the text as $'...', with octal escapes for all bytes outside of printable ASCII. bash,
 * zsh, ksh and busybox read the same text back.
 */
static void print_escaped(const char *text)
{
	fputs("$'", stdout);
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < 0x20 || byte >= 0x7f)
			printf("\\%03o", byte);
		else
			printf("%s%c", byte == '\'' || byte == '\\' ? "\\" : "", byte);
	}
	putchar('\'');
}

/* Prints the text, in quotes if a shell would interpret it. */
static void print_quoted(const char *text)
{
	if (!is_safe(text)) {
		print_escaped(text);
		return;
	}

	if (text[strcspn(text, " \t\n'\"\\$`*?[]{}()<>|&;~#!%")] == 0) {
		fputs(text, stdout);
		return;
	}
	putchar('\'');
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*text);
	putchar('\'');
}

static void print_shell(const char *library, const char *recorder, bool export)
{
	printf("%sLD_PRELOAD=", export ? "export " : "");
	print_quoted(library);
	if (export)
		fputs("${LD_PRELOAD:+:$LD_PRELOAD}", stdout);
	if (*recorder) {
		fputs(" GPUMEMTRACE_OPTIONS=", stdout);
		print_quoted(recorder);
	}
	putchar('\n');
}

static void print_json(const char *library, const char *recorder)
{
	struct gmt_json json = { .file = stdout, .pretty = true, .inline_depth = 2 };

	gmt_json_begin_object(&json);
	gmt_json_key_text(&json, "schema", "gpumemtrace.env/1");
	gmt_json_key_text(&json, "program_version", GMT_PROGRAM_VERSION);
	gmt_json_key_text(&json, "recorder", library);
	gmt_json_key(&json, "variables");
	gmt_json_begin_object(&json);
	gmt_json_key_text(&json, "LD_PRELOAD", library);
	if (*recorder)
		gmt_json_key_text(&json, "GPUMEMTRACE_OPTIONS", recorder);
	gmt_json_end_object(&json);
	gmt_json_end_object(&json);
	putchar('\n');
}

/* Prints text in double quotes, as Dockerfiles read it. */
static void print_docker_text(const char *text)
{
	putchar('"');
	for (; *text; text++)
		printf("%s%c", strchr("\"\\$", *text) ? "\\" : "", *text);
	putchar('"');
}

/*
 * Prints lines for a Dockerfile. `docker build` gets the folder of the recorder as an additional
 * build context, so the image's own context needs no copy of the files.
 */
static void print_docker(const char *library, const char *recorder)
{
	static const char *const files[] = { "libgpumemtrace.so", "libgmtunw.so.8", "libgmtl.so.5" };
	char path[PATH_MAX + 32];
	int folder_length = (int)(strrchr(library, '/') - library);
	char *folder = strndup(library, (size_t)folder_length);

	printf("# gpumemtrace %s: docker build --build-context gpumemtrace=", GMT_PROGRAM_VERSION);
	print_quoted(folder ? folder : "");
	fputs(" .\nCOPY --from=gpumemtrace", stdout);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "%.*s/%s", folder_length, library, files[i]);
		if (!access(path, R_OK))
			printf(" %s", files[i]);
	}
	fputs(" /opt/gpumemtrace/\nENV LD_PRELOAD=/opt/gpumemtrace/libgpumemtrace.so\n", stdout);
	if (*recorder) {
		fputs("ENV GPUMEMTRACE_OPTIONS=", stdout);
		print_docker_text(recorder);
		putchar('\n');
	}
	free(folder);
}

/*
 * Checks that the chosen form can show the values: a Dockerfile has no form for a line break, and a
 * path alone is printed without quotes. Prints an error and returns false otherwise.
 */
static bool can_show(const struct env_options *options, const char *library, const char *recorder)
{
	if ((options->docker || options->path) && !is_safe(library))
		gmt_message_error("env: %s has control characters: use --export", library);
	else if (options->docker && !is_safe(recorder))
		gmt_message_error("env: --docker: a Dockerfile cannot contain control characters");
	else if (options->path && *recorder)
		gmt_message_error("env: --path prints no options of the recorder: use --export");
	else
		return true;
	return false;
}

int gmt_cmd_env(const struct gmt_command *command, int argc, char **argv)
{
	struct env_options options = { 0 };
	char library[PATH_MAX];
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (argc) {
		gmt_message_error("env: takes no operand");
		return GMT_EXIT_USAGE;
	}
	if (options.export + options.path + options.json + options.docker > 1) {
		gmt_message_error("env: give only one of --export, --path, --json and --docker");
		return GMT_EXIT_USAGE;
	}
	if (!gmt_recorder_library(library))
		return GMT_EXIT_UNREADABLE;

	char *text = gmt_recorder_options(NULL, &options.recorder);
	if (!text)
		return GMT_EXIT_UNREADABLE;
	if (!gmt_recorder_accepts("env", text) || !can_show(&options, library, text)) {
		free(text);
		return GMT_EXIT_USAGE;
	}
	if (options.path)
		puts(library);
	else if (options.json)
		print_json(library, text);
	else if (options.docker)
		print_docker(library, text);
	else
		print_shell(library, text, options.export);
	free(text);
	return 0;
}
