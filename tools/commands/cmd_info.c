/* SPDX-License-Identifier: MIT */
#include "render/info.h"
#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/recordings/load_input.h"
#include "tools/recordings/newer_recordings_hint.h"
#include "tools/recordings/default_recording.h"
#include "tools/output/output.h"
#include "tools/output/message.h"
#include "tools/pipeline/work_limit.h"

struct info_options {
	bool json, coverage, strict;
	int color;
};

#define OFFSET_OF(field) offsetof(struct info_options, field)
const struct gmt_option_row gmt_option_rows_info[] = {
	{ "json", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(json),
		"JSON instead of text, one line for each file" },
	{ "coverage", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(coverage),
		"show which functions were called, never called, or looked up but not hooked" },
	{ "strict", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(strict),
		"exit with 4 if the recording is incomplete" },
	{ "color", 0, GMT_OPTION_WORD, "auto|always|never", OFFSET_OF(color),
		"colours (default: on a terminal)" },
	{ 0 },
};
#undef OFFSET_OF

static int info_file(const char *path, const struct info_options *options, bool *ret_incomplete)
{
	struct gmt_recording *recording;
	struct gmt_event_counts event_counts = { 0 };
	struct gmt_warnings warnings = { 0 };
	struct gmt_function_coverage coverage = { 0 };
	struct gmt_error error = { 0 };
	int code = gmt_input_load(path, &recording);

	if (code)
		return code;
	*ret_incomplete |= !gmt_recording_complete(recording);
	if (gmt_event_counts_compute(&event_counts, recording, &error) ||
		gmt_warnings_compute(&warnings, recording, NULL, NULL, &error) ||
		(options->coverage && gmt_function_coverage_compute(&coverage, recording, &error))) {
		code = gmt_message_failure(&error);
	} else {
		struct gmt_info info = {
			.recording = recording,
			.event_counts = &event_counts,
			.warnings = &warnings,
			.overhead = gmt_overhead_estimate(recording),
			.coverage = options->coverage ? &coverage : NULL,
			.color = gmt_output_enable_color(stdout, (enum gmt_color)options->color),
		};
		struct gmt_json json = { .file = stdout };

		if (options->json) {
			gmt_info_json(&info, &json);
			putchar('\n');
		} else {
			gmt_info_text(&info, stdout);
		}
	}
	gmt_function_coverage_fini(&coverage);
	gmt_warnings_fini(&warnings);
	gmt_event_counts_fini(&event_counts);
	gmt_recording_free(recording);
	gmt_work_limit_report(path);
	return code;
}

int gmt_cmd_info(const struct gmt_command *command, int argc, char **argv)
{
	struct info_options options = { 0 };
	bool incomplete = false;
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (!gmt_default_recording("info", &argc, argv))
		return GMT_EXIT_USAGE;
	gmt_newer_recordings_hint(argv, (size_t)argc);
	code = 0;
	for (int i = 0; i < argc; i++) {
		int answer;

		if (i && !options.json)
			putchar('\n');
		answer = info_file(argv[i], &options, &incomplete);
		code = answer ? answer : code;
	}
	return !code && incomplete && options.strict ? GMT_EXIT_INCOMPLETE : code;
}
