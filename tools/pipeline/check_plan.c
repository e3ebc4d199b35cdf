/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/output/exit_codes.h"
#include "tools/pipeline/check.h"
#include "tools/options/command.h"
#include "tools/recordings/load_input.h"
#include "tools/pipeline/owner_options.h"
#include "tools/output/message.h"

const struct gmt_check_options gmt_check_defaults = { .frames = 8 };

static int read_limits(struct gmt_check_plan *plan)
{
	const char *path = plan->options.limits_file;
	struct gmt_error error = { 0 };
	enum gmt_status status;
	char *text;

	if (!path)
		return 0;
	text = gmt_input_read_text(path);
	if (!text) {
		gmt_message_error("%s: %s", path, strerror(errno));
		gmt_message_hint("a limits file has lines such as `max-peak = 18GiB`");
		return GMT_EXIT_USAGE;
	}
	status = gmt_limits_parse(&plan->limits, text, path, &error);
	free(text);
	return status ? gmt_message_failure(&error) : 0;
}

static int set_limits(struct gmt_check_plan *plan)
{
	struct gmt_error error = { 0 };

	for (unsigned key = 0; key < GMT_LIMITS; key++) {
		const struct gmt_option_texts *given = &plan->options.limits[key];
		char location[64];

		snprintf(location, sizeof(location), "check: --%s",
			gmt_limit_key_text((enum gmt_limit_key)key));
		if (given->count)
			gmt_limits_override(&plan->limits, (enum gmt_limit_key)key);
		for (size_t i = 0; i < given->count; i++)
			if (gmt_limits_set(&plan->limits, (enum gmt_limit_key)key, given->items[i], location,
					&error))
				return gmt_message_failure(&error);
	}
	return gmt_limits_check(&plan->limits, &error) ? gmt_message_failure(&error) : 0;
}

static int read_suppressions(struct gmt_check_plan *plan)
{
	const struct gmt_option_texts *files = &plan->options.suppressions;
	struct gmt_error error = { 0 };

	/*
	 * Parse the user's own suppressions first. Then they are not reported as unused if a default
	 * suppression matches the same finding.
	 */
	for (size_t i = 0; i < files->count; i++) {
		char *text = gmt_input_read_text(files->items[i]);
		enum gmt_status status;

		if (!text) {
			gmt_message_error("%s: %s", files->items[i], strerror(errno));
			gmt_message_hint(
				"a suppressions file has lines such as `leak:function`; --gen-suppressions prints "
				"some");
			return GMT_EXIT_USAGE;
		}
		status = gmt_suppressions_parse(&plan->suppressions, text, files->items[i], &error);
		free(text);
		if (status)
			return gmt_message_failure(&error);
	}
	if (!plan->options.no_default_suppressions &&
		gmt_suppressions_add_defaults(&plan->suppressions, &error))
		return gmt_message_failure(&error);
	return 0;
}

static int read_baseline(struct gmt_check_plan *plan)
{
	const char *path = plan->options.baseline;
	struct gmt_error error = { 0 };
	enum gmt_status status;
	char *text;

	if (plan->options.update_baseline && !path) {
		gmt_message_error("check: --update-baseline needs --baseline=FILE");
		return GMT_EXIT_USAGE;
	}
	if (!path || plan->options.update_baseline)
		return 0;
	text = gmt_input_read_text(path);
	if (!text) {
		gmt_message_error("%s: %s", path, strerror(errno));
		if (errno == ENOENT)
			gmt_message_hint("--update-baseline writes it from these recordings");
		return GMT_EXIT_USAGE;
	}
	status = gmt_baseline_parse(&plan->baseline, text, path, &error);
	free(text);
	return status ? gmt_message_failure(&error) : 0;
}

int gmt_check_plan_load(struct gmt_check_plan *ret_plan, const struct gmt_check_options *options)
{
	char *texts = ret_plan->texts;
	int code;

	*ret_plan = (struct gmt_check_plan){
		.options = *options, .limits = gmt_limits_default(), .texts = texts
	};
	if ((code = read_limits(ret_plan)) || (code = set_limits(ret_plan)) ||
		(code = read_suppressions(ret_plan)) ||
		(code = gmt_owner_options_load_rules(&options->owners, &ret_plan->owner_rules)))
		return code;
	return read_baseline(ret_plan);
}

int gmt_check_plan_parse(struct gmt_check_plan *ret_plan, const char *value)
{
	enum { WORDS = 128 };
	const struct gmt_command *command = gmt_command_find("check");
	struct gmt_check_options options = gmt_check_defaults;
	char *words[WORDS + 1], *state;
	int count = 0, code;

	*ret_plan = (struct gmt_check_plan){ .texts = strdup(value) };
	if (!ret_plan->texts) {
		gmt_message_error("out of memory");
		return gmt_status_exit_code(GMT_NO_MEMORY);
	}
	if (*value != '-') {
		options.limits_file = *value ? ret_plan->texts : NULL;
		return gmt_check_plan_load(ret_plan, &options);
	}
	for (char *word = strtok_r(ret_plan->texts, " \t\n", &state); word && count < WORDS;
		word = strtok_r(NULL, " \t\n", &state))
		words[count++] = word;
	words[count] = NULL;
	code = gmt_options_parse(command, &options, false, &count, words);
	if (code < 0 && count) {
		gmt_message_error("run: --check: `%s` is not an option of check", words[0]);
		code = GMT_EXIT_USAGE;
	}
	return code < 0 ? gmt_check_plan_load(ret_plan, &options) : code ? code : GMT_EXIT_USAGE;
}

void gmt_check_plan_fini(struct gmt_check_plan *plan)
{
	gmt_limits_fini(&plan->limits);
	gmt_suppressions_fini(&plan->suppressions);
	gmt_baseline_fini(&plan->baseline);
	gmt_owner_rules_fini(&plan->owner_rules);
	free(plan->texts);
}
