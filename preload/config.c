/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "diag.h"
#include "wire/option_value.h"

struct option {
	const char *key;
	const char *fallback;
	const char *values;
	const char *meaning;
};

static const struct option options[] = {
#define GMT_OPTION(name, fallback, values, meaning) { #name, fallback, values, meaning },
#include "wire/recorder_options.def"
#undef GMT_OPTION
};

enum option_index {
#define GMT_OPTION(name, fallback, values, meaning) OPTION_##name,
#include "wire/recorder_options.def"
#undef GMT_OPTION
	OPTION_COUNT
};

enum { VALUE_BYTES = 64, WRONG_LINES = 4, WRONG_BYTES = 256 };

struct gmt_config gmt_config = { .verbosity = 1 };

/* The effective values as text; `output` may be long and lies in gmt_config. */
static char values[OPTION_COUNT][VALUE_BYTES];
static char wrong[WRONG_LINES][WRONG_BYTES];
static unsigned wrong_count;

static void complain(const char *format, const char *a, const char *b)
{
	if (wrong_count < WRONG_LINES)
		snprintf(wrong[wrong_count++], WRONG_BYTES, format, a, b);
}

static void keep_value(size_t index, const char *value)
{
	if (index == OPTION_output)
		snprintf(gmt_config.output, sizeof(gmt_config.output), "%s", value);
	else
		snprintf(values[index], VALUE_BYTES, "%s", value);
}

static void take(const char *key, const char *value)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		if (strcmp(options[i].key, key) != 0)
			continue;
		if (gmt_option_value_is_allowed(options[i].values, value))
			keep_value(i, value);
		else
			complain("GPUMEMTRACE_OPTIONS: the value of %.60s is not %.60s; its default is used", key, options[i].values);
		return;
	}
	complain("GPUMEMTRACE_OPTIONS: no option is called %.60s%.0s; help=1 lists them", key, "");
}

/* Copies one key=value to `item`, without quotes; the address behind it. */
static const char *next_item(const char *at, char *item, size_t item_bytes)
{
	size_t length = 0;
	char quote = 0;

	for (; *at && (quote || *at != ':'); at++) {
		if (quote ? *at == quote : (*at == '"' || *at == '\''))
			quote = quote ? 0 : *at;
		else if (length + 1 < item_bytes)
			item[length++] = *at;
	}
	item[length] = 0;
	if (quote)
		complain("GPUMEMTRACE_OPTIONS: a quote is never closed in %.120s%.0s", item, "");
	return *at ? at + 1 : at;
}

static bool is(enum option_index index, const char *value)
{
	return strcmp(values[index], value) == 0;
}

/* 0 for a word. */
static uint64_t size_of(enum option_index index)
{
	uint64_t bytes;

	return gmt_text_parse_size(values[index], &bytes) ? bytes : 0;
}

static int signal_of(enum option_index index)
{
	static const struct { const char *name; int number; } signals[] = {
		{ "HUP", SIGHUP }, { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "URG", SIGURG },
		{ "WINCH", SIGWINCH }, { "CONT", SIGCONT }, { "IO", SIGIO },
	};

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (is(index, signals[i].name))
			return signals[i].number;
	return 0;
}

static void apply(void)
{
	uint64_t depth, verbosity, selftest;

	gmt_text_parse_u64(values[OPTION_depth], &depth);
	gmt_text_parse_u64(values[OPTION_verbosity], &verbosity);
	gmt_text_parse_u64(values[OPTION_selftest], &selftest);
	gmt_config.depth = (uint32_t)depth;
	gmt_config.selftest = (uint32_t)selftest;
	gmt_config.verbosity = (uint32_t)verbosity;
	gmt_config.native_stacks = is(OPTION_stacks, "all") || is(OPTION_stacks, "native");
	gmt_config.python_stacks = is(OPTION_stacks, "all") || is(OPTION_stacks, "python");
	gmt_config.free_stacks = is(OPTION_free_stacks, "on");
	gmt_config.unwind = is(OPTION_unwind, "libunwind") ? GMT_UNWIND_WAY_LIBUNWIND :
		is(OPTION_unwind, "frame-pointers") ? GMT_UNWIND_WAY_FRAME_POINTERS : GMT_UNWIND_WAY_AUTO;
	gmt_config.overflow = is(OPTION_overflow, "drop") ? GMT_OVERFLOW_DROP :
		is(OPTION_overflow, "wait") ? GMT_OVERFLOW_WAIT : GMT_OVERFLOW_BLOCK;
	gmt_config.exports = is(OPTION_exports, "on");
	gmt_config.dynsym = is(OPTION_dynsym, "on");
	gmt_config.steps = is(OPTION_steps, "auto");
	gmt_config.nvtx = is(OPTION_nvtx, "on");
	gmt_config.samples = is(OPTION_samples, "on");
	gmt_config.nvml = is(OPTION_nvml, "on");
	gmt_config.paused = is(OPTION_paused, "on");
	gmt_config.snapshot_peak_bytes = size_of(OPTION_snapshot_peak);
	gmt_config.snapshot_signal = signal_of(OPTION_snapshot_signal);
	gmt_config.command = is(OPTION_command, "on");
	gmt_config.help = is(OPTION_help, "1");
	gmt_config.mode = is(OPTION_mode, "full") ? GMT_MODE_FULL
		: is(OPTION_mode, "window") ? GMT_MODE_WINDOW : GMT_MODE_AGGREGATE;
	gmt_config.snapshot_oom = is(OPTION_snapshot_oom, "on") ||
		(is(OPTION_snapshot_oom, "auto") && gmt_config.mode != GMT_MODE_FULL);
	gmt_option_value_window(values[OPTION_window], &gmt_config.window);
	gmt_option_value_size(values[OPTION_max_size], &gmt_config.max_size_bytes);
	gmt_option_value_size(values[OPTION_memory], &gmt_config.memory_bytes);
}

void gmt_config_init(const char *text)
{
	static char item[GMT_OUTPUT_BYTES + 32];

	const char *runtime_folder = getenv("XDG_RUNTIME_DIR");
	const char *run = getenv("GPUMEMTRACE_RUN");

	wrong_count = 0;
	snprintf(gmt_config.runtime_folder, sizeof(gmt_config.runtime_folder), "%s", runtime_folder ? runtime_folder : "");
	snprintf(gmt_config.run, sizeof(gmt_config.run), "%s", run && gmt_identifier_is_one(run) ? run : "");
	for (size_t i = 0; i < OPTION_COUNT; i++)
		keep_value(i, options[i].fallback);
	while (text && *text) {
		text = next_item(text, item, sizeof(item));
		char *equals = strchr(item, '=');

		if (equals) {
			*equals = 0;
			take(item, equals + 1);
		} else if (item[0]) {
			complain("GPUMEMTRACE_OPTIONS: %.60s has no value%.0s; write key=value:key=value", item, "");
		}
	}
	apply();
}

void gmt_config_warn(void)
{
	for (unsigned i = 0; i < wrong_count; i++)
		gmt_diag_warn_text(wrong[i]);
	wrong_count = 0;
}

void gmt_config_help(void)
{
	char line[1024];

	gmt_diag_print("GPUMEMTRACE_OPTIONS=key=value:key=value (a value with a colon stands in quotes)\n");
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		snprintf(line, sizeof(line), "  %s=%s  (%s)\n      %s\n", options[i].key, options[i].fallback,
			options[i].values, options[i].meaning);
		gmt_diag_print(line);
	}
}

void gmt_config_list(void (*tell)(void *context, const char *key, const char *value), void *context)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		tell(context, options[i].key, i == OPTION_output ? gmt_config.output : values[i]);
}
