/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "render/lines/wrap_stream.h"
#include "render/recording_head.h"
#include "render/leaks.h"
#include "tools/options/command.h"
#include "tools/options/moment.h"
#include "tools/report/report_each.h"
#include "tools/report/render_inputs.h"
#include "tools/output/exit_codes.h"
#include "tools/recordings/default_recording.h"
#include "tools/output/output.h"
#include "tools/pipeline/owner_options.h"
#include "tools/pipeline/pipeline.h"
#include "tools/output/message.h"
#include "tools/pipeline/symbol_options.h"
#include "tools/pipeline/work_limit.h"

struct leaks_options {
	struct gmt_report_each_options files;
	bool no_symbol_cache;
	uint64_t warmup, age_steps, age_seconds, limit, frames;
	struct gmt_moment until;
	struct gmt_option_texts definitions, symbol_paths;
};

#define OFFSET_OF(field) offsetof(struct leaks_options, field)
const struct gmt_option_row gmt_option_rows_leaks[] = {
	{ "definition", 0, GMT_OPTION_TEXTS, "NAME[,NAME...]", OFFSET_OF(definitions),
		"definitions of a leak: growth, unexplained, phase, age, exit or all (default: "
		"growth, unexplained, phase; also exit for memory outside PyTorch)" },
	{ "warmup", 0, GMT_OPTION_NUMBER, "STEPS", OFFSET_OF(warmup),
		"steps at the start that are not judged (default: a fifth of the steps, 1 to 10)" },
	{ "age-steps", 0, GMT_OPTION_NUMBER, "STEPS", OFFSET_OF(age_steps),
		"definition age: a block that lives for more steps is a leak" },
	{ "age-seconds", 0, GMT_OPTION_NUMBER, "SECONDS", OFFSET_OF(age_seconds),
		"definition age: a block that lives longer is a leak" },
	{ "json", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(files.json),
		"JSON instead of text, with whole stacks; one line for each file" },
	{ "until", 0, GMT_OPTION_MOMENT, GMT_MOMENT_VALUES, OFFSET_OF(until),
		"report the state at this moment: " GMT_MOMENT_MEANING },
	GMT_SYMBOLS_OPTIONS(OFFSET_OF(symbol_paths), OFFSET_OF(no_symbol_cache)),
	GMT_OWNERS_OPTION(OFFSET_OF(files.owners)),
	{ "limit", 0, GMT_OPTION_NUMBER, "N", OFFSET_OF(limit), "findings to show (default: all)" },
	{ "frames", 0, GMT_OPTION_NUMBER, "N", OFFSET_OF(frames),
		"lines of stack for each (default: 8)" },
	GMT_REPORT_EACH_LAST_OPTIONS(OFFSET_OF(files)),
	{ 0 },
};
#undef OFFSET_OF

static bool equals_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* Returns the bits of one name, or 0 if the name is unknown. */
static uint32_t definition_bits_of(const char *name, size_t length)
{
	uint32_t bits = 0;

	for (int d = 0; d < GMT_LEAK_DEFINITIONS; d++)
		if (equals_word(name, length, gmt_leak_definition_name((enum gmt_leak_definition)d)) ||
			equals_word(name, length, "all"))
			bits |= UINT32_C(1) << d;
	return bits;
}

/*
 * Returns the bits of a list such as "growth,phase". If a name is unknown, prints an error and
 * returns 0.
 */
static uint32_t parse_definitions(const char *text)
{
	uint32_t bits = 0;

	for (;;) {
		size_t length = strcspn(text, ",");
		uint32_t more = definition_bits_of(text, length);

		if (!more) {
			gmt_message_error("leaks: --definition: unknown definition `%.*s`: "
							  "write growth, unexplained, phase, age, exit or all",
				(int)(length < 60 ? length : 60), text);
			return 0;
		}
		bits |= more;
		if (!text[length])
			return bits;
		text += length + 1;
	}
}

/*
 * Sets the options of the analysis. If they contradict each other, prints an error and returns
 * false.
 */
static bool set_leaks_options(const struct leaks_options *options,
	struct gmt_leaks_options *ret_leaks)
{
	const uint32_t age = UINT32_C(1) << GMT_LEAK_AGE,
				   all = (UINT32_C(1) << GMT_LEAK_DEFINITIONS) - 1;
	bool has_age = options->age_steps != UINT64_MAX || options->age_seconds != UINT64_MAX;

	*ret_leaks = gmt_pipeline_default_leaks;
	for (size_t i = 0; i < options->definitions.count; i++) {
		uint32_t bits = parse_definitions(options->definitions.items[i]);

		if (!bits)
			return false;
		ret_leaks->definitions |= bits;
	}
	if (options->warmup != UINT64_MAX)
		ret_leaks->warmup_steps =
			options->warmup < UINT32_MAX ? (uint32_t)options->warmup : UINT32_MAX - 1;
	if (options->age_steps != UINT64_MAX)
		ret_leaks->age_steps =
			options->age_steps < UINT32_MAX ? (uint32_t)options->age_steps : UINT32_MAX - 1;
	if (options->age_seconds != UINT64_MAX)
		ret_leaks->age_ns = options->age_seconds < UINT64_MAX / 1000000000
			? options->age_seconds * 1000000000
			: UINT64_MAX - 1;
	/* With `all` and no age, only the definition age is left out. */
	if (ret_leaks->definitions & age && ret_leaks->definitions != all && !has_age) {
		gmt_message_error("leaks: definition age needs --age-steps or --age-seconds");
		return false;
	}
	if (has_age && !(ret_leaks->definitions & age)) {
		if (ret_leaks->definitions) {
			gmt_message_error("leaks: --age-steps and --age-seconds need --definition=age");
			return false;
		}
		ret_leaks->definitions = age;
	}
	return true;
}

static bool render(struct gmt_pipeline *pipeline, const struct leaks_options *options,
	struct gmt_report_each_output *output)
{
	struct gmt_leaks_view view = gmt_leaks_view_of(pipeline);
	struct gmt_json *json = &output->json;

	view.limit = options->limit;
	view.frames = options->frames;
	if (!options->files.json) {
		const struct gmt_console console = { gmt_wrap_stream_open(output->file), output->color };
		bool done;

		gmt_recording_head_text(&console, pipeline->recording, &pipeline->warnings);
		done = gmt_leaks_text(&view, &console);
		gmt_wrap_stream_close(console.file, output->file);
		return done;
	}
	gmt_json_begin_object(json);
	gmt_json_key_text(json, "schema", "gpumemtrace.leaks/2");
	gmt_json_key_text(json, "file", pipeline->recording->path);
	gmt_json_key_bool(json, "complete", gmt_recording_complete(pipeline->recording));
	gmt_leaks_json(&view, json);
	gmt_json_end_object(json);
	gmt_report_each_end_json(output);
	return true;
}

/* The data for all files. */
struct context {
	const struct leaks_options *options;
	const struct gmt_leaks_options *leaks;
	const struct gmt_owner_rules *owners;
};

static int leaks_of_file(const void *user, const char *path, struct gmt_report_each_output *output)
{
	const struct context *context = user;
	struct gmt_pipeline pipeline = { 0 };
	struct gmt_pipeline_options pipeline_options = {
		.traces = {
			.symbol_directories = context->options->symbol_paths.items,
			.symbol_directory_count = context->options->symbol_paths.count,
			.symbols_cache = context->options->no_symbol_cache ? NULL : gmt_symbols_cache_open(),
			.owner_rules = context->owners,
		},
		.until = context->options->until,
		.leaks = *context->leaks,
	};
	int code = gmt_pipeline_load(path, &pipeline_options, &pipeline);

	if (!code) {
		output->is_incomplete |=
			!gmt_recording_complete(pipeline.recording) || pipeline.leaks.is_compacted_away;
		if (!render(&pipeline, context->options, output))
			code = gmt_message_failure(&(struct gmt_error){ .text = "out of memory" });
	}
	gmt_pipeline_fini(&pipeline);
	gmt_symbols_cache_close(pipeline_options.traces.symbols_cache);
	gmt_work_limit_report(path);
	return code;
}

int gmt_cmd_leaks(const struct gmt_command *command, int argc, char **argv)
{
	struct leaks_options options = {
		.warmup = UINT64_MAX,
		.age_steps = UINT64_MAX,
		.age_seconds = UINT64_MAX,
		.limit = UINT64_MAX,
		.frames = 8,
	};
	struct gmt_leaks_options leaks;
	struct gmt_owner_rules owners = { 0 };
	struct context context = { .options = &options, .leaks = &leaks, .owners = &owners };
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (!gmt_default_recording("leaks", &argc, argv))
		return GMT_EXIT_USAGE;
	/* Without a file, the message about the missing file comes first. */
	if (argc && !set_leaks_options(&options, &leaks))
		return GMT_EXIT_USAGE;
	return gmt_report_each_recording(&(struct gmt_report_each){ .count = argc,
										 .paths = argv,
										 .options = &options.files,
										 .report = leaks_of_file,
										 .context = &context },
		&owners);
}
