/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "model/clock.h"
#include "render/report.h"
#include "tools/command.h"
#include "tools/input.h"
#include "tools/output.h"
#include "tools/say.h"
#include "tools/where_parts.h"

struct report_options {
	bool json, strict;
	uint64_t until, limit, frames;
	int color, native, sort, by, section;
	const char *output;
	struct gmt_option_texts symbol_paths;
};

enum { SORT_PEAK, SORT_LIVE, SORT_TOTAL, SORT_ALL };

#define AT(field) offsetof(struct report_options, field)
const struct gmt_option_row gmt_table_report[] = {
	{ "json", 0, GMT_OPTION_FLAG, NULL, AT(json),
	  "JSON instead of text, with every site and whole stacks" },
	{ "until", 0, GMT_OPTION_NUMBER, "NS", AT(until),
	  "stop at this moment: nanoseconds since the recording began, or since 1970 when 10^17 or more" },
	{ "symbol-path", 0, GMT_OPTION_TEXTS, "DIR", AT(symbol_paths),
	  "look for symbols in this folder too, by build-id; may be repeated" },
	{ "sort", 0, GMT_OPTION_WORD, "peak|live|total|all", AT(sort),
	  "show only the list of sites by this (default: all three lists; JSON: by peak)" },
	{ "limit", 0, GMT_OPTION_NUMBER, "N", AT(limit),
	  "sites in a list (default: 10 in the first, 5 in the others; JSON: all)" },
	{ "by", 0, GMT_OPTION_WORD, GMT_WHERE_PARTS_BY, AT(by), "print a table by this instead; JSON: add it" },
	{ "section", 0, GMT_OPTION_WORD, "peak|segments|allocator|temporaries", AT(section),
	  "print only this section, in full (JSON: has all)" },
	{ "frames", 0, GMT_OPTION_NUMBER, "N", AT(frames), "lines of stack for each site (default: 6)" },
	{ "native", 0, GMT_OPTION_WORD, "trimmed|all|none", AT(native),
	  "native frames: all but the Python interpreter's own (default), all, or none where there are "
	  "Python frames" },
	{ "strict", 0, GMT_OPTION_FLAG, NULL, AT(strict), "exit with 4 when the recording is incomplete" },
	{ "color", 0, GMT_OPTION_WORD, "auto|always|never", AT(color), "colours (default: on a terminal)" },
	{ "output", 'o', GMT_OPTION_TEXT, "FILE", AT(output), "write to FILE" },
	{ 0 },
};
#undef AT

enum { UNSET = -1 };

/* What one report is made from. */
struct parts {
	struct gmt_snapshot *snapshot;
	struct gmt_traces traces;
	struct gmt_timeline timeline;
	struct gmt_history history;
	struct gmt_replay replay;
	struct gmt_summary summary;
	struct gmt_sites sites;
	struct gmt_caveats caveats;
	struct gmt_ooms ooms;
	struct gmt_where_parts where;
};

static void free_parts(struct parts *parts)
{
	gmt_where_parts_fini(&parts->where);
	gmt_ooms_fini(&parts->ooms);
	gmt_caveats_fini(&parts->caveats);
	gmt_sites_fini(&parts->sites);
	gmt_summary_fini(&parts->summary);
	gmt_replay_fini(&parts->replay);
	gmt_history_fini(&parts->history);
	gmt_timeline_fini(&parts->timeline);
	gmt_traces_fini(&parts->traces);
	gmt_snapshot_free(parts->snapshot);
}

static uint64_t until_of(const struct report_options *options, const struct gmt_snapshot *snapshot)
{
	const uint64_t first_epoch = 100000000000000000; /* March 1973; a recording of 3 years */

	if (options->until == UINT64_MAX)
		return GMT_REPLAY_TO_END;
	return options->until < first_epoch ? options->until :
		gmt_clock_time_of_epoch_ns(snapshot, options->until);
}

static enum gmt_sites_key key_of(const struct report_options *options)
{
	return options->sort == SORT_LIVE ? GMT_SITES_BY_LIVE :
		options->sort == SORT_TOTAL ? GMT_SITES_BY_TOTAL : GMT_SITES_BY_PEAK;
}

static enum gmt_status make_parts(struct parts *parts, const struct report_options *options,
	struct gmt_error *error)
{
	struct gmt_traces_options traces = {
		.native = (enum gmt_traces_native)options->native,
		.symbol_directories = options->symbol_paths.items,
		.symbol_directory_count = options->symbol_paths.count,
	};
	struct gmt_replay_observer observers[2] = { gmt_ooms_observer(&parts->ooms) };
	struct gmt_replay_options replay = {
		.until_ns = until_of(options, parts->snapshot),
		.observers = observers,
		.observer_count = sizeof(observers) / sizeof(*observers),
	};
	enum gmt_status status;

	if ((status = gmt_traces_init(&parts->traces, parts->snapshot, &traces, error)) ||
		(status = gmt_timeline_init(&parts->timeline, parts->snapshot, &parts->traces, error)) ||
		(status = gmt_history_init(&parts->history, parts->snapshot, &parts->traces, &parts->timeline,
			 error)) ||
		(status = gmt_ooms_init(&parts->ooms, parts->snapshot, replay.until_ns, error)))
		return status;
	observers[1] = parts->history.observer;
	if ((status = gmt_replay_init(&parts->replay, parts->snapshot, &parts->traces, &replay, error)) ||
		(status = gmt_summary_init(&parts->summary, parts->snapshot, &parts->replay, error)) ||
		(status = gmt_sites_init(&parts->sites, &parts->replay, &parts->traces, error)) ||
		(status = gmt_where_parts_init(&parts->where, parts->snapshot, &parts->traces, &parts->timeline,
			 &parts->replay, &parts->history, &parts->sites, replay.until_ns, options->by,
			 key_of(options), error)))
		return status;
	return gmt_caveats_init(&parts->caveats, parts->snapshot, &parts->replay, &parts->traces, error);
}

static enum gmt_status render(struct parts *parts, const struct report_options *options,
	struct gmt_json *json, FILE *file, struct gmt_error *error)
{
	struct gmt_report report = {
		.snapshot = parts->snapshot, .traces = &parts->traces, .replay = &parts->replay,
		.summary = &parts->summary, .sites = &parts->sites, .caveats = &parts->caveats, .ooms = &parts->ooms,
		.has_until = options->until != UINT64_MAX,
		.limit = options->limit,
		.frames = options->frames,
		.all_lists = options->sort == UNSET || options->sort == SORT_ALL,
		.key = key_of(options),
		.where = &parts->where.view,
		.section = options->by >= 0 ? GMT_WHERE_TABLE :
			options->section >= 0 ? GMT_WHERE_PEAK + options->section : GMT_WHERE_SHORT,
		.color = gmt_output_color(file, (enum gmt_color)options->color),
	};

	parts->where.view.limit = options->limit;
	parts->where.view.color = report.color;
	if (options->json)
		gmt_report_json(&report, json);
	else if (!gmt_report_text(&report, file))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return GMT_OK;
}

/* Returns the exit code; *ret_incomplete is set, never cleared. */
static int report_file(const char *path, const struct report_options *options, struct gmt_json *json,
	FILE *file, bool *ret_incomplete)
{
	struct parts parts = { 0 };
	struct gmt_error error = { 0 };
	int code = gmt_input_load(path, &parts.snapshot);

	if (code)
		return code;
	*ret_incomplete |= !gmt_snapshot_complete(parts.snapshot);
	if (make_parts(&parts, options, &error) || render(&parts, options, json, file, &error))
		code = gmt_say_failure(&error);
	free_parts(&parts);
	return code;
}

int gmt_cmd_report(const struct gmt_command *command, int argc, char **argv)
{
	struct report_options options = {
		.until = UINT64_MAX, .limit = UINT64_MAX, .frames = 6, .sort = UNSET, .by = UNSET, .section = UNSET,
	};
	bool incomplete = false;
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (!argc) {
		gmt_say_error("report: which file?");
		gmt_say_hint("a recording is named gpumemtrace.*.gmt.gz unless you said otherwise");
		return GMT_EXIT_USAGE;
	}

	FILE *file = gmt_output_open(options.output);
	if (!file)
		return 3;

	struct gmt_json json = { .file = file, .pretty = true, .inline_depth = argc > 1 ? 4 : 2 };
	bool is_list = options.json && argc > 1;
	if (is_list) {
		gmt_json_begin_object(&json);
		gmt_json_key_text(&json, "schema", "gpumemtrace.reports/1");
		gmt_json_key(&json, "reports");
		gmt_json_begin_array(&json);
	}
	code = 0;
	for (int i = 0; i < argc; i++) {
		int answer;

		if (i && !options.json)
			fputs("\n\n", file);
		answer = report_file(argv[i], &options, &json, file, &incomplete);
		code = answer ? answer : code;
	}
	if (is_list) {
		gmt_json_end_array(&json);
		gmt_json_end_object(&json);
	}
	if (json.needs_comma)
		fputc('\n', file);
	if (!code && incomplete && options.strict)
		code = GMT_EXIT_INCOMPLETE;
	return gmt_output_close(file, options.output, code);
}
