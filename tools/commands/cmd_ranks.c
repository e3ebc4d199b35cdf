/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "render/ranks.h"
#include "tools/options/command.h"
#include "tools/output/message.h"
#include "tools/output/output.h"
#include "tools/output/terminal.h"
#include "tools/pipeline/symbol_options.h"
#include "tools/output/exit_codes.h"
#include "tools/recordings/standard_input.h"
#include "tools/report/job_files.h"
#include "tools/report/ranks_page.h"
#include "tools/report/report_page.h"

struct ranks_options {
	const char *output, *job, *html, *pages;
	bool json, full, strict, force, no_symbol_cache;
	int color;
	struct gmt_option_texts symbol_paths;
};

#define OFFSET_OF(field) offsetof(struct ranks_options, field)
const struct gmt_option_row gmt_option_rows_ranks[] = {
	{ "json", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(json), "JSON instead of text, with all ranks" },
	{ "full", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(full),
		"print all ranks, lines and remarks (default: one screen)" },
	{ "html", 0, GMT_OPTION_OPTIONAL_TEXT, "FILE", OFFSET_OF(html),
		"one HTML page with a map of all ranks and steps, to open in a browser "
		"(default: the folder's name with .html)" },
	{ "pages", 0, GMT_OPTION_TEXT, "N|all", OFFSET_OF(pages),
		"with --html: put the histories of up to N recordings into the page, those of the ranks "
		"that stand out first (default: 8)" },
	{ "job", 0, GMT_OPTION_TEXT, "NAME", OFFSET_OF(job),
		"for files of several jobs: the job whose name contains NAME "
		"(default: the job with most files)" },
	GMT_SYMBOLS_OPTIONS(OFFSET_OF(symbol_paths), OFFSET_OF(no_symbol_cache)),
	{ "strict", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(strict),
		"exit with 4 if a rank is missing or its recording is incomplete" },
	{ "color", 0, GMT_OPTION_WORD, "auto|always|never", OFFSET_OF(color),
		"colours (default: on a terminal)" },
	{ "output", 'o', GMT_OPTION_TEXT, "FILE", OFFSET_OF(output), "write to FILE" },
	{ "force", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(force),
		"allow --output to replace a recording or an input file" },
	{ 0 },
};
#undef OFFSET_OF

/* The files and how to show them. */
struct task {
	const struct ranks_options *options;
	const struct gmt_traces_options *traces;
	struct gmt_job_files *files;
	uint64_t pages; /* maximum number of recordings in the page */
};

/* Writes the document. Returns an exit code, or -1 after an error message. */
static int render(const struct task *task, const struct gmt_job *job, FILE *file)
{
	const struct ranks_options *options = task->options;
	const struct gmt_ranks_view view = {
		.job = job,
		.remarks = task->files->remarks.items,
		.remark_count = task->files->remarks.count,
		.columns = gmt_terminal_columns(file),
		.color = !options->html && gmt_output_enable_color(file, (enum gmt_color)options->color),
		.is_utf8 = gmt_terminal_is_utf8(),
		.is_full = options->full,
	};
	struct gmt_json json = { .file = file };

	if (options->html)
		return gmt_ranks_page_write(&(struct gmt_ranks_page){ &view, task->traces, task->pages },
			file);
	if (options->json) {
		gmt_ranks_json(&view, &json);
		fputc('\n', file);
		return 0;
	}
	if (gmt_ranks_text(&view, file))
		return 0;
	gmt_message_error("out of memory");
	return -1;
}

/* Combines the summaries into a job and writes the document. Returns the exit code. */
static int write_job(const struct task *task, struct gmt_output *output, int code)
{
	const struct gmt_job_input input = {
		.store = &task->files->store,
		.summaries = task->files->summaries.items,
		.count = task->files->summaries.count,
		.wanted = task->options->job,
	};
	struct gmt_job job = { 0 };
	struct gmt_error error = { 0 };
	int answer;

	if (gmt_job_init(&job, &input, &error)) {
		gmt_output_discard(output);
		code = gmt_message_failure(&error);
	} else if ((answer = render(task, &job, gmt_output_file(output))) < 0) {
		gmt_output_discard(output);
		code = GMT_EXIT_UNREADABLE;
	} else {
		code = answer ? answer : code;
		if (!code && task->options->strict && (job.incomplete || job.missing.count))
			code = GMT_EXIT_INCOMPLETE;
		code = gmt_output_close(output, code);
	}
	gmt_job_fini(&job);
	return code;
}

/* Reads the files and writes the document. Returns the exit code. */
static int judge(const struct task *task, struct gmt_output *output, int code)
{
	struct gmt_job_files *files = task->files;
	int answer = gmt_job_files_read(files, task->traces);

	code = answer ? answer : code;
	if (files->summaries.count)
		return write_job(task, output, code);
	for (size_t i = 0; i < files->remarks.count; i++)
		gmt_message_hint("%s", files->remarks.items[i]);
	gmt_message_error("ranks: no recording or summary was read");
	gmt_output_discard(output);
	return GMT_EXIT_UNREADABLE;
}

/* Parses the value of --pages. If it is invalid, prints an error and returns false. */
static bool parse_pages(const char *text, uint64_t *ret_pages)
{
	char *end;

	*ret_pages = GMT_RANKS_PAGE_RECORDINGS;
	if (!text)
		return true;
	*ret_pages = UINT64_MAX;
	if (strcmp(text, "all") == 0)
		return true;
	*ret_pages = strtoull(text, &end, 10);
	if (isdigit((unsigned char)*text) && !*end)
		return true;
	gmt_message_error("ranks: --pages needs a number or `all`, not `%s`", text);
	return false;
}

/* Returns whether the options fit together. If not, prints an error. */
static bool check(const struct ranks_options *options, int *ret_code)
{
	*ret_code = GMT_EXIT_USAGE;
	if (options->html && (options->json || options->output)) {
		gmt_message_error("ranks: --html and --%s exclude each other",
			options->json ? "json" : "output");
		gmt_message_hint("--html=FILE names the file of the page");
		return false;
	}
	if (options->pages && !options->html) {
		gmt_message_error("ranks: --pages needs --html");
		return false;
	}
	*ret_code = GMT_EXIT_UNREADABLE;
	return !options->html || gmt_report_page_require("ranks");
}

/* Returns the file for the page: by default in the current folder, with the name of the operand. */
static const char *page_target(const char *wanted, const char *operand, char buffer[PATH_MAX])
{
	char name[PATH_MAX];
	size_t length;

	snprintf(name, sizeof(name), "%s", operand);
	length = strlen(name);
	while (length && name[length - 1] == '/')
		name[--length] = '\0';
	/* Such a path does not contain the name of the folder. */
	if (!length || strcmp(name, ".") == 0 || (length > 1 && strcmp(name + length - 2, "..") == 0))
		snprintf(name, sizeof(name), "ranks");
	return gmt_report_page_file_name(wanted, name, buffer);
}

int gmt_cmd_ranks(const struct gmt_command *command, int argc, char **argv)
{
	struct ranks_options options = { 0 };
	struct gmt_job_files files = { 0 };
	struct task task = { .options = &options, .files = &files };
	struct gmt_output *output;
	char page[PATH_MAX];
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (!argc) {
		gmt_message_error("ranks: no recording, summary or folder is given");
		return GMT_EXIT_USAGE;
	}
	if (!gmt_standard_input_is_absent("ranks", "a job has several files: name them or their folder",
			argc, argv) ||
		!parse_pages(options.pages, &task.pages))
		return GMT_EXIT_USAGE;
	if (!check(&options, &code))
		return code;

	const struct gmt_output_rules rules = {
		.inputs = { { (const char *const *)argv, (size_t)argc } }, .force = options.force
	};
	struct gmt_traces_options traces = {
		.symbol_directories = options.symbol_paths.items,
		.symbol_directory_count = options.symbol_paths.count,
		.symbols_cache = options.no_symbol_cache ? NULL : gmt_symbols_cache_open(),
	};
	task.traces = &traces;
	output = options.html
		? gmt_output_open_document(page_target(options.html, argv[0], page), &rules)
		: gmt_output_open(options.output, &rules);
	code = GMT_EXIT_UNREADABLE;
	if (output) {
		code = gmt_job_files_find(&files, argc, argv);
		code = judge(&task, output, code);
	}
	gmt_symbols_cache_close(traces.symbols_cache);
	gmt_job_files_fini(&files);
	return code;
}
