/* SPDX-License-Identifier: MIT */
#include "options/recorder_options.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/suggestion.h"
#include "options/option_value.h"

static const struct gmt_recorder_option_row rows[GMT_RECORDER_OPTION_COUNT] = {
#define GMT_OPTION(name, fallback, values, meaning) { #name, fallback, values, meaning },
#include "options/recorder_options.def"
#undef GMT_OPTION
};

/* The arguments of one call of gmt_recorder_options_read. */
struct parser {
	struct gmt_recorder_settings *settings;
	void (*complain)(void *context, const struct gmt_option_complaint *complaint);
	void *context;
};

const struct gmt_recorder_option_row *gmt_recorder_option(enum gmt_recorder_option option)
{
	return &rows[option];
}

const char *gmt_recorder_setting(const struct gmt_recorder_settings *settings,
	enum gmt_recorder_option option)
{
	return option == GMT_RECORDER_OPTION_output ? settings->output : settings->values[option];
}

static bool is(const struct gmt_recorder_settings *settings, enum gmt_recorder_option option,
	const char *value)
{
	return strcmp(gmt_recorder_setting(settings, option), value) == 0;
}

static void set_value(struct gmt_recorder_settings *settings, enum gmt_recorder_option option,
	const char *value)
{
	if (option == GMT_RECORDER_OPTION_output)
		snprintf(settings->output, sizeof(settings->output), "%s", value);
	else
		snprintf(settings->values[option], GMT_RECORDER_VALUE_BYTES, "%s", value);
}

/* Returns the option with this name; GMT_RECORDER_OPTION_COUNT if there is no such option. */
static enum gmt_recorder_option option_named(const char *key, size_t length)
{
	size_t option = 0;

	while (option < GMT_RECORDER_OPTION_COUNT &&
		(strlen(rows[option].key) != length || memcmp(rows[option].key, key, length) != 0))
		option++;
	return (enum gmt_recorder_option)option;
}

const char *gmt_recorder_options_next(const char *text, char *ret_item, size_t item_bytes,
	enum gmt_recorder_item *ret_state)
{
	enum gmt_recorder_item state = GMT_RECORDER_ITEM_WHOLE;
	const char *at = text;
	size_t length = 0;
	char quote = 0;

	for (; *at && (quote || *at != ':'); at++) {
		if (quote ? *at == quote : (*at == '"' || *at == '\''))
			quote = quote ? 0 : *at;
		else if (length + 1 < item_bytes)
			ret_item[length++] = *at;
		else
			state = GMT_RECORDER_ITEM_TOO_LONG;
	}
	ret_item[length] = 0;
	if (ret_state)
		*ret_state = quote ? GMT_RECORDER_ITEM_OPEN_QUOTE : state;
	return at + (*at == ':');
}

/*
 * Returns the address after the token at `at`, which is a percent sign; NULL for an unknown token.
 */
static const char *skip_token(const char *at)
{
	if (at[1] == 'q' && at[2] == '{')
		return strchr(at, '}') ? strchr(at, '}') + 1 : NULL;
	return at[1] && strchr("phetrlnH%", at[1]) ? at + 2 : NULL;
}

bool gmt_recorder_output_is_possible(const char *output, char ret_why[GMT_RECORDER_COMPLAINT_BYTES])
{
	const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output;
	size_t length = 0;

	for (const char *at = output; *at;) {
		const char *behind = *at == '%' ? skip_token(at) : at + 1;

		if (!behind) {
			snprintf(ret_why, GMT_RECORDER_COMPLAINT_BYTES,
				"has the unknown token %.2s (known: %%p %%h %%e %%t %%r %%l %%n %%H %%q{VAR} %%%%)",
				at);
			return false;
		}
		length = *at == '/' ? 0 : length + (*at != '%');
		if (length > NAME_MAX) {
			snprintf(ret_why, GMT_RECORDER_COMPLAINT_BYTES, "has a part of more than %d bytes",
				NAME_MAX);
			return false;
		}
		at = behind;
	}
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		snprintf(ret_why, GMT_RECORDER_COMPLAINT_BYTES, "names a folder; add a file name");
		return false;
	}
	return true;
}

static void refuse(const struct parser *parser, const char *line, const char *consequence)
{
	parser->complain(parser->context, &(struct gmt_option_complaint){ true, line, consequence });
}

static void complain_value(const struct parser *parser, enum gmt_recorder_option option,
	const char *value, const char *why)
{
	char line[GMT_RECORDER_COMPLAINT_BYTES], consequence[GMT_RECORDER_VALUE_BYTES];

	snprintf(line, sizeof(line), "%s=%.40s %.110s", rows[option].key, value, why);
	snprintf(consequence, sizeof(consequence), "%.16s=%.36s is used", rows[option].key,
		gmt_recorder_setting(parser->settings, option));
	parser->settings->is_refused[option] = true;
	refuse(parser, line, consequence);
}

/*
 * Finds the beginning of another option inside a value: the user separated options by another
 * character than a colon. Returns that character, or 0.
 */
static char wrong_separator(const char *value)
{
	for (const char *at = value; (at = strpbrk(at, ",; ")); at++) {
		const char *key = at + 1 + strspn(at + 1, " ");
		const char *equals = strchr(key, '=');

		if (equals && option_named(key, (size_t)(equals - key)) != GMT_RECORDER_OPTION_COUNT)
			return *at;
	}
	return 0;
}

static void refuse_value(const struct parser *parser, enum gmt_recorder_option option,
	const char *value)
{
	char hint[GMT_OPTION_HINT_BYTES], why[GMT_RECORDER_COMPLAINT_BYTES];
	char separator = wrong_separator(value);

	if (separator)
		snprintf(why, sizeof(why), "is ignored: separate options by colons, not by `%c`",
			separator);
	else if (gmt_option_value_hint(rows[option].values, rows[option].fallback, value, hint))
		snprintf(why, sizeof(why), "is ignored: %s", hint);
	else
		snprintf(why, sizeof(why), "is ignored: it takes %s", rows[option].values);
	complain_value(parser, option, value, why);
}

static void take_value(const struct parser *parser, enum gmt_recorder_option option,
	const char *value)
{
	struct gmt_recorder_settings *settings = parser->settings;
	char line[GMT_RECORDER_COMPLAINT_BYTES];

	if (!gmt_option_value_is_allowed(rows[option].values, value)) {
		refuse_value(parser, option, value);
		return;
	}
	if (option == GMT_RECORDER_OPTION_output && !gmt_recorder_output_is_possible(value, line)) {
		complain_value(parser, option, value, line);
		return;
	}
	if (settings->is_given[option] && !is(settings, option, value)) {
		snprintf(line, sizeof(line), "%s is given more than once; the last one, %s=%.60s, is used",
			rows[option].key, rows[option].key, value);
		parser->complain(parser->context, &(struct gmt_option_complaint){ false, line, "" });
	}
	settings->is_given[option] = true;
	set_value(settings, option, value);
}

static void refuse_key(const struct parser *parser, const char *key)
{
	struct gmt_suggestion suggestion = { 0 };
	char line[GMT_RECORDER_COMPLAINT_BYTES];

	for (size_t i = 0; i < GMT_RECORDER_OPTION_COUNT; i++)
		gmt_suggestion_consider(&suggestion, key, rows[i].key);
	if (suggestion.best)
		snprintf(line, sizeof(line), "unknown option `%.60s`; did you mean %s?", key,
			suggestion.best);
	else
		snprintf(line, sizeof(line), "unknown option `%.60s`; help=1 lists all options", key);
	refuse(parser, line, "");
}

static void take_item(const struct parser *parser, char *item, enum gmt_recorder_item state)
{
	char line[GMT_RECORDER_COMPLAINT_BYTES];
	char *equals = strchr(item, '=');
	enum gmt_recorder_option option =
		option_named(item, equals ? (size_t)(equals - item) : strlen(item));

	if (state != GMT_RECORDER_ITEM_WHOLE) {
		snprintf(line, sizeof(line), "%.60s... %s", item,
			state == GMT_RECORDER_ITEM_OPEN_QUOTE ? "has an unclosed quote" : "is too long");
		refuse(parser, line, "it is ignored");
		return;
	}
	if (!equals && !*item)
		return;
	if (equals)
		*equals = 0;
	if (option == GMT_RECORDER_OPTION_COUNT) {
		refuse_key(parser, item);
	} else if (!equals) {
		snprintf(line, sizeof(line), "%s has no value; write %s=%.60s or another of %.60s", item,
			item, rows[option].fallback, rows[option].values);
		refuse(parser, line, "");
	} else {
		take_value(parser, option, equals + 1);
	}
}

static const char *setting_of(const struct parser *parser, enum gmt_recorder_option option)
{
	return gmt_recorder_setting(parser->settings, option);
}

/* Reports options that make another given option useless. */
static void check_combinations(const struct parser *parser)
{
	const struct gmt_recorder_settings *settings = parser->settings;
	const bool *is_given = settings->is_given;
	char line[GMT_RECORDER_COMPLAINT_BYTES];

	if (is_given[GMT_RECORDER_OPTION_window] && !settings->is_refused[GMT_RECORDER_OPTION_mode] &&
		!is(settings, GMT_RECORDER_OPTION_mode, "window")) {
		snprintf(line, sizeof(line),
			"window=%s has no effect with mode=%s; add mode=window, or remove window",
			setting_of(parser, GMT_RECORDER_OPTION_window),
			setting_of(parser, GMT_RECORDER_OPTION_mode));
		refuse(parser, line, "");
	}
	if (!is(settings, GMT_RECORDER_OPTION_stacks, "none"))
		return;
	if (is(settings, GMT_RECORDER_OPTION_free_stacks, "on"))
		refuse(parser, "free_stacks=on has no effect with stacks=none; remove one of them", "");
	if (!is(settings, GMT_RECORDER_OPTION_selftest, "0"))
		refuse(parser, "selftest has no stacks to compare with stacks=none; remove one of them",
			"");
}

void gmt_recorder_options_read(const char *text, struct gmt_recorder_settings *ret_settings,
	void (*complain)(void *context, const struct gmt_option_complaint *complaint), void *context)
{
	const struct parser parser = { ret_settings, complain, context };
	char item[GMT_RECORDER_ITEM_BYTES];

	memset(ret_settings, 0, sizeof(*ret_settings));
	for (size_t i = 0; i < GMT_RECORDER_OPTION_COUNT; i++)
		set_value(ret_settings, (enum gmt_recorder_option)i, rows[i].fallback);
	while (text && *text) {
		enum gmt_recorder_item state;

		text = gmt_recorder_options_next(text, item, sizeof(item), &state);
		take_item(&parser, item, state);
	}
	check_combinations(&parser);
}
