/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/safe_text.h"
#include "tools/options/command.h"
#include "tools/recordings/input.h"
#include "tools/recordings/recorder_setup.h"
#include "tools/output/message.h"

struct env_options {
	bool export;
	struct gmt_option_passed recorder;
};

#define AT(field) offsetof(struct env_options, field)
const struct gmt_option_row gmt_table_env[] = {
	{ "export", 0, GMT_OPTION_FLAG, NULL, AT(export),
		"print one line for `eval` in a shell, which keeps the other libraries in LD_PRELOAD" },
#define GMT_OPTION(name, fallback, values, meaning) \
	GMT_RECORDER_ROW(name, values, AT(recorder), meaning)
#include "options/recorder_options.def"
#undef GMT_OPTION
	{ 0 },
};
#undef AT

/* Returns whether a terminal would show all of the text unchanged. */
static bool is_safe(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	for (size_t left = strlen(text), length, skip; left; at += length, left -= length) {
		length = gmt_safe_length(at, left, &skip);
		if (!length)
			return false;
	}
	return true;
}

/*
 * Prints the text as $'...', with all bytes that could control a terminal as octal numbers. bash,
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
	if (!gmt_recorder_library(library))
		return 3;

	char *text = gmt_recorder_options(NULL, &options.recorder);
	if (!text)
		return 3;
	if (!gmt_recorder_accepts("env", text)) {
		free(text);
		return GMT_EXIT_USAGE;
	}
	printf("%sLD_PRELOAD=", options.export ? "export " : "");
	print_quoted(library);
	if (options.export)
		fputs("${LD_PRELOAD:+:$LD_PRELOAD}", stdout);
	if (*text) {
		fputs(" GPUMEMTRACE_OPTIONS=", stdout);
		print_quoted(text);
	}
	putchar('\n');
	free(text);
	return 0;
}
