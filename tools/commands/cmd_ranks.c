/* SPDX-License-Identifier: MIT */
#include "render/ranks.h"
#include "tools/options/command.h"
#include "tools/output/message.h"
#include "tools/output/output.h"
#include "tools/output/terminal.h"
#include "tools/pipeline/symbol_options.h"
#include "tools/recordings/load_input.h"
#include "tools/report/job_files.h"

struct ranks_options {
	const char *output, *job;
	bool json, full, strict, force, no_symbol_cache;
	int color;
	struct gmt_option_texts symbol_paths;
};

#define AT(field) offsetof(struct ranks_options, field)
const struct gmt_option_row gmt_table_ranks[] = {
	{ "json", 0, GMT_OPTION_FLAG, NULL, AT(json), "JSON instead of text, with all ranks" },
	{ "full", 0, GMT_OPTION_FLAG, NULL, AT(full),
		"print all ranks, lines and remarks (default: one screen)" },
	{ "job", 0, GMT_OPTION_TEXT, "NAME", AT(job),
		"for files of several jobs: the job whose name contains NAME "
		"(default: the job with most files)" },
	GMT_SYMBOLS_OPTIONS(AT(symbol_paths), AT(no_symbol_cache)),
	{ "strict", 0, GMT_OPTION_FLAG, NULL, AT(strict),
		"exit with 4 if a rank is missing or its recording is incomplete" },
	{ "color", 0, GMT_OPTION_WORD, "auto|always|never", AT(color),
		"colours (default: on a terminal)" },
	{ "output", 'o', GMT_OPTION_TEXT, "FILE", AT(output), "write to FILE" },
	{ "force", 0, GMT_OPTION_FLAG, NULL, AT(force),
		"allow --output to replace a recording or an input file" },
	{ 0 },
};
#undef AT

/* Writes the document. Returns false if memory is exhausted. */
static bool render(const struct gmt_job *job, const struct gmt_job_files *files,
	const struct ranks_options *options, FILE *file)
{
	const struct gmt_ranks_view view = {
		.job = job,
		.remarks = files->remarks.items,
		.remark_count = files->remarks.count,
		.columns = gmt_terminal_columns(file),
		.color = gmt_output_color(file, (enum gmt_color)options->color),
		.has_blocks = gmt_terminal_is_utf8(),
		.is_full = options->full,
	};
	struct gmt_json json = { .file = file };

	if (!options->json)
		return gmt_ranks_text(&view, file);
	gmt_ranks_json(&view, &json);
	fputc('\n', file);
	return true;
}

/* Makes the job and writes the document. Returns the exit code. */
static int write_job(struct gmt_job_files *files, const struct ranks_options *options,
	struct gmt_output *output, int code)
{
	const struct gmt_job_input input = {
		.store = &files->store,
		.summaries = files->summaries.items,
		.count = files->summaries.count,
		.wanted = options->job,
	};
	struct gmt_job job = { 0 };
	struct gmt_error error = { 0 };

	if (gmt_job_init(&job, &input, &error) ||
		(!render(&job, files, options, gmt_output_file(output)) &&
			gmt_error_set(&error, GMT_NO_MEMORY, "out of memory"))) {
		gmt_output_discard(output);
		code = gmt_message_failure(&error);
	} else {
		if (!code && options->strict && (job.incomplete || job.missing.count))
			code = GMT_EXIT_INCOMPLETE;
		code = gmt_output_close(output, code);
	}
	gmt_job_fini(&job);
	return code;
}

/* Reads the files and writes the document. Returns the exit code. */
static int judge(struct gmt_job_files *files, const struct ranks_options *options,
	const struct gmt_traces_options *traces, struct gmt_output *output, int code)
{
	int answer = gmt_job_files_read(files, traces);

	code = answer ? answer : code;
	if (files->summaries.count)
		return write_job(files, options, output, code);
	for (size_t i = 0; i < files->remarks.count; i++)
		gmt_message_hint("%s", files->remarks.items[i]);
	gmt_message_error("ranks: no recording or summary was read");
	gmt_output_discard(output);
	return GMT_EXIT_UNREADABLE;
}

int gmt_cmd_ranks(const struct gmt_command *command, int argc, char **argv)
{
	struct ranks_options options = { 0 };
	struct gmt_job_files files = { 0 };
	struct gmt_output *output;
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (!argc) {
		gmt_message_error("ranks: no recording, summary or folder is given");
		return GMT_EXIT_USAGE;
	}

	const struct gmt_output_rules rules = {
		.inputs = { { (const char *const *)argv, (size_t)argc } }, .force = options.force
	};
	struct gmt_traces_options traces = {
		.symbol_directories = options.symbol_paths.items,
		.symbol_directory_count = options.symbol_paths.count,
		.symbols_cache = options.no_symbol_cache ? NULL : gmt_symbols_cache_open(),
	};
	output = gmt_output_open(options.output, &rules);
	code = GMT_EXIT_UNREADABLE;
	if (output) {
		code = gmt_job_files_find(&files, argc, argv);
		code = judge(&files, &options, &traces, output, code);
	}
	gmt_symbols_cache_close(traces.symbols_cache);
	gmt_job_files_fini(&files);
	return code;
}
