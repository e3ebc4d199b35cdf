/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "render/report.h"
#include "tools/options/command.h"
#include "tools/pipeline/files.h"
#include "tools/recordings/input.h"
#include "tools/output/output.h"
#include "tools/pipeline/owner_options.h"
#include "tools/pipeline/pipeline.h"
#include "tools/output/message.h"
#include "tools/pipeline/symbol_options.h"
#include "tools/pipeline/allocator_state_parts.h"
#include "tools/pipeline/work_limit.h"

struct report_options {
	bool json, strict, no_symbol_cache, force;
	uint64_t until, limit, frames;
	int color, native, sort, by, section;
	const char *output;
	struct gmt_option_texts symbol_paths, owners;
};

enum { SORT_PEAK, SORT_LIVE, SORT_TOTAL, SORT_ALL };

#define AT(field) offsetof(struct report_options, field)
/* The words of option --by, in the order of enum gmt_table_key: "|line|function|...". */
static const char BY_WORDS[] =
#define GMT_TABLE_KEY(NAME, name, ...) "|" name
#include "analysis/tables/table_keys.def"
#undef GMT_TABLE_KEY
	;

const struct gmt_option_row gmt_table_report[] = {
	{ "json", 0, GMT_OPTION_FLAG, NULL, AT(json),
		"JSON instead of text, with all sites and whole stacks" },
	{ "until", 0, GMT_OPTION_NUMBER, "NS", AT(until),
		"report the state at this moment: nanoseconds since the recording began (from 10^17 on: since 1970)" },
	GMT_SYMBOLS_OPTIONS(AT(symbol_paths), AT(no_symbol_cache)),
	GMT_OWNERS_OPTION(AT(owners)),
	{ "sort", 0, GMT_OPTION_WORD, "peak|live|total|all", AT(sort),
		"show only the list of sites sorted by this (default: all three lists; JSON: by peak)" },
	{ "limit", 0, GMT_OPTION_NUMBER, "N", AT(limit),
		"sites in a list (default: 10 in the first list, 5 in the others; JSON: all)" },
	{ "by", 0, GMT_OPTION_WORD, BY_WORDS + 1, AT(by),
		"print only a table grouped by this (JSON: in addition)" },
	{ "section", 0, GMT_OPTION_WORD, "peak|segments|allocator|temporaries", AT(section),
		"print only this section, in full (JSON always has all)" },
	{ "frames", 0, GMT_OPTION_NUMBER, "N", AT(frames),
		"lines of stack for each site (default: 6)" },
	{ "native", 0, GMT_OPTION_WORD, "trimmed|all|none", AT(native),
		"native frames: all except the Python interpreter's (default), all, or none if the stack has Python frames" },
	{ "strict", 0, GMT_OPTION_FLAG, NULL, AT(strict),
		"exit with 4 if the recording is incomplete" },
	{ "color", 0, GMT_OPTION_WORD, "auto|always|never", AT(color),
		"colours (default: on a terminal)" },
	{ "output", 'o', GMT_OPTION_TEXT, "FILE", AT(output), "write to FILE" },
	{ "force", 0, GMT_OPTION_FLAG, NULL, AT(force),
		"allow --output to replace a recording or an input file" },
	{ 0 },
};
#undef AT

enum { UNSET = -1 };

static enum gmt_sites_key key_of(const struct report_options *options)
{
	return options->sort == SORT_LIVE ? GMT_SITES_BY_LIVE
		: options->sort == SORT_TOTAL ? GMT_SITES_BY_TOTAL
									  : GMT_SITES_BY_PEAK;
}

static enum gmt_status render(struct gmt_pipeline *pipeline,
	struct gmt_allocator_state_parts *allocator_state, const struct report_options *options,
	struct gmt_files_output *output, struct gmt_error *error)
{
	struct gmt_leaks_view leaks = {
		.snapshot = pipeline->snapshot,
		.traces = &pipeline->traces,
		.replay = &pipeline->replay,
		.timeline = &pipeline->timeline,
		.history = &pipeline->history,
		.leaks = &pipeline->leaks,
		.step_parts = &pipeline->step_parts,
		.limit = UINT64_MAX,
		.frames = options->frames,
		.brief = true,
	};
	struct gmt_report report = {
		.snapshot = pipeline->snapshot,
		.traces = &pipeline->traces,
		.replay = &pipeline->replay,
		.summary = &pipeline->summary,
		.sites = &pipeline->sites,
		.warnings = &pipeline->warnings,
		.ooms = &pipeline->ooms,
		.ledger = &pipeline->ledger,
		.heaps = &pipeline->heaps,
		.has_until = options->until != UINT64_MAX,
		.limit = options->limit,
		.frames = options->frames,
		.all_lists = options->sort == UNSET || options->sort == SORT_ALL,
		.key = key_of(options),
		.allocator_state = &allocator_state->view,
		.leaks = &leaks,
		.section = options->by >= 0 ? GMT_ALLOCATOR_STATE_TABLE
			: options->section >= 0 ? GMT_ALLOCATOR_STATE_PEAK + options->section
									: GMT_ALLOCATOR_STATE_SHORT,
		.color = output->color,
	};

	allocator_state->view.limit = options->limit;
	allocator_state->view.color = report.color;
	if (options->json)
		gmt_report_json(&report, &output->json);
	else if (!gmt_report_text(&report, output->file))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return GMT_OK;
}

/* The data for all files. */
struct context {
	const struct report_options *options;
	const struct gmt_owner_rules *owners;
};

static int report_file(const void *user, const char *path, struct gmt_files_output *output)
{
	const struct context *context = user;
	const struct report_options *options = context->options;
	struct gmt_pipeline pipeline = { 0 };
	struct gmt_allocator_state_parts allocator_state = { 0 };
	struct gmt_pipeline_options pipeline_options = {
		.traces = {
			.native = (enum gmt_traces_native)options->native,
			.symbol_directories = options->symbol_paths.items,
			.symbol_directory_count = options->symbol_paths.count,
			.symbols_cache = options->no_symbol_cache ? NULL : gmt_symbols_cache_open(),
			.owner_rules = context->owners,
		},
		.until = options->until,
		.leaks = gmt_pipeline_default_leaks,
		.wants_allocator_state = true,
	};
	struct gmt_error error = { 0 };
	int code = gmt_pipeline_load(path, &pipeline_options, &pipeline);

	if (!code) {
		output->is_incomplete |=
			!gmt_snapshot_complete(pipeline.snapshot) || pipeline.leaks.is_compacted_away;
		if (gmt_allocator_state_parts_init(&allocator_state, &pipeline, options->by,
				key_of(options), &error) ||
			render(&pipeline, &allocator_state, options, output, &error))
			code = gmt_message_failure(&error);
	}
	gmt_allocator_state_parts_fini(&allocator_state);
	gmt_pipeline_fini(&pipeline);
	gmt_symbols_cache_close(pipeline_options.traces.symbols_cache);
	gmt_work_report(path);
	return code;
}

int gmt_cmd_report(const struct gmt_command *command, int argc, char **argv)
{
	struct report_options options = {
		.until = UINT64_MAX,
		.limit = UINT64_MAX,
		.frames = 6,
		.sort = UNSET,
		.by = UNSET,
		.section = UNSET,
	};
	struct gmt_owner_rules owners = { 0 };
	struct context context = { .options = &options, .owners = &owners };
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	return gmt_files_report_with_owners("report",
		&(struct gmt_files){ .count = argc,
			.paths = argv,
			.output = options.output,
			.owners = &options.owners,
			.force = options.force,
			.json = options.json,
			.strict = options.strict,
			.color = (enum gmt_color)options.color,
			.schema = "gpumemtrace.reports/1",
			.key = "reports",
			.report = report_file,
			.context = &context },
		&owners);
}
