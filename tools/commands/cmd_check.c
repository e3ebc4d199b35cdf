/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/pipeline/check.h"
#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/recordings/newer_recordings_hint.h"
#include "tools/recordings/default_recording.h"
#include "tools/recordings/standard_input.h"
#include "tools/output/output.h"
#include "tools/pipeline/owner_options.h"
#include "tools/output/message.h"
#include "tools/pipeline/symbol_options.h"
#include "tools/report/job_files.h"

#define OFFSET_OF(field) offsetof(struct gmt_check_options, field)
const struct gmt_option_row gmt_option_rows_check[] = {
#define GMT_LIMIT(NAME, key, value, meaning, ...) \
	{ key, 0, GMT_OPTION_TEXTS, value, OFFSET_OF(limits[GMT_LIMIT_##NAME]), meaning },
#include "analysis/gate/limits.def"
#undef GMT_LIMIT
	{ "limits", 0, GMT_OPTION_TEXT, "FILE", OFFSET_OF(limits_file),
		"read the options above from FILE, with lines such as `max-peak = 18GiB`; "
		"the command line has priority" },
	{ "baseline", 0, GMT_OPTION_TEXT, "FILE", OFFSET_OF(baseline),
		"fail if more memory is held than in the baseline FILE" },
	{ "update-baseline", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(update_baseline),
		"write FILE of --baseline from these recordings, and do not judge" },
	{ "suppressions", 0, GMT_OPTION_TEXTS, "FILE", OFFSET_OF(suppressions),
		"ignore the findings that FILE lists, with lines such as `leak:function`; may be "
		"repeated" },
	{ "no-default-suppressions", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(no_default_suppressions),
		"do not use the built-in suppressions for known libraries" },
	{ "gen-suppressions", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(gen_suppressions),
		"print suppressions for the findings instead of the verdict" },
	{ "strict", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(strict),
		"exit with 4 if a recording is incomplete, or its growth could not be judged" },
	{ "json", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(json), "JSON instead of text" },
	{ "junit", 0, GMT_OPTION_TEXT, "FILE", OFFSET_OF(junit), "also write JUnit XML to FILE" },
	{ "sarif", 0, GMT_OPTION_TEXT, "FILE", OFFSET_OF(sarif), "also write SARIF 2.1.0 to FILE" },
	{ "source-root", 0, GMT_OPTION_TEXT, "DIR", OFFSET_OF(source_root),
		"the folder to which paths in SARIF and annotations are relative (default: "
		"the git repository in which the program ran)" },
	GMT_SYMBOLS_OPTIONS(OFFSET_OF(symbol_paths), OFFSET_OF(no_symbol_cache)),
	GMT_OWNERS_OPTION(OFFSET_OF(owners)),
	{ "frames", 0, GMT_OPTION_NUMBER, "N", OFFSET_OF(frames),
		"lines of stack for each finding (default: 8)" },
	{ "color", 0, GMT_OPTION_WORD, "auto|always|never", OFFSET_OF(color),
		"colours (default: on a terminal)" },
	{ "output", 'o', GMT_OPTION_TEXT, "FILE", OFFSET_OF(output), "write the verdict to FILE" },
	{ "force", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(force),
		"allow outputs to replace a recording or an input file" },
	{ 0 },
};
#undef OFFSET_OF

/* The files to judge, from the operands. */
struct inputs {
	struct gmt_job_files files;
	struct {
		char **items;
		size_t count, capacity;
	} paths; /* of the recordings, and after them of the summaries */
	size_t recordings;
	int code; /* exit code if a file could not be read */
};

/* Returns whether an operand can be read more than once: a readable file or folder, not a pipe. */
static bool can_reread(const char *operand)
{
	struct stat status;

	return !gmt_standard_input_is(operand) && stat(operand, &status) == 0 &&
		(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) && access(operand, R_OK) == 0;
}

static void add_path(struct inputs *inputs, const char *path)
{
	char **to = gmt_vec_push(&inputs->paths);

	inputs->files.is_out_of_memory |= !to;
	if (to)
		*to = (char *)(uintptr_t)path;
}

/*
 * Returns whether the recording of a summary is among the files. If it is, only the recording is
 * judged.
 */
static bool has_recording(const struct gmt_job_files *files, const char *summary)
{
	size_t length = strlen(summary), end = strlen(GMT_SUMMARY_SUFFIX);
	const struct gmt_job_file *found;
	char path[PATH_MAX];

	if (length < end || strcmp(summary + length - end, GMT_SUMMARY_SUFFIX) != 0 ||
		snprintf(path, sizeof(path), "%.*s.gmt.gz", (int)(length - end), summary) >= PATH_MAX)
		return false;
	found = gmt_job_files_by_path(files, path);
	return found && found->kind == GMT_JOB_FILE_RECORDING;
}

static void keep_summaries(struct inputs *inputs)
{
	struct gmt_job_files *files = &inputs->files;
	size_t kept = 0;

	for (size_t i = 0; i < files->summaries.count; i++) {
		const struct gmt_process_summary *summary = &files->summaries.items[i];

		if (has_recording(files, summary->path))
			continue;
		add_path(inputs, summary->path);
		files->summaries.items[kept++] = *summary;
	}
	files->summaries.count = kept;
}

/*
 * Finds the recordings and summaries that the operands name, also in folders. Named recordings keep
 * their order. An operand that cannot be read, or only once, counts as a recording.
 */
static void find_inputs(struct inputs *inputs, int count, char **operands)
{
	struct gmt_job_files *files = &inputs->files;
	GMT_VEC(char *) readable = { 0 };

	for (int i = 0; i < count && gmt_vec_reserve(&readable, 1); i++)
		if (can_reread(operands[i]))
			readable.items[readable.count++] = operands[i];
	inputs->code = gmt_job_files_find(files, (int)readable.count, readable.items);
	gmt_vec_fini(&readable);
	if (gmt_job_files_read_summaries(files))
		inputs->code = GMT_EXIT_UNREADABLE;
	for (int i = 0; i < count; i++) {
		const struct gmt_job_file *file = gmt_job_files_by_path(files, operands[i]);
		struct stat status;

		if (file ? file->kind == GMT_JOB_FILE_RECORDING
				 : stat(operands[i], &status) != 0 || !S_ISDIR(status.st_mode))
			add_path(inputs, operands[i]);
	}
	for (size_t i = 0; i < files->files.count; i++)
		if (!files->files.items[i].is_operand &&
			files->files.items[i].kind == GMT_JOB_FILE_RECORDING)
			add_path(inputs, files->files.items[i].path);
	inputs->recordings = inputs->paths.count;
	keep_summaries(inputs);
	if (files->unreadable || files->is_out_of_memory)
		inputs->code = GMT_EXIT_UNREADABLE;
}

/* Returns whether the options can be judged from these files. If not, prints an error. */
static bool can_judge(const struct inputs *inputs, const struct gmt_check_options *options)
{
	if (!inputs->paths.count) {
		for (size_t i = 0; i < inputs->files.remarks.count; i++)
			gmt_message_hint("%s", inputs->files.remarks.items[i]);
		gmt_message_error("check: no recording or summary was found");
		return false;
	}
	if (options->update_baseline && inputs->recordings < inputs->paths.count) {
		gmt_message_error("check: %s: a summary has no stacks for a baseline",
			inputs->paths.items[inputs->recordings]);
		return false;
	}
	return true;
}

static int judge(struct gmt_check_plan *plan, struct inputs *inputs)
{
	char **paths = inputs->paths.items;
	size_t count = inputs->paths.count;
	const struct gmt_output_rules rules = gmt_check_output_rules(plan, paths, count);
	const struct gmt_check_input input = {
		.paths = paths,
		.count = inputs->recordings,
		.store = &inputs->files.store,
		.summaries = inputs->files.summaries.items,
		.summary_count = inputs->files.summaries.count,
		.notes = inputs->files.remarks.items,
		.note_count = inputs->files.remarks.count,
		.unreadable = inputs->code,
	};
	struct gmt_output *output = gmt_check_may_write(plan, paths, count)
		? gmt_output_open(plan->options.output, &rules)
		: NULL;
	int code;

	if (output)
		gmt_newer_recordings_hint(paths, inputs->recordings);
	code = output ? gmt_check_files(plan, &input, gmt_output_file(output)) : GMT_EXIT_UNREADABLE;
	return gmt_output_close(output, code);
}

int gmt_cmd_check(const struct gmt_command *command, int argc, char **argv)
{
	struct gmt_check_options options = gmt_check_defaults;
	struct gmt_check_plan plan = { 0 };
	struct inputs inputs = { 0 };
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (!gmt_default_recording("check", &argc, argv))
		return GMT_EXIT_USAGE;
	code = gmt_check_plan_load(&plan, &options);
	if (!code) {
		find_inputs(&inputs, argc, argv);
		code = can_judge(&inputs, &options) ? judge(&plan, &inputs) : GMT_EXIT_UNREADABLE;
	}
	gmt_vec_fini(&inputs.paths);
	gmt_job_files_fini(&inputs.files);
	gmt_check_plan_fini(&plan);
	return code;
}
