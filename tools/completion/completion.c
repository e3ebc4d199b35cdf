/* SPDX-License-Identifier: MIT */
#include "tools/completion/completion.h"

#include <string.h>

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Returns whether at least one alternative of "a|b" is a word. */
static bool has_word(const char *values)
{
	struct gmt_completion_word word;

	return gmt_completion_next_word(&values, &word);
}

enum gmt_completion_kind gmt_completion_of_option(const struct gmt_option_row *row)
{
	switch (row->kind) {
	case GMT_OPTION_FLAG:
		return GMT_COMPLETE_NOTHING;
	case GMT_OPTION_WORDS:
		return GMT_COMPLETE_WORDS;
	case GMT_OPTION_WORD:
	case GMT_OPTION_MOMENT:
	case GMT_OPTION_OF_RECORDER:
		return has_word(row->values) ? GMT_COMPLETE_WORD : GMT_COMPLETE_ANY;
	case GMT_OPTION_TEXT:
	case GMT_OPTION_TEXTS:
	case GMT_OPTION_OPTIONAL_TEXT:
		return begins_with(row->values, "FILE") ? GMT_COMPLETE_FILE
			: begins_with(row->values, "DIR")   ? GMT_COMPLETE_FOLDER
												: GMT_COMPLETE_ANY;
	default:
		return GMT_COMPLETE_ANY;
	}
}

enum gmt_completion_kind gmt_completion_of_operand(const struct gmt_command *command)
{
	static const struct {
		const char *word;
		enum gmt_completion_kind kind;
	} kinds[] = {
		{ "command", GMT_COMPLETE_COMMAND },
		{ "data", GMT_COMPLETE_FILE },
		{ "file", GMT_COMPLETE_RECORDING },
		{ "base", GMT_COMPLETE_RECORDING },
		{ "pid", GMT_COMPLETE_PROCESS },
		{ "verb", GMT_COMPLETE_VERB },
		{ "|", GMT_COMPLETE_WORD },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strstr(command->operands, kinds[i].word))
			return kinds[i].kind;
	return GMT_COMPLETE_NOTHING;
}

/* Returns whether the alternative is a word, and not a number, a range or a placeholder. */
static bool is_word(const char *text, size_t length)
{
	static const char *const placeholders[] = { "SIZE", "RANKS", "TEXT", "TIME", "FILE", "N" };

	for (size_t i = 0; i < sizeof(placeholders) / sizeof(*placeholders); i++)
		if (strlen(placeholders[i]) == length && memcmp(placeholders[i], text, length) == 0)
			return false;
	return length && (text[0] < '0' || text[0] > '9') && !memchr(text, ':', length) &&
		!memchr(text, '.', length);
}

bool gmt_completion_next_word(const char **at, struct gmt_completion_word *ret_word)
{
	while (**at) {
		const char *text = *at;
		size_t length = strcspn(text, "|");

		*at += length + (text[length] == '|');
		if (is_word(text, length)) {
			*ret_word = (struct gmt_completion_word){ text, length };
			return true;
		}
	}
	return false;
}
