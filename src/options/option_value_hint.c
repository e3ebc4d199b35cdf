/* SPDX-License-Identifier: MIT */
/* Suggests the value that a user probably meant, if an option does not accept the given value. */
#include <stdio.h>
#include <string.h>

#include "base/suggestion.h"
#include "base/text.h"
#include "options/option_value.h"

enum { WORD_BYTES = 40 };

static bool is_digit(char letter)
{
	return letter >= '0' && letter <= '9';
}

/*
 * Copies `text` without spaces. Returns false if it is too long for a mistyped value, or if it is
 * two numbers.
 */
static bool copy_without_spaces(const char *text, char ret_word[WORD_BYTES])
{
	size_t length = 0;

	for (; *text; text++) {
		size_t spaces = strspn(text, " \t\r\n");

		if (spaces && length && is_digit(ret_word[length - 1]) && is_digit(text[spaces]))
			return false;
		text += spaces;
		if (!*text)
			break;
		if (length + 1 >= WORD_BYTES)
			return false;
		ret_word[length++] = *text;
	}
	ret_word[length] = 0;
	return length > 0;
}

/*
 * Copies the next alternative of `values`, truncated if necessary. Returns the address of the
 * alternative after it, or NULL after the last.
 */
static const char *next_alternative(const char *values, char ret_word[WORD_BYTES])
{
	size_t length = strcspn(values, "|");

	snprintf(ret_word, WORD_BYTES, "%.*s", (int)length, values);
	return values[length] ? values + length + 1 : NULL;
}

/*
 * Returns "on" or "off" for words that other programs use for a switch; NULL for all other words.
 */
static const char *switch_meant_by(const char *word)
{
	static const char *const words[][2] = {
		{ "on", "on" },
		{ "1", "on" },
		{ "yes", "on" },
		{ "true", "on" },
		{ "enable", "on" },
		{ "enabled", "on" },
		{ "off", "off" },
		{ "0", "off" },
		{ "no", "off" },
		{ "false", "off" },
		{ "disable", "off" },
		{ "disabled", "off" },
		{ "none", "off" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (gmt_equal_ignoring_case(word, words[i][0]))
			return words[i][1];
	return NULL;
}

static bool copy_if_allowed(const char *values, const char *word, char ret_value[WORD_BYTES])
{
	return gmt_option_value_is_allowed(values, word) &&
		snprintf(ret_value, WORD_BYTES, "%s", word) < WORD_BYTES;
}

/* Finds the most similar alternative that is a word. */
static bool find_word(const char *values, const char *word, char ret_value[WORD_BYTES])
{
	struct gmt_suggestion suggestion = { 0 };
	const char *meant = switch_meant_by(word);
	char alternative[WORD_BYTES];
	unsigned nearest = 0;
	bool found = false;

	/* "on" and "off" differ by two letters, so the most similar word could be the opposite. */
	if (meant)
		return copy_if_allowed(values, meant, ret_value) ||
			copy_if_allowed(values, strcmp(meant, "on") == 0 ? "auto" : "none", ret_value);
	for (const char *at = values; at;) {
		at = next_alternative(at, alternative);
		if (strstr(alternative, "..") || strcmp(alternative, "SIZE") == 0 ||
			strcmp(alternative, "RANKS") == 0)
			continue;
		suggestion = (struct gmt_suggestion){ 0 };
		gmt_suggestion_consider(&suggestion, word, alternative);
		if (!suggestion.best || (found && suggestion.distance >= nearest))
			continue;
		found = true;
		nearest = suggestion.distance;
		snprintf(ret_value, WORD_BYTES, "%s", alternative);
	}
	return found;
}

/* Returns the unit after the first number of a range or a value. */
static const char *unit_of(const char *text)
{
	return text + strspn(text, "0123456789");
}

/* Returns whether an alternative is a range of sizes, or any size. */
static bool is_size(const char *alternative)
{
	const char *unit = unit_of(alternative);

	return strcmp(alternative, "SIZE") == 0 ||
		(*unit && strchr("KMGTPE", *unit) && strstr(unit, ".."));
}

/* Corrects a number whose unit is missing, misspelled or in the wrong case. */
static bool find_unit(const char *values, const char *example, const char *word,
	char ret_value[WORD_BYTES])
{
	static const char *const sizes[] = { "KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "TB", "K",
		"M", "G", "T" };
	int digits = (int)strspn(word, "0123456789");
	char alternative[WORD_BYTES], candidate[WORD_BYTES];
	bool takes_size = false;

	if (!digits || digits > 20)
		return false;
	for (const char *at = values; at;) {
		struct gmt_suggestion suggestion = { 0 };

		at = next_alternative(at, alternative);
		takes_size |= is_size(alternative);

		char *dots = strstr(alternative, "..");
		if (!dots || is_size(alternative))
			continue;
		*dots = 0;
		gmt_suggestion_consider(&suggestion, word + digits, unit_of(alternative));
		snprintf(candidate, sizeof(candidate), "%.*s%.8s", digits, word, unit_of(alternative));
		if (suggestion.best && copy_if_allowed(values, candidate, ret_value))
			return true;
	}
	if (!word[digits] && *unit_of(example)) {
		snprintf(candidate, sizeof(candidate), "%.*s%.8s", digits, word, unit_of(example));
		return copy_if_allowed(values, candidate, ret_value);
	}
	for (size_t i = 0; takes_size && i < sizeof(sizes) / sizeof(*sizes); i++) {
		snprintf(candidate, sizeof(candidate), "%.*s%s", digits, word, sizes[i]);
		if (gmt_equal_ignoring_case(word + digits, sizes[i]) &&
			copy_if_allowed(values, candidate, ret_value))
			return true;
	}
	return false;
}

/*
 * Returns whether a number of `values` can have a unit. Without its unit, the number would mean
 * something else.
 */
static bool has_units(const char *values)
{
	char range[WORD_BYTES];

	for (const char *at = values; at;) {
		at = next_alternative(at, range);
		if (is_size(range) || (strstr(range, "..") && *unit_of(range) != '.'))
			return true;
	}
	return false;
}

/* Corrects a value with extra characters at its end: "12x". */
static bool find_beginning(const char *values, const char *word, char ret_value[WORD_BYTES])
{
	char part[WORD_BYTES];
	/* Do not cut a number in the middle. */
	int least = (int)(unit_of(word) - word) + has_units(values);

	for (int length = (int)strlen(word) - 1; length > 0 && length >= least; length--) {
		snprintf(part, sizeof(part), "%.*s", length, word);
		if (copy_if_allowed(values, part, ret_value))
			return true;
	}
	return false;
}

/*
 * Returns whether the whole `word` is a number in the form of this range (a size, or a number with
 * the same unit). *ret_number is in the range's unit.
 */
static bool read_like(const char *range, const char *word, uint64_t *ret_number)
{
	char digits[WORD_BYTES];

	if (*unit_of(range) && strchr("KMGTPE", *unit_of(range)))
		return gmt_text_parse_size(word, ret_number);
	snprintf(digits, sizeof(digits), "%.*s", (int)(unit_of(word) - word), word);
	if (!*digits || strcmp(unit_of(range), unit_of(word)) != 0)
		return false;
	/* The number has more than 64 bits. */
	if (!gmt_text_parse_u64(digits, ret_number))
		*ret_number = UINT64_MAX;
	return true;
}

/* For a number outside the range, names the limit that it exceeds. */
static bool find_bound(const char *values, const char *word, char ret_hint[GMT_OPTION_HINT_BYTES])
{
	char range[WORD_BYTES];
	uint64_t number, low, high;

	for (const char *at = values; at;) {
		at = next_alternative(at, range);

		char *dots = strstr(range, "..");
		if (!dots)
			continue;
		*dots = 0;
		if (!read_like(range, word, &number) || !read_like(range, range, &low) ||
			!read_like(dots + 2, dots + 2, &high))
			continue;
		if (number < low)
			snprintf(ret_hint, GMT_OPTION_HINT_BYTES, "the smallest is %s", range);
		else
			snprintf(ret_hint, GMT_OPTION_HINT_BYTES, "the largest is %s", dots + 2);
		return true;
	}
	return false;
}

bool gmt_option_value_hint(const char *values, const char *example, const char *text,
	char ret_hint[GMT_OPTION_HINT_BYTES])
{
	char word[WORD_BYTES], value[WORD_BYTES];

	*ret_hint = 0;
	if (strcmp(values, "TEXT") == 0 || !copy_without_spaces(text, word))
		return false;
	if (copy_if_allowed(values, word, value) || find_word(values, word, value) ||
		find_unit(values, example, word, value)) {
		snprintf(ret_hint, GMT_OPTION_HINT_BYTES, "did you mean %s?", value);
		return true;
	}
	if (find_bound(values, word, ret_hint))
		return true;
	if (find_beginning(values, word, value))
		snprintf(ret_hint, GMT_OPTION_HINT_BYTES, "did you mean %s?", value);
	return *ret_hint;
}
