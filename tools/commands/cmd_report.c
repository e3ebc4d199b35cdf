/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "render/report.h"
#include "tools/options/command.h"
#include "tools/options/moment.h"
#include "tools/report/report_each.h"
#include "tools/output/exit_codes.h"
#include "tools/recordings/default_recording.h"
#include "tools/recordings/standard_input.h"
#include "tools/output/output.h"
#include "tools/pipeline/owner_options.h"
#include "tools/report/page_document.h"
#include "tools/pipeline/pipeline.h"
#include "tools/report/job_first_screen.h"
#include "tools/report/report_page.h"
#include "tools/report/report_stretch.h"
#include "tools/report/render_inputs.h"
#include "tools/output/message.h"
#include "tools/pipeline/symbol_options.h"
#include "tools/pipeline/allocator_state_results.h"
#include "tools/pipeline/work_limit.h"

struct report_options {
	struct gmt_report_each_options files;
	bool full, no_symbol_cache;
	uint64_t limit, frames, sections;
	struct gmt_moment until;
	struct gmt_stretch_option stretch;
	int native, sort, by;
	const char *html;
	struct gmt_option_texts symbol_paths;
};

enum { SORT_PEAK, SORT_LIVE, SORT_TOTAL, SORT_ALL };

#define OFFSET_OF(field) offsetof(struct report_options, field)
/* The words of option --section, in the order of enum gmt_report_section. */
static const char SECTION_WORDS[] =
#define GMT_REPORT_SECTION(NAME, name, ...) "|" name
#include "render/report_sections.def"
#undef GMT_REPORT_SECTION
	;
/* The words of option --by, in the order of enum gmt_table_grouping: "|line|function|...". */
static const char BY_WORDS[] =
#define GMT_TABLE_KEY(NAME, name, ...) "|" name
#include "analysis/tables/table_keys.def"
#undef GMT_TABLE_KEY
	;

const struct gmt_option_row gmt_option_rows_report[] = {
	{ "json", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(files.json),
		"JSON instead of text, with all sites and whole stacks; one line for each file" },
	{ "html", 0, GMT_OPTION_OPTIONAL_TEXT, "FILE", OFFSET_OF(html),
		"one HTML page with the whole history, to open in a browser "
		"(default: the recording's name with .html)" },
	{ "until", 0, GMT_OPTION_MOMENT, GMT_MOMENT_VALUES, OFFSET_OF(until),
		"report the state at this moment: " GMT_MOMENT_MEANING },
	{ "from", 0, GMT_OPTION_MOMENT, GMT_MOMENT_VALUES, OFFSET_OF(stretch.from),
		"with --json: only what happened from this moment to the end or to --until: what was "
		"allocated, what is left of it, the peak in between" },
	{ "phase", 0, GMT_OPTION_TEXT, "NAME", OFFSET_OF(stretch.phase),
		"with --json: only what happened in the last phase of this name" },
	GMT_SYMBOLS_OPTIONS(OFFSET_OF(symbol_paths), OFFSET_OF(no_symbol_cache)),
	GMT_OWNERS_OPTION(OFFSET_OF(files.owners)),
	{ "sort", 0, GMT_OPTION_WORD, "peak|live|total|all", OFFSET_OF(sort),
		"show only the list of sites sorted by this (default: all three lists; JSON: by peak)" },
	{ "limit", 0, GMT_OPTION_NUMBER, "N", OFFSET_OF(limit),
		"sites in a list (default: 10 in the first list, 5 in the others; JSON: all)" },
	{ "by", 0, GMT_OPTION_WORD, BY_WORDS + 1, OFFSET_OF(by),
		"print only a table grouped by this (JSON: in addition)" },
	{ "full", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(full),
		"print all sections (default: the first screen, which has the answers)" },
	{ "section", 0, GMT_OPTION_WORDS, SECTION_WORDS + 1, OFFSET_OF(sections),
		"print only these sections, in full; several as NAME,NAME (JSON always has all)" },
	{ "frames", 0, GMT_OPTION_NUMBER, "N", OFFSET_OF(frames),
		"lines of stack for each site (default: 6)" },
	GMT_NATIVE_OPTION(OFFSET_OF(native)),
	GMT_REPORT_EACH_LAST_OPTIONS(OFFSET_OF(files)),
	{ 0 },
};
#undef OFFSET_OF

enum { UNSET = -1 };

static enum gmt_sites_order key_of(const struct report_options *options)
{
	return options->sort == SORT_LIVE ? GMT_SITES_BY_LIVE
		: options->sort == SORT_TOTAL ? GMT_SITES_BY_TOTAL
									  : GMT_SITES_BY_PEAK;
}

/*
 * Returns the sections that the options ask for. --sort and --by name a list and a table. Without
 * any of them, the first screen.
 */
static uint64_t sections_of(const struct report_options *options)
{
	uint64_t sections = options->sections;

	if (options->full)
		sections |= gmt_report_full;
	if (options->sort != UNSET && options->by < 0)
		sections |= GMT_REPORT_SECTION_BIT(SITES);
	if (options->by >= 0)
		sections |= GMT_REPORT_SECTION_BIT(TABLE);
	return sections ? sections : GMT_REPORT_SECTION_BIT(SUMMARY);
}

static enum gmt_status render(struct gmt_pipeline *pipeline,
	struct gmt_allocator_state_results *allocator_state, const struct report_options *options,
	struct gmt_report_each_output *output, unsigned number, struct gmt_error *error)
{
	struct gmt_leaks_view leaks = gmt_leaks_view_of(pipeline);
	struct gmt_report report = gmt_report_of(pipeline, &leaks, &allocator_state->view);

	leaks.step_parts = &pipeline->step_parts;
	leaks.phase_memory = &pipeline->phase_memory;
	leaks.frames = options->frames;
	leaks.is_bounded = options->html;
	leaks.brief = options->full || !(options->sections & GMT_REPORT_SECTION_BIT(LEAKS));
	report.has_until = options->until.kind != GMT_MOMENT_NOT_GIVEN;
	report.limit = options->limit;
	report.frames = options->frames;
	report.all_lists = options->sort == UNSET || options->sort == SORT_ALL;
	report.order = key_of(options);
	report.sections = sections_of(options);
	report.is_full = options->full;
	report.columns = output->columns;
	report.is_utf8 = output->is_utf8;
	report.color = output->color && !options->html;
	allocator_state->view.limit = options->limit;
	allocator_state->view.color = report.color;
	if (options->html)
		return gmt_report_page_write(&pipeline->page, &report, number, output->file)
			? GMT_OK
			: gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	if (options->files.json) {
		gmt_report_json(&report, &output->json);
		gmt_report_each_end_json(output);
	} else {
		gmt_report_each_begin_text(output);
		if (!gmt_report_text(&report, output->file))
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	return GMT_OK;
}

/* The data for all files. */
struct context {
	const struct report_options *options;
	const struct gmt_owner_rules *owners;
	char **paths;
	bool is_summary; /* one line for each recording */
};

/* Returns the number of a recording on the command line, which may name a file twice. */
static unsigned number_of(const struct context *context, const char *path)
{
	unsigned number = 0;

	while (context->paths[number] != path)
		number++;
	return number;
}

/* The caller closes the cache of symbols. */
static struct gmt_traces_options traces_options(const struct context *context)
{
	const struct report_options *options = context->options;

	return (struct gmt_traces_options){
		.native = (enum gmt_traces_native)options->native,
		.symbol_directories = options->symbol_paths.items,
		.symbol_directory_count = options->symbol_paths.count,
		.symbols_cache = options->no_symbol_cache ? NULL : gmt_symbols_cache_open(),
		.owner_rules = context->owners,
	};
}

static int report_stretch(const void *user, const char *path, struct gmt_report_each_output *output)
{
	const struct context *context = user;
	const struct gmt_traces_options traces = traces_options(context);
	const struct gmt_report_stretch stretch = { context->options->stretch, context->options->until,
		context->options->limit, &traces };
	int code = gmt_report_stretch(&stretch, path, output);

	gmt_symbols_cache_close(traces.symbols_cache);
	gmt_work_limit_report(path);
	return code;
}

static int report_file(const void *user, const char *path, struct gmt_report_each_output *output)
{
	const struct context *context = user;
	const struct report_options *options = context->options;
	struct gmt_pipeline pipeline = { 0 };
	struct gmt_allocator_state_results allocator_state = { 0 };
	struct gmt_pipeline_options pipeline_options = {
		.traces = traces_options(context),
		.until = options->until,
		.leaks = gmt_pipeline_default_leaks,
		.wants_report_details = true,
		.wants_page = options->html,
	};
	struct gmt_error error = { 0 };
	int code = gmt_pipeline_load(path, &pipeline_options, &pipeline);

	if (!code) {
		output->is_incomplete |=
			!gmt_recording_complete(pipeline.recording) || pipeline.leaks.is_compacted_away;
		if (context->is_summary)
			gmt_job_first_screen_write_row(&pipeline, output->file);
		else if (gmt_allocator_state_results_compute(&allocator_state, &pipeline, options->by,
					 key_of(options), &error) ||
			render(&pipeline, &allocator_state, options, output, number_of(context, path), &error))
			code = gmt_message_failure(&error);
	}
	if (code && options->html)
		gmt_report_page_write_unreadable(path, output->file);
	gmt_allocator_state_results_fini(&allocator_state);
	gmt_pipeline_fini(&pipeline);
	gmt_symbols_cache_close(pipeline_options.traces.symbols_cache);
	gmt_work_limit_report(path);
	return code;
}

/* Returns whether --html is possible with the other options. If not, prints an error. */
static bool check_html(const struct report_options *options, int *ret_code)
{
	*ret_code = GMT_EXIT_USAGE;
	if (options->files.json || options->files.output) {
		gmt_message_error("report: --html and --%s exclude each other",
			options->files.json ? "json" : "output");
		gmt_message_hint("--html=FILE names the file of the page");
		return false;
	}
	*ret_code = GMT_EXIT_UNREADABLE;
	return gmt_report_page_require("report");
}

int gmt_cmd_report(const struct gmt_command *command, int argc, char **argv)
{
	struct report_options options = {
		.limit = UINT64_MAX,
		.frames = 6,
		.sort = UNSET,
		.by = UNSET,
	};
	struct gmt_owner_rules owners = { 0 };
	struct context context = { .options = &options, .owners = &owners, .paths = argv };
	char page[PATH_MAX];
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (options.by < 0 && options.sections & GMT_REPORT_SECTION_BIT(TABLE))
		options.by = GMT_TABLE_LINE;
	if (!gmt_report_stretch_check(&options.stretch, &options.until, options.files.json))
		return GMT_EXIT_USAGE;
	if (options.html && !check_html(&options, &code))
		return code;
	if (options.html && !*options.html &&
		!gmt_standard_input_is_absent("report", "it has no name: --html=FILE names the page", argc,
			argv))
		return GMT_EXIT_USAGE;
	if (!gmt_default_recording("report", &argc, argv))
		return GMT_EXIT_USAGE;
	context.is_summary = argc > 1 && !options.files.json && !options.html &&
		sections_of(&options) == GMT_REPORT_SECTION_BIT(SUMMARY);
	if (options.html)
		options.files.output = gmt_report_page_file_name(options.html, argv[0], page);
	return gmt_report_each_recording(&(struct gmt_report_each){ .count = argc,
										 .paths = argv,
										 .options = &options.files,
										 .report = gmt_stretch_is_given(&options.stretch)
											 ? report_stretch
											 : report_file,
										 .context = &context,
										 .assemble = options.html ? gmt_page_document_write
											 : context.is_summary ? gmt_job_first_screen_write
																  : NULL,
										 .assembles_text = context.is_summary },
		&owners);
}
