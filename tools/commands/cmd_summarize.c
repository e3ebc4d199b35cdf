/* SPDX-License-Identifier: MIT */
#include <limits.h>

#include "format/file/sink.h"
#include "tools/options/command.h"
#include "tools/output/message.h"
#include "tools/output/output.h"
#include "tools/pipeline/summarize.h"
#include "tools/pipeline/symbol_options.h"
#include "tools/output/exit_codes.h"
#include "tools/recordings/standard_input.h"
#include "tools/report/job_files.h"
#include "tools/report/report_each.h"
#include "tools/report/report_each_parallel.h"

struct summarize_options {
	const char *output;
	bool force, no_symbol_cache;
	struct gmt_option_texts symbol_paths;
};

#define OFFSET_OF(field) offsetof(struct summarize_options, field)
const struct gmt_option_row gmt_option_rows_summarize[] = {
	{ "output", 'o', GMT_OPTION_TEXT, "FILE", OFFSET_OF(output),
		"write the summary of one recording to FILE (default: next to each recording, with "
		"" GMT_SUMMARY_SUFFIX " in place of .gmt.gz)" },
	{ "force", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(force),
		"allow --output to replace a recording or an input file" },
	GMT_SYMBOLS_OPTIONS(OFFSET_OF(symbol_paths), OFFSET_OF(no_symbol_cache)),
	{ 0 },
};
#undef OFFSET_OF

enum { GZIP_LEVEL = 9 };

/* Returns the exit code. */
static int write_summary(const char *to, const struct gmt_summary_bytes *summary,
	struct gmt_output *output)
{
	struct gmt_error error = { 0 };
	struct gmt_sink *sink;
	enum gmt_status closed,
		status = gmt_sink_open(gmt_output_descriptor(output), GZIP_LEVEL, &sink, &error);

	if (!status)
		status = gmt_sink_push(sink, summary->bytes.items, summary->bytes.count, &error);
	closed = gmt_sink_close(sink, status ? NULL : &error);
	if (!status && !closed)
		return 0;
	gmt_message_error("%s: %s", to, error.text);
	return GMT_EXIT_UNREADABLE;
}

struct summarizing {
	const struct summarize_options *options;
	const struct gmt_traces_options *traces;
};

/* Writes the summary of one recording, usually in a process of its own. Returns the exit code. */
static int summarize(const void *context, const char *path, struct gmt_report_each_output *unused)
{
	const struct summarizing *how = context;
	const struct gmt_output_rules rules = { .inputs = { { &path, 1 } },
		.force = how->options->force };
	const char *to = how->options->output;
	struct gmt_summary_bytes summary = { 0 };
	struct gmt_output *output;
	char target[PATH_MAX];
	int code;

	(void)unused;
	if (!to && !gmt_summary_path(path, target)) {
		gmt_message_error("%s: the name of its summary would be too long", path);
		return GMT_EXIT_UNREADABLE;
	}
	to = to ? to : target;
	output = gmt_output_open_bytes(to, &rules);
	if (!output)
		return GMT_EXIT_UNREADABLE;
	code = gmt_summarize_recording(path, how->traces, &summary);
	if (!code)
		code = write_summary(to, &summary, output);
	gmt_vec_fini(&summary.bytes);
	if (code) {
		gmt_output_discard(output);
		return code;
	}
	return gmt_output_close(output, 0);
}

/* Returns the last exit code that is not 0. */
static int summarize_all(const struct summarizing *how, int count, char **paths)
{
	const struct gmt_report_each files = {
		.count = count, .paths = paths, .report = summarize, .context = how
	};
	struct gmt_report_each_output output = { .file = stdout };
	struct gmt_report_each_parallel *parallel = gmt_report_each_parallel_open(&files, &output);
	int worst = 0;

	for (int i = 0; i < count; i++) {
		int code;

		if (!gmt_report_each_parallel_take(parallel, i, &output, &code))
			code = summarize(how, paths[i], &output);
		worst = code ? code : worst;
	}
	gmt_report_each_parallel_close(parallel);
	return worst;
}

int gmt_cmd_summarize(const struct gmt_command *command, int argc, char **argv)
{
	struct summarize_options options = { 0 };
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (!argc || (argc > 1 && options.output)) {
		gmt_message_error(argc ? "summarize: --output is for one recording; without it, each "
								 "summary is written next to its recording"
							   : "summarize: no recording is given");
		return GMT_EXIT_USAGE;
	}
	if (!options.output &&
		!gmt_standard_input_is_absent("summarize",
			"it has no name: --output=FILE names the summary", argc, argv))
		return GMT_EXIT_USAGE;

	struct gmt_traces_options traces = {
		.symbol_directories = options.symbol_paths.items,
		.symbol_directory_count = options.symbol_paths.count,
		.symbols_cache = options.no_symbol_cache ? NULL : gmt_symbols_cache_open(),
	};
	code = summarize_all(&(struct summarizing){ &options, &traces }, argc, argv);
	gmt_symbols_cache_close(traces.symbols_cache);
	return code;
}
