/* SPDX-License-Identifier: MIT */
#include "tools/options/options.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tools/options/command.h"
#include "tools/options/moment.h"
#include "tools/output/exit_codes.h"
#include "tools/output/message.h"
#include "base/suggestion.h"
#include "options/option_value.h"

enum { CONTINUE = -1 };

/* Prints a hint to --help. Returns the exit code for wrong usage. */
static int fail_with_hint_to_help(const struct gmt_command *command)
{
	gmt_message_hint("`gpumemtrace %s --help` lists the options", command->name);
	return GMT_EXIT_USAGE;
}

/* Returns whether the `length` letters at `typed` are `name`. '-' in `typed` also matches '_'. */
static bool names_equal(const char *typed, size_t length, const char *name)
{
	if (strlen(name) != length || !length)
		return false;
	for (size_t i = 0; i < length; i++)
		if (typed[i] != name[i] && !(typed[i] == '-' && name[i] == '_'))
			return false;
	return true;
}

/* Returns the index of the `length` letters at `text` in "a|b|c", or -1. */
static int word_index(const char *words, const char *text, size_t length)
{
	int index = 0;

	for (const char *at = words;; index++) {
		const char *end = strchr(at, '|');
		size_t word = end ? (size_t)(end - at) : strlen(at);

		if (word == length && memcmp(at, text, length) == 0)
			return index;
		if (!end)
			return -1;
		at = end + 1;
	}
}

static int report_bad_value(const struct gmt_command *command, const struct gmt_option_row *row,
	const char *value)
{
	char hint[GMT_OPTION_HINT_BYTES] = "";

	if (row->kind == GMT_OPTION_WORD || row->kind == GMT_OPTION_WORDS ||
		row->kind == GMT_OPTION_OF_RECORDER)
		gmt_option_value_hint(row->values, "", value, hint);
	gmt_message_error("%s: --%s: `%s` is not valid: it takes %s%s%s", command->name, row->name,
		value, row->values, *hint ? "; " : "", hint);
	return fail_with_hint_to_help(command);
}

/* Adds the words of "a,b" to `bits`. */
static int add_words(const struct gmt_command *command, const struct gmt_option_row *row,
	const char *value, uint64_t *bits)
{
	for (const char *at = value;;) {
		size_t length = strcspn(at, ",");
		int index = word_index(row->values, at, length);
		char word[64];

		if (index < 0) {
			snprintf(word, sizeof(word), "%.*s", (int)(length < 60 ? length : 60), at);
			return report_bad_value(command, row, word);
		}
		*bits |= UINT64_C(1) << index;
		if (!at[length])
			return CONTINUE;
		at += length + 1;
	}
}

/* Stores `value` (NULL for a flag) in the member of `target` that the row names. */
static int store(const struct gmt_command *command, const struct gmt_option_row *row,
	const char *value, void *target)
{
	void *place = (char *)target + row->offset;
	struct gmt_option_texts *texts = place;
	struct gmt_recorder_option_list *passed = place;

	switch (row->kind) {
	case GMT_OPTION_FLAG:
		*(bool *)place = true;
		return CONTINUE;
	case GMT_OPTION_NUMBER:
		return gmt_text_parse_u64(value, place) ? CONTINUE : report_bad_value(command, row, value);
	case GMT_OPTION_TEXT:
		*(const char **)place = value;
		return *value ? CONTINUE : report_bad_value(command, row, value);
	case GMT_OPTION_OPTIONAL_TEXT:
		*(const char **)place = value;
		return CONTINUE;
	case GMT_OPTION_WORD:
		*(int *)place = word_index(row->values, value, strlen(value));
		return *(int *)place >= 0 ? CONTINUE : report_bad_value(command, row, value);
	case GMT_OPTION_MOMENT:
		return gmt_moment_parse(value, place) ? CONTINUE : report_bad_value(command, row, value);
	case GMT_OPTION_WORDS:
		return add_words(command, row, value, place);
	case GMT_OPTION_TEXTS:
		if (texts->count == GMT_OPTION_MAX_TEXTS || !*value)
			return report_bad_value(command, row, value);
		texts->items[texts->count++] = value;
		return CONTINUE;
	case GMT_OPTION_OF_RECORDER:
		if (passed->count == GMT_OPTION_MAX_TEXTS ||
			!gmt_option_value_is_allowed(row->values, value))
			return report_bad_value(command, row, value);
		passed->keys[passed->count] = row->name;
		passed->values[passed->count++] = value;
		return CONTINUE;
	}
	return CONTINUE;
}

static int report_unknown(const struct gmt_command *command, const char *typed, size_t length)
{
	struct gmt_suggestion suggestion = { 0 };
	char word[64];

	snprintf(word, sizeof(word), "%.*s", (int)(length < 60 ? length : 60), typed);
	for (const struct gmt_option_row *row = command->options; row && row->name; row++)
		gmt_suggestion_consider(&suggestion, word, row->name);
	if (suggestion.best)
		gmt_message_error("%s: unknown option `--%s`; did you mean `--%s`?", command->name, word,
			suggestion.best);
	else
		gmt_message_error("%s: unknown option `--%s`", command->name, word);
	return fail_with_hint_to_help(command);
}

/* Stores the value of an option. If no value is attached to the name, takes argv[*at + 1]. */
static int take_value(const struct gmt_command *command, const struct gmt_option_row *row,
	const char *value, int argc, char **argv, int *at, void *target)
{
	if (row->kind == GMT_OPTION_FLAG) {
		if (!value)
			return store(command, row, NULL, target);
		gmt_message_error("%s: --%s takes no value", command->name, row->name);
		return fail_with_hint_to_help(command);
	}
	/* The next argument may be the command to run. */
	if (row->kind == GMT_OPTION_OPTIONAL_TEXT)
		return store(command, row, value ? value : "", target);
	if (!value && *at + 1 < argc)
		value = argv[++*at];
	if (!value) {
		gmt_message_error("%s: --%s needs a value: %s", command->name, row->name, row->values);
		return fail_with_hint_to_help(command);
	}
	return store(command, row, value, target);
}

static int parse_long(const struct gmt_command *command, void *target, int argc, char **argv,
	int *at)
{
	const char *typed = argv[*at] + 2;
	const char *equals = strchr(typed, '=');
	size_t length = equals ? (size_t)(equals - typed) : strlen(typed);

	if (names_equal(typed, length, "help") && !equals) {
		gmt_options_help(command);
		return 0;
	}
	for (const struct gmt_option_row *row = command->options; row && row->name; row++)
		if (names_equal(typed, length, row->name))
			return take_value(command, row, equals ? equals + 1 : NULL, argc, argv, at, target);
	return report_unknown(command, typed, length);
}

static int parse_short(const struct gmt_command *command, void *target, int argc, char **argv,
	int *at)
{
	const char *typed = argv[*at] + 1;

	if (strcmp(typed, "h") == 0) {
		gmt_options_help(command);
		return 0;
	}
	for (const struct gmt_option_row *row = command->options; row && row->name; row++)
		if (row->letter && row->letter == *typed)
			return take_value(command, row, typed[1] ? typed + 1 : NULL, argc, argv, at, target);
	gmt_message_error("%s: unknown option `-%s`", command->name, typed);
	return fail_with_hint_to_help(command);
}

int gmt_options_parse(const struct gmt_command *command, void *target, bool until_operand,
	int *argc, char **argv)
{
	int operands = 0, at = 0;

	for (; at < *argc; at++) {
		const char *argument = argv[at];
		int answer = CONTINUE;

		if (strcmp(argument, "--") == 0) {
			at++;
			break;
		}
		if (argument[0] == '-' && argument[1] == '-')
			answer = parse_long(command, target, *argc, argv, &at);
		else if (argument[0] == '-' && argument[1])
			answer = parse_short(command, target, *argc, argv, &at);
		else if (until_operand)
			break;
		else
			argv[operands++] = argv[at];
		if (answer != CONTINUE)
			return answer;
	}
	while (at < *argc)
		argv[operands++] = argv[at++];
	*argc = operands;
	return CONTINUE;
}

/* Fills lines of at most 90 columns, after a margin. */
static void print_wrapped(const char *text)
{
	enum { MARGIN = 28, WIDTH = 90 };
	int column = MARGIN;

	while (*text) {
		int word = (int)strcspn(text, " ");

		if (column > MARGIN && column + 1 + word > WIDTH) {
			printf("\n%*s", MARGIN, "");
			column = MARGIN;
		}
		printf("%s%.*s", column > MARGIN ? " " : "", word, text);
		column += word + (column > MARGIN);
		text += word + (text[word] == ' ');
	}
	putchar('\n');
}

/* Prints an option and its values, and leaves the cursor at the margin of the meaning. */
static void print_left(const char *left)
{
	enum { MARGIN = 28, WIDTH = 90 };
	const char *rest = left;

	/* A long list of words continues on the next line. */
	while (strlen(rest) > WIDTH) {
		const char *end = rest + WIDTH - 8;

		while (end > rest + 1 && end[-1] != '|')
			end--;
		printf("%.*s\n%8s", (int)(end - rest), rest, "");
		rest = end;
	}
	printf("%-27s ", rest);
	if (rest != left || strlen(left) >= MARGIN)
		printf("\n%*s", MARGIN, "");
}

void gmt_options_help(const struct gmt_command *command)
{
	printf("usage: gpumemtrace %s%s%s\n\n%s\n", command->name, *command->operands ? " " : "",
		command->operands, command->meaning);
	if (command->options && command->options->name)
		puts("\noptions:");
	for (const struct gmt_option_row *row = command->options; row && row->name; row++) {
		char left[256], letter[8] = "    ";

		if (!*row->name)
			continue;
		if (row->letter)
			snprintf(letter, sizeof(letter), "-%c, ", row->letter);
		bool is_flag = row->kind == GMT_OPTION_FLAG;
		bool is_optional = row->kind == GMT_OPTION_OPTIONAL_TEXT;
		snprintf(left, sizeof(left), "  %s--%s%s%s%s", letter, row->name,
			is_flag           ? ""
				: is_optional ? "[="
							  : "=",
			is_flag ? "" : row->values, is_optional ? "]" : "");
		print_left(left);
		print_wrapped(row->meaning);
	}
}
