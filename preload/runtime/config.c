/* SPDX-License-Identifier: MIT */
#include "runtime/config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "options/option_value.h"
#include "options/rank_list.h"
#include "options/recorder_options.h"
#include "system/launcher_rank.h"

enum { ERROR_LINES = 4, ERROR_BYTES = 256 };

struct gmt_config gmt_config = { .verbosity = 1, .records_process = true };

/* The settings that were read from GPUMEMTRACE_OPTIONS. */
static struct gmt_recorder_settings settings;

/*
 * Errors in the variable, for gmt_config_warn. If there are too many, the last line is replaced by
 * the number of further errors.
 */
static struct {
	char lines[ERROR_LINES][ERROR_BYTES];
	unsigned count;
} errors;

static void keep_complaint(void *context, const struct gmt_option_complaint *complaint)
{
	(void)context;
	if (errors.count < ERROR_LINES)
		snprintf(errors.lines[errors.count], ERROR_BYTES, "GPUMEMTRACE_OPTIONS: %.160s%s%.64s",
			complaint->line, *complaint->consequence ? "; " : "", complaint->consequence);
	errors.count++;
}

static bool is(enum gmt_recorder_option option, const char *value)
{
	return strcmp(settings.values[option], value) == 0;
}

/* Returns the option's value as a size in bytes. Returns 0 if the value is a word. */
static uint64_t size_of(enum gmt_recorder_option option)
{
	uint64_t bytes;

	return gmt_text_parse_size(settings.values[option], &bytes) ? bytes : 0;
}

static int signal_of(enum gmt_recorder_option option)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {
		{ "HUP", SIGHUP },
		{ "USR1", SIGUSR1 },
		{ "USR2", SIGUSR2 },
		{ "URG", SIGURG },
		{ "WINCH", SIGWINCH },
		{ "CONT", SIGCONT },
		{ "IO", SIGIO },
	};

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (is(option, signals[i].name))
			return signals[i].number;
	return 0;
}

bool gmt_config_has_rank(int32_t rank)
{
	return gmt_rank_list_has(settings.values[GMT_RECORDER_OPTION_ranks], rank);
}

static void apply(void)
{
	uint64_t depth, verbosity, selftest;

	gmt_text_parse_u64(settings.values[GMT_RECORDER_OPTION_depth], &depth);
	gmt_text_parse_u64(settings.values[GMT_RECORDER_OPTION_verbosity], &verbosity);
	gmt_text_parse_u64(settings.values[GMT_RECORDER_OPTION_selftest], &selftest);
	gmt_config.depth = (uint32_t)depth;
	gmt_config.selftest = (uint32_t)selftest;
	gmt_config.verbosity = (uint32_t)verbosity;
	gmt_config.native_stacks =
		is(GMT_RECORDER_OPTION_stacks, "all") || is(GMT_RECORDER_OPTION_stacks, "native");
	gmt_config.python_stacks =
		is(GMT_RECORDER_OPTION_stacks, "all") || is(GMT_RECORDER_OPTION_stacks, "python");
	gmt_config.free_stacks = is(GMT_RECORDER_OPTION_free_stacks, "on");
	gmt_config.unwind = is(GMT_RECORDER_OPTION_unwind, "libunwind") ? GMT_UNWIND_METHOD_LIBUNWIND
		: is(GMT_RECORDER_OPTION_unwind, "frame-pointers") ? GMT_UNWIND_METHOD_FRAME_POINTERS
														   : GMT_UNWIND_METHOD_AUTO;
	gmt_config.overflow = is(GMT_RECORDER_OPTION_overflow, "drop") ? GMT_OVERFLOW_DROP
		: is(GMT_RECORDER_OPTION_overflow, "wait")                 ? GMT_OVERFLOW_WAIT
																   : GMT_OVERFLOW_BLOCK;
	gmt_config.is_writer_lazy = is(GMT_RECORDER_OPTION_writer, "lazy");
	gmt_config.exports = is(GMT_RECORDER_OPTION_exports, "on");
	gmt_config.dynsym = is(GMT_RECORDER_OPTION_dynsym, "on");
	gmt_config.watch_code = is(GMT_RECORDER_OPTION_watch_code, "on");
	gmt_config.steps = is(GMT_RECORDER_OPTION_steps, "auto");
	gmt_config.tensors = is(GMT_RECORDER_OPTION_tensors, "auto");
	gmt_config.nvtx = is(GMT_RECORDER_OPTION_nvtx, "on");
	gmt_config.samples = is(GMT_RECORDER_OPTION_samples, "on");
	gmt_config.nvml = is(GMT_RECORDER_OPTION_nvml, "on");
	gmt_config.paused = is(GMT_RECORDER_OPTION_paused, "on");
	gmt_config.snapshot_peak_bytes = size_of(GMT_RECORDER_OPTION_snapshot_peak);
	gmt_config.snapshot_signal = signal_of(GMT_RECORDER_OPTION_snapshot_signal);
	gmt_config.records_process = gmt_config_has_rank(gmt_launcher_rank());
	gmt_config.command = is(GMT_RECORDER_OPTION_command, "on");
	gmt_config.help = is(GMT_RECORDER_OPTION_help, "1");
	gmt_config.mode = is(GMT_RECORDER_OPTION_mode, "full") ? GMT_MODE_FULL
		: is(GMT_RECORDER_OPTION_mode, "window")           ? GMT_MODE_WINDOW
														   : GMT_MODE_AGGREGATE;
	gmt_config.snapshot_oom = is(GMT_RECORDER_OPTION_snapshot_oom, "on") ||
		(is(GMT_RECORDER_OPTION_snapshot_oom, "auto") && gmt_config.mode != GMT_MODE_FULL);
	gmt_option_value_window(settings.values[GMT_RECORDER_OPTION_window], &gmt_config.window);
	gmt_option_value_size(settings.values[GMT_RECORDER_OPTION_max_size],
		&gmt_config.max_size_bytes);
	gmt_option_value_size(settings.values[GMT_RECORDER_OPTION_memory], &gmt_config.memory_bytes);
}

void gmt_config_init(const char *options)
{
	const char *runtime_folder = getenv("XDG_RUNTIME_DIR");
	const char *run = getenv("GPUMEMTRACE_RUN");

	errors.count = 0;
	snprintf(gmt_config.runtime_folder, sizeof(gmt_config.runtime_folder), "%s",
		runtime_folder ? runtime_folder : "");
	snprintf(gmt_config.run, sizeof(gmt_config.run), "%s",
		run && gmt_uuid_is_valid(run) ? run : "");
	gmt_recorder_options_read(options, &settings, keep_complaint, NULL);
	memcpy(gmt_config.output, settings.output, sizeof(gmt_config.output));
	apply();
}

void gmt_config_warn(void (*report)(const char *text))
{
	unsigned count = errors.count < ERROR_LINES ? errors.count : ERROR_LINES;

	if (errors.count > ERROR_LINES)
		snprintf(errors.lines[ERROR_LINES - 1], ERROR_BYTES,
			"GPUMEMTRACE_OPTIONS: %u more errors; "
			"`gpumemtrace doctor` lists all of them",
			errors.count - ERROR_LINES + 1);
	for (unsigned i = 0; i < count; i++)
		report(errors.lines[i]);
	errors.count = 0;
}

void gmt_config_help(void (*print)(const char *text))
{
	char line[1024];

	print("GPUMEMTRACE_OPTIONS=key=value:key=value (put a value with a colon in quotes)\n");
	for (size_t i = 0; i < GMT_RECORDER_OPTION_COUNT; i++) {
		const struct gmt_recorder_option_row *row =
			gmt_recorder_option((enum gmt_recorder_option)i);

		snprintf(line, sizeof(line), "  %s=%s  (%s)\n      %s\n", row->key, row->fallback,
			row->values, row->meaning);
		print(line);
	}
}

void gmt_config_list(void (*list)(void *context, const char *key, const char *value), void *context)
{
	for (size_t i = 0; i < GMT_RECORDER_OPTION_COUNT; i++) {
		enum gmt_recorder_option option = (enum gmt_recorder_option)i;

		list(context, gmt_recorder_option(option)->key, gmt_recorder_setting(&settings, option));
	}
}
