/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "render/diff.h"
#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/recordings/load_input.h"
#include "tools/recordings/newer_recordings_hint.h"
#include "tools/output/output.h"
#include "tools/output/message.h"
#include "tools/pipeline/symbol_options.h"
#include "tools/pipeline/work_limit.h"
#include "tools/report/diff_jobs.h"

struct diff_options {
	bool json, strict, exit_code, no_symbol_cache, force;
	uint64_t limit, frames;
	int by, sort, color;
	const char *threshold, *output;
	struct gmt_option_texts symbol_paths;
};

enum { EXIT_DIFFERENT = 1 };

#define OFFSET_OF(field) offsetof(struct diff_options, field)
const struct gmt_option_row gmt_option_rows_diff[] = {
	{ "by", 0, GMT_OPTION_WORD, "group|stack|line|operator|module|library|owner|category|part",
		OFFSET_OF(by),
		"compare by the function of your own line (default), by stack, by line, "
		"or by another property of the blocks" },
	{ "sort", 0, GMT_OPTION_WORD, "peak|live|total", OFFSET_OF(sort),
		"compare memory held at the peak (default), at the end, or the sum of all allocations" },
	{ "threshold", 0, GMT_OPTION_TEXT, "SIZE", OFFSET_OF(threshold),
		"hide smaller differences: 512, 64K, 1MiB; one line shows their sum" },
	{ "exit-code", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(exit_code),
		"exit with 1 if a difference reaches the threshold" },
	{ "limit", 0, GMT_OPTION_NUMBER, "N", OFFSET_OF(limit),
		"rows of each list (default: 20; JSON: all)" },
	{ "frames", 0, GMT_OPTION_NUMBER, "N", OFFSET_OF(frames),
		"lines of stack below each row (default: 6 by stack, else none)" },
	GMT_SYMBOLS_OPTIONS(OFFSET_OF(symbol_paths), OFFSET_OF(no_symbol_cache)),
	{ "json", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(json), "JSON instead of text, with every row" },
	{ "strict", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(strict),
		"exit with 4 if a recording is incomplete" },
	{ "color", 0, GMT_OPTION_WORD, "auto|always|never", OFFSET_OF(color),
		"colours (default: on a terminal)" },
	{ "output", 'o', GMT_OPTION_TEXT, "FILE", OFFSET_OF(output), "write to FILE" },
	{ "force", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(force),
		"allow --output to replace a recording or an input file" },
	{ 0 },
};
#undef OFFSET_OF

/* The results of one recording. */
struct side {
	struct gmt_recording *recording;
	struct gmt_traces traces;
	struct gmt_timeline timeline;
	struct gmt_history history;
	bool has_history; /* set for GMT_DIFF_BY_CATEGORY */
	struct gmt_replay replay;
	struct gmt_sites sites;
	struct gmt_warnings warnings;
};

static void free_side(struct side *side)
{
	gmt_warnings_fini(&side->warnings);
	gmt_sites_fini(&side->sites);
	gmt_replay_fini(&side->replay);
	gmt_history_fini(&side->history);
	gmt_timeline_fini(&side->timeline);
	gmt_traces_fini(&side->traces);
	gmt_recording_free(side->recording);
}

/* Adds the history. Categories need it, because they depend on the later life of blocks. */
static enum gmt_status add_history(struct side *side, struct gmt_replay_options *replay,
	struct gmt_error *error)
{
	enum gmt_status status =
		gmt_timeline_compute(&side->timeline, side->recording, &side->traces, error);

	if (!status)
		status = gmt_history_init(&side->history, side->recording, &side->traces, &side->timeline,
			GMT_REPLAY_TO_END, error);
	replay->observers = &side->history.observer;
	replay->observer_count = 1;
	return status;
}

/* Computes the results of a side. Returns 0 or an exit code. */
static int make_side(struct side *side, const char *path, const struct diff_options *options,
	struct gmt_symbols_cache *symbols_cache)
{
	struct gmt_traces_options traces = {
		.symbol_directories = options->symbol_paths.items,
		.symbol_directory_count = options->symbol_paths.count,
		.symbols_cache = symbols_cache,
	};
	struct gmt_replay_options replay = { .until_ns = GMT_REPLAY_TO_END };
	struct gmt_error error = { 0 };
	int code = gmt_input_load(path, &side->recording);

	if (code)
		return code;
	side->has_history = options->by == GMT_DIFF_BY_CATEGORY;
	if (gmt_traces_compute(&side->traces, side->recording, &traces, &error) ||
		(side->has_history && add_history(side, &replay, &error)) ||
		gmt_replay_run(&side->replay, side->recording, &side->traces, &replay, &error) ||
		gmt_sites_compute(&side->sites, &side->replay, &side->traces, &error) ||
		gmt_warnings_compute(&side->warnings, side->recording, &side->replay, &side->traces,
			&error))
		return gmt_message_failure(&error);
	return 0;
}

static struct gmt_diff_side borrow(const struct side *side)
{
	return (struct gmt_diff_side){
		side->recording,
		&side->traces,
		&side->replay,
		&side->sites,
		&side->warnings,
		side->has_history ? &side->history : NULL,
	};
}

static enum gmt_status render(const struct gmt_diff *diff, const struct diff_options *options,
	FILE *file, struct gmt_error *error)
{
	struct gmt_diff_style style = {
		.limit = options->limit,
		.frames = options->frames != UINT64_MAX ? options->frames
			: options->by == GMT_DIFF_BY_STACK  ? 6
												: 0,
		.color = gmt_output_enable_color(file, (enum gmt_color)options->color),
	};
	struct gmt_json json = { .file = file, .pretty = true, .inline_depth = 5 };

	if (!options->json)
		return gmt_diff_text(diff, &style, file)
			? GMT_OK
			: gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	gmt_diff_json(diff, &style, &json);
	fputc('\n', file);
	return GMT_OK;
}

/* Compares the sides and writes the result. Returns the exit code. */
static int compare(const struct side *sides, const struct diff_options *options, uint64_t threshold,
	struct gmt_output *output)
{
	static const enum gmt_sites_order keys[] = { GMT_SITES_BY_PEAK, GMT_SITES_BY_LIVE,
		GMT_SITES_BY_TOTAL };
	struct gmt_diff_options how = {
		.by = (enum gmt_diff_grouping)options->by,
		.key = keys[options->sort],
		.threshold_bytes = threshold,
	};
	struct gmt_diff_side base = borrow(&sides[GMT_DIFF_BASE]), now = borrow(&sides[GMT_DIFF_NEW]);
	struct gmt_diff diff = { 0 };
	struct gmt_error error = { 0 };
	int code = 0;

	if (gmt_diff_compute(&diff, &base, &now, &how, &error))
		return gmt_message_failure(&error);

	if (render(&diff, options, gmt_output_file(output), &error))
		code = gmt_message_failure(&error);
	else if (options->strict &&
		!(gmt_recording_complete(base.recording) && gmt_recording_complete(now.recording)))
		code = GMT_EXIT_INCOMPLETE;
	else if (options->exit_code && diff.differs)
		code = EXIT_DIFFERENT;
	gmt_diff_fini(&diff);
	return code;
}

static bool is_one_file(const char *left, const char *right)
{
	struct stat a, b;

	return stat(left, &a) == 0 && stat(right, &b) == 0 && a.st_dev == b.st_dev &&
		a.st_ino == b.st_ino;
}

static bool is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Compares the jobs in two folders. Returns the exit code. */
static int compare_jobs(const struct diff_options *options, char **folders, uint64_t threshold,
	struct gmt_symbols_cache *cache, struct gmt_output *output)
{
	const struct gmt_traces_options traces = {
		.symbol_directories = options->symbol_paths.items,
		.symbol_directory_count = options->symbol_paths.count,
		.symbols_cache = cache,
	};
	FILE *file = gmt_output_file(output);
	const struct gmt_diff_jobs jobs = {
		.folders = { folders[GMT_DIFF_BASE], folders[GMT_DIFF_NEW] },
		.traces = &traces,
		.limit = options->limit,
		.threshold_bytes = threshold,
		.json = options->json,
		.color = gmt_output_enable_color(file, (enum gmt_color)options->color),
	};
	bool differs, is_incomplete;
	int code = gmt_diff_jobs(&jobs, file, &differs, &is_incomplete);

	if (code)
		return code;
	if (options->strict && is_incomplete)
		return GMT_EXIT_INCOMPLETE;
	return options->exit_code && differs ? EXIT_DIFFERENT : 0;
}

static int check(const struct diff_options *options, int argc, char **argv, uint64_t *ret_threshold)
{
	if (argc != GMT_DIFF_SIDES) {
		gmt_message_error("diff: needs two recordings, the base and the new one, but got %d", argc);
		gmt_message_hint("gpumemtrace diff before.gmt.gz after.gmt.gz");
		return GMT_EXIT_USAGE;
	}
	if (is_folder(argv[GMT_DIFF_BASE]) != is_folder(argv[GMT_DIFF_NEW])) {
		gmt_message_error(
			"%s: is a folder: name two recordings, or two folders with the recordings of two jobs",
			argv[is_folder(argv[GMT_DIFF_BASE]) ? GMT_DIFF_BASE : GMT_DIFF_NEW]);
		return GMT_EXIT_UNREADABLE;
	}
	if (is_folder(argv[GMT_DIFF_BASE]) && (options->by || options->sort)) {
		gmt_message_error(
			"diff: --by and --sort are for two recordings: two folders are compared by the "
			"peaks of their ranks, by function");
		return GMT_EXIT_USAGE;
	}
	if (options->threshold && !gmt_text_parse_size(options->threshold, ret_threshold)) {
		gmt_message_error("diff: --threshold: `%s` is not a size: write 512, 64K or 1MiB",
			options->threshold);
		return GMT_EXIT_USAGE;
	}
	if (is_one_file(argv[GMT_DIFF_BASE], argv[GMT_DIFF_NEW])) {
		gmt_message_error("diff: %s and %s are the same file", argv[GMT_DIFF_BASE],
			argv[GMT_DIFF_NEW]);
		return GMT_EXIT_USAGE;
	}
	return 0;
}

int gmt_cmd_diff(const struct gmt_command *command, int argc, char **argv)
{
	struct diff_options options = { .limit = UINT64_MAX, .frames = UINT64_MAX };
	struct side sides[GMT_DIFF_SIDES] = { 0 };
	struct gmt_output *output = NULL;
	uint64_t threshold = 0;
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	code = check(&options, argc, argv, &threshold);
	if (!code) {
		const struct gmt_output_rules rules = {
			.inputs = { { (const char *const *)argv, GMT_DIFF_SIDES } },
			.force = options.force,
		};

		if (!is_folder(argv[GMT_DIFF_BASE]))
			gmt_newer_recordings_hint(argv, GMT_DIFF_SIDES);
		output = gmt_output_open(options.output, &rules);
		code = output ? 0 : GMT_EXIT_UNREADABLE;
	}

	struct gmt_symbols_cache *symbols_cache =
		code || options.no_symbol_cache ? NULL : gmt_symbols_cache_open();
	bool are_jobs = !code && is_folder(argv[GMT_DIFF_BASE]);
	if (are_jobs)
		code = compare_jobs(&options, argv, threshold, symbols_cache, output);
	for (int side = 0; !code && !are_jobs && side < GMT_DIFF_SIDES; side++)
		code = make_side(&sides[side], argv[side], &options, symbols_cache);
	gmt_symbols_cache_close(symbols_cache);
	if (!code && !are_jobs)
		code = compare(sides, &options, threshold, output);
	for (int side = 0; side < GMT_DIFF_SIDES; side++)
		free_side(&sides[side]);
	gmt_work_limit_report("diff");
	/* After an error, the output may be incomplete. */
	if (code && code != EXIT_DIFFERENT && code != GMT_EXIT_INCOMPLETE) {
		gmt_output_discard(output);
		return code;
	}
	return gmt_output_close(output, code);
}
