/* SPDX-License-Identifier: MIT */
#include "tools/live/top.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "reader/symbols/symbols_cache.h"
#include "source/read_ahead.h"
#include "system/monotonic_clock.h"
#include "tools/live/full_screen.h"
#include "tools/output/exit_codes.h"
#include "tools/output/message.h"
#include "tools/output/output.h"
#include "tools/output/terminal.h"

enum {
	/* With a screen, a long file is read in parts, so that keys are handled between two parts. */
	PART_BYTES = 4 << 20,
	PART_NAMES = 500,
};

/* Updates all targets. `reads_all`: reads the files to their ends; otherwise one part of each. */
static bool update(struct gmt_top *top, bool reads_all)
{
	if (top->finds_processes && !gmt_live_targets_find(&top->targets))
		return false;
	for (size_t i = 0; i < top->targets.count; i++)
		gmt_live_target_update(top->targets.items[i], &top->choice, &top->traces,
			reads_all ? UINT64_MAX / 2 : PART_BYTES, reads_all ? SIZE_MAX : PART_NAMES);
	return true;
}

/* Returns whether a file has content that was not read yet. */
static bool has_more(const struct gmt_top *top)
{
	for (size_t i = 0; i < top->targets.count; i++)
		if (top->targets.items[i]->follow && !top->targets.items[i]->is_up_to_date)
			return true;
	return false;
}

/*
 * Returns whether nothing will change any more. Without operands, another process may still begin
 * to record.
 */
static bool have_all_ended(const struct gmt_top *top)
{
	for (size_t i = 0; i < top->targets.count; i++)
		if (top->targets.items[i]->is_running)
			return false;
	return !top->finds_processes;
}

static void print_json(const struct gmt_top *top)
{
	struct gmt_json json = { .file = stdout, .pretty = top->options->once, .inline_depth = 4 };

	gmt_json_begin_object(&json);
	gmt_json_key_text(&json, "schema", "gpumemtrace.top/1");
	gmt_json_key_array(&json, "processes");
	for (size_t i = 0; i < top->targets.count; i++) {
		const struct gmt_live_target *target = top->targets.items[i];

		if (target->has_view) {
			const struct gmt_live_process process = gmt_live_target_process(target, &top->choice);

			gmt_live_json(&json, &process, (size_t)top->options->max_lines);
			continue;
		}
		gmt_json_begin_object(&json);
		gmt_json_key_u64(&json, "pid", target->pid);
		gmt_json_key_text(&json, "file", target->path);
		gmt_json_key_text(&json, "error", target->error.text);
		gmt_json_end_object(&json);
	}
	gmt_json_end_array(&json);
	gmt_json_end_object(&json);
	fputc('\n', stdout);
}

static bool print_text(const struct gmt_top *top)
{
	struct gmt_screen screen = {
		.file = stdout,
		.color = gmt_output_enable_color(stdout, (enum gmt_color)top->options->color),
		.is_utf8 = gmt_terminal_is_utf8(),
		.columns = gmt_terminal_columns(stdout),
	};
	const struct gmt_live_text_options options = { .max_lines = (size_t)top->options->max_lines,
		.curve_rows = 4 };

	if (!gmt_screen_init(&screen))
		return false;
	for (size_t i = 0; i < top->targets.count; i++) {
		const struct gmt_live_target *target = top->targets.items[i];

		if (target->has_view) {
			const struct gmt_live_process process = gmt_live_target_process(target, &top->choice);

			gmt_live_text(&screen, &process, &options);
		} else if (*target->error.text) {
			gmt_message_warning("%s", target->error.text);
			continue;
		}
		if (i + 1 < top->targets.count || top->options->batch)
			gmt_screen_end_line(&screen, GMT_CONSOLE_NORMAL);
	}
	if (!top->targets.count)
		fputs("none of your processes is being recorded\n", stdout);
	return gmt_screen_fini(&screen);
}

static bool print(const struct gmt_top *top)
{
	if (top->options->json)
		print_json(top);
	else if (!print_text(top))
		return false;
	return fflush(stdout) == 0;
}

/*
 * Returns 0 if a named recording can be shown, or if there are no operands. Otherwise prints an
 * error and returns the exit code.
 */
static int check_targets(const struct gmt_top *top)
{
	if (top->finds_processes)
		return 0;
	for (size_t i = 0; i < top->targets.count; i++)
		if (top->targets.items[i]->has_view || top->targets.items[i]->is_running)
			return 0;
	return gmt_message_failure(&top->targets.items[0]->error);
}

/* Prints a warning, once for each recording of which only a part can be read. */
static void warn_of_damage(struct gmt_top *top)
{
	for (size_t i = 0; i < top->targets.count; i++) {
		struct gmt_live_target *target = top->targets.items[i];

		if (target->has_view && *target->damage.text)
			gmt_message_warning("%s: %s; the output covers the %s events before that", target->path,
				target->damage.text, gmt_text_count(target->view.events).text);
		target->damage.text[0] = 0;
	}
}

/* Waits until a time, and serves the metrics meanwhile. Returns early if a key was pressed. */
static void wait_until(struct gmt_top *top, uint64_t until_ns, bool has_keys)
{
	uint64_t now_ns = gmt_monotonic_ns();
	int wait_ms = until_ns > now_ns ? (int)((until_ns - now_ns) / 1000000) : 0;
	struct pollfd keyboard = { .fd = STDIN_FILENO, .events = POLLIN };

	if (top->server)
		gmt_metrics_server_run(top->server, has_keys ? STDIN_FILENO : -1, wait_ms);
	else if (has_keys)
		poll(&keyboard, 1, wait_ms);
	else
		poll(NULL, 0, wait_ms);
}

/* Shows the screen until the user leaves it. */
static int run_screen(struct gmt_top *top)
{
	const struct gmt_top_options *options = top->options;
	bool has_files = options->metrics_file || top->server || options->tensorboard;
	uint64_t next_ns = 0;
	int code = 0;

	if (!gmt_full_screen_begin()) {
		gmt_message_error("top: the terminal cannot show a screen; --once and --batch print text");
		return GMT_EXIT_USAGE;
	}
	while (!code && gmt_top_screen_keys(top)) {
		if (gmt_monotonic_ns() >= next_ns) {
			/* A frozen screen does not stop the metrics. */
			bool updates = !top->is_frozen || has_files;

			next_ns = gmt_monotonic_ns() + options->interval_ns;
			if (updates && !update(top, false))
				break;
			if (updates && has_more(top))
				next_ns = 0;
			code = gmt_top_files_write(top);
		}
		if (!gmt_top_screen_show(top))
			break;
		if (next_ns)
			wait_until(top, next_ns, true);
	}
	gmt_full_screen_end();
	/* The screen with the message is gone. */
	if (code)
		gmt_message_error("%s", gmt_message_last_error());
	return code;
}

/*
 * Prints text or JSON if `prints`, serves metrics and writes files, in rounds. `rounds` 0: no
 * limit.
 */
static int run_rounds(struct gmt_top *top, bool prints, uint64_t rounds)
{
	const struct gmt_top_options *options = top->options;
	int code = 0;

	for (uint64_t round = 1; !code; round++) {
		uint64_t next_ns = gmt_monotonic_ns() + options->interval_ns;

		if (!update(top, true)) {
			gmt_message_error("top: out of memory");
			return GMT_EXIT_UNREADABLE;
		}
		code = check_targets(top);
		warn_of_damage(top);
		if (!code)
			code = gmt_top_files_write(top);
		if (!code && prints && !print(top))
			return GMT_EXIT_UNREADABLE;
		if (round == rounds || have_all_ended(top))
			break;
		wait_until(top, next_ns, false);
	}
	return code;
}

static int run(struct gmt_top *top)
{
	const struct gmt_top_options *options = top->options;
	bool has_files = options->metrics_file || options->metrics_listen || options->tensorboard;
	bool prints = options->once || options->batch;

	if (options->metrics_listen) {
		top->server = gmt_metrics_server_open(options->metrics_listen);
		if (!top->server)
			return GMT_EXIT_UNREADABLE;
		gmt_message_hint("metrics: http://%s/metrics", gmt_metrics_server_address(top->server));
	}
	if (!prints && gmt_full_screen_is_possible())
		return run_screen(top);
	/* A pipe gets one round, unless options ask for more. */
	if (options->once || (!options->batch && !has_files))
		return run_rounds(top, true, 1);
	return run_rounds(top, prints, options->rounds);
}

int gmt_top_run(const struct gmt_top_options *options, int operand_count, char **operands)
{
	struct gmt_top top = {
		.options = options,
		.choice = options->choice,
		.traces = {
			.symbol_directories = options->symbol_folders,
			.symbol_directory_count = options->symbol_folder_count,
			.symbols_cache = options->no_symbol_cache ? NULL : gmt_symbols_cache_open(),
		},
		.finds_processes = !operand_count,
	};
	int code = 0;

	gmt_read_ahead_use_no_thread();
	for (int i = 0; !code && i < operand_count; i++)
		code = gmt_live_targets_add(&top.targets, operands[i]);
	if (!code)
		code = run(&top);
	gmt_live_targets_fini(&top.targets);
	gmt_metrics_server_close(top.server);
	gmt_symbols_cache_close(top.traces.symbols_cache);
	free(top.events_path);
	return code;
}
