/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/safe_text.h"
#include "options/recorder_options.h"
#include "render/console.h"
#include "tools/pipeline/check.h"
#include "tools/report/first_screen.h"
#include "tools/report/report_page.h"
#include "tools/recordings/run_child.h"
#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/output/output.h"
#include "tools/recordings/recorder_setup.h"
#include "tools/recordings/recorder_version.h"
#include "tools/recordings/recorder_output_check.h"
#include "tools/recordings/run_recordings.h"
#include "tools/output/message.h"

struct run_options {
	bool quiet;
	bool audit;
	bool summary;
	const char *check; /* NULL: not given */
	const char *html; /* NULL: not given */
	struct gmt_recorder_option_list recorder;
};

#define OFFSET_OF(field) offsetof(struct run_options, field)
const struct gmt_option_row gmt_option_rows_run[] = {
	{ "quiet", 'q', GMT_OPTION_FLAG, NULL, OFFSET_OF(quiet),
		"do not list the recorded files, and do not print the first screen of the report" },
	{ "check", 0, GMT_OPTION_OPTIONAL_TEXT, "FILE|OPTIONS", OFFSET_OF(check),
		"judge the recordings after the program, as `check` does: by a limits file, or by options "
		"of `check` in quotes" },
	{ "html", 0, GMT_OPTION_OPTIONAL_TEXT, "FILE", OFFSET_OF(html),
		"write the page of `report --html` after the program (default: the first recording's name "
		"with .html)" },
	{ "summary", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(summary),
		"write a summary next to each recording after the program, as `summarize` does" },
	{ "audit", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(audit),
		"also record libraries in dlmopen namespaces (LD_AUDIT); the program starts more slowly" },
#define GMT_OPTION(name, fallback, values, meaning) \
	GMT_RECORDER_ROW(name, values, OFFSET_OF(recorder), meaning)
#include "options/recorder_options.def"
#undef GMT_OPTION
	{ 0 },
};
#undef OFFSET_OF

enum { MAX_SHOWN_NAMES = 8 };

static void ignore(void *context, const struct gmt_option_complaint *complaint)
{
	(void)context;
	(void)complaint;
}

/* Returns whether the recorder was told to record some ranks only. */
static bool are_ranks_chosen(void)
{
	struct gmt_recorder_settings settings;

	gmt_recorder_options_read(getenv("GPUMEMTRACE_OPTIONS"), &settings, ignore, NULL);
	return strcmp(gmt_recorder_setting(&settings, GMT_RECORDER_OPTION_ranks), "all") != 0;
}

static void explain_no_recording(const struct gmt_run_recordings *run)
{
	if (run->no_recording_reason[0])
		gmt_message_error("nothing was recorded: %s", run->no_recording_reason);
	else if (are_ranks_chosen())
		fputs(
			"gpumemtrace: nothing was recorded: the program did not use CUDA, or none of its ranks "
			"is in --ranks\n",
			stderr);
	else
		fputs("gpumemtrace: nothing was recorded: the program did not use CUDA\n", stderr);
}

static void suggest_next(const struct gmt_run_recordings *run)
{
	struct gmt_console console = { .file = stderr };

	if (run->count && run->no_recording_reason[0])
		gmt_message_warning("a process of the program was not recorded: %s",
			run->no_recording_reason);
	if (!run->count) {
		explain_no_recording(run);
	} else if (run->count > MAX_SHOWN_NAMES) {
		fprintf(stderr, "gpumemtrace: %zu recordings were written\n", run->count);
		fputs("next: gpumemtrace report ", stderr);
		gmt_safe_print(stderr, run->pattern); /* for the shell to expand */
		fputc('\n', stderr);
	} else if (run->count > 1 || !gmt_first_screen(run->after.gl_pathv[0], stderr)) {
		fputs("next: gpumemtrace report", stderr);
		for (size_t i = 0; i < run->count; i++) {
			fputc(' ', stderr);
			gmt_console_argument(&console, run->after.gl_pathv[i]);
		}
		fputc('\n', stderr);
	}
}

/*
 * Judges the recorded files. stdout belongs to the program, so the verdict goes to stderr, unless
 * --output is given.
 */
static int check(struct gmt_check_plan *plan, char **paths, size_t count)
{
	const struct gmt_output_rules rules = gmt_check_output_rules(plan, paths, count);
	struct gmt_output *output = NULL;

	if (!count) {
		gmt_message_error("run: --check: nothing to judge: no recording was written");
		return GMT_EXIT_UNREADABLE;
	}
	if (plan->options.output && !(output = gmt_output_open(plan->options.output, &rules)))
		return GMT_EXIT_UNREADABLE;
	return gmt_output_close(output,
		gmt_check_files(plan, &(struct gmt_check_input){ .paths = paths, .count = count },
			output ? gmt_output_file(output) : stderr));
}

/* Writes the page of all recordings, as `report --html` does. */
static int write_page(const struct run_options *options, const struct gmt_run_recordings *run)
{
	char buffer[PATH_MAX], *option = NULL, **arguments;
	int code = GMT_EXIT_UNREADABLE;

	if (!run->count) {
		gmt_message_error("run: --html: no page: no recording was written");
		return code;
	}

	const char *page = gmt_report_page_file_name(options->html, run->after.gl_pathv[0], buffer);
	arguments = calloc(run->count + 3, sizeof(*arguments));
	if (arguments && asprintf(&option, "--html=%s", page) >= 0) {
		char end[] = "--";

		arguments[0] = option;
		arguments[1] = end;
		memcpy(arguments + 2, run->after.gl_pathv, run->count * sizeof(*arguments));
		code = gmt_cmd_report(gmt_command_find("report"), (int)run->count + 2, arguments);
		if (!code && !options->quiet) {
			fputs("gpumemtrace: the page is ", stderr);
			gmt_safe_print(stderr, page);
			fputc('\n', stderr);
		}
	} else {
		gmt_message_error("out of memory");
	}
	free(option);
	free(arguments);
	return code;
}

/* Writes the summaries of all recordings, as `summarize` does. */
static int write_summaries(const struct gmt_run_recordings *run)
{
	char **arguments = calloc(run->count + 2, sizeof(*arguments)), end[] = "--";
	int code;

	if (!arguments) {
		gmt_message_error("out of memory");
		return GMT_EXIT_UNREADABLE;
	}
	arguments[0] = end;
	memcpy(arguments + 1, run->after.gl_pathv, run->count * sizeof(*arguments));
	code = gmt_cmd_summarize(gmt_command_find("summarize"), (int)run->count + 1, arguments);
	free(arguments);
	return code;
}

/*
 * Returns the exit code. A failure of the program has priority over the verdict, because a program
 * that ended early may have kept its limits.
 */
static int conclude(const struct run_options *options, struct gmt_check_plan *plan,
	struct gmt_run_recordings *run, int signal, int code)
{
	gmt_run_recordings_finish(run, signal, options->quiet);
	if (!options->quiet)
		suggest_next(run);
	if (options->summary && run->count) {
		int answer = write_summaries(run);

		code = code ? code : answer;
	}
	if (options->html && (run->count || !code)) {
		int answer = write_page(options, run);

		code = code ? code : answer;
	}
	if (options->check) {
		int answer = code && !run->count ? 0 : check(plan, run->after.gl_pathv, run->count);

		code = code ? code : answer;
	}
	return code;
}

/* Adds the audit library, which lies next to the recorder, to LD_AUDIT. */
static bool set_audit(const char *library)
{
	static const char name[] = "/libgpumemtrace-audit.so";
	char path[PATH_MAX + sizeof(name)];

	snprintf(path, sizeof(path), "%.*s%s", (int)(strrchr(library, '/') - library), library, name);
	if (access(path, R_OK)) {
		gmt_message_error("run: --audit: %s: cannot be read", path);
		return false;
	}

	char *value = gmt_recorder_put_first("LD_AUDIT", path);
	bool done = value && !setenv("LD_AUDIT", value, 1);

	free(value);
	if (!done)
		gmt_message_error("out of memory");
	return done;
}

/*
 * Checks the output before the start, because the recorder creates the file only at the first use
 * of CUDA, which may be hours later.
 */
static bool can_write_to(const char *recorder)
{
	char output[PATH_MAX + 64];

	gmt_recorder_output(recorder, output, sizeof(output));
	return gmt_recorder_output_check(output);
}

static bool set_environment(const struct run_options *options, char **ret_pattern)
{
	char library[PATH_MAX], version[GMT_RECORDER_VERSION_BYTES];

	if (!gmt_recorder_library(library))
		return false;
	if (gmt_recorder_version_differs(library, version))
		gmt_message_warning("%s has version %s, this program has version %s: install gpumemtrace "
							"again",
			library, version, GMT_PROGRAM_VERSION);

	if (options->audit && !set_audit(library))
		return false;

	char *preload = gmt_recorder_put_first("LD_PRELOAD", library);
	char *recorder = gmt_recorder_options(getenv("GPUMEMTRACE_OPTIONS"), &options->recorder);
	if (recorder && !gmt_recorder_accepts("run", recorder)) {
		free(preload);
		free(recorder);
		return false;
	}

	char *absolute =
		gmt_recorder_options_absolute(getenv("GPUMEMTRACE_OPTIONS"), &options->recorder);
	bool done = preload && recorder && absolute && !setenv("LD_PRELOAD", preload, 1) &&
		(!*absolute || !setenv("GPUMEMTRACE_OPTIONS", absolute, 1));
	bool can_write = !done || can_write_to(recorder);

	*ret_pattern = done && can_write ? gmt_recorder_output_glob(recorder) : NULL;
	free(preload);
	free(recorder);
	free(absolute);
	if (!*ret_pattern && can_write)
		gmt_message_error("out of memory");
	return *ret_pattern;
}

int gmt_cmd_run(const struct gmt_command *command, int argc, char **argv)
{
	struct run_options options = { 0 };
	struct gmt_check_plan plan = { 0 };
	struct gmt_run_recordings run;
	char *pattern;
	int signal;
	int code = gmt_options_parse(command, &options, true, &argc, argv);

	if (code >= 0)
		return code == GMT_EXIT_USAGE ? GMT_CHILD_OWN_FAILURE : code;
	if (!argc) {
		gmt_message_error("run: no command is given");
		gmt_message_hint("gpumemtrace run -- python train.py");
		return GMT_CHILD_OWN_FAILURE;
	}
	/* Report invalid options before the program runs, which may take hours. */
	if ((options.html && !gmt_report_page_require("run")) ||
		(options.check &&
			(gmt_check_plan_parse(&plan, options.check) || !gmt_check_may_write(&plan, NULL, 0))) ||
		!set_environment(&options, &pattern)) {
		gmt_check_plan_fini(&plan);
		return GMT_CHILD_OWN_FAILURE;
	}

	/*
	 * argv comes from main, so argv[argc] may be written: the C standard guarantees the final NULL.
	 * Parsing moved only the operands to the front.
	 */
	argv[argc] = NULL;
	gmt_run_recordings_begin(&run, pattern);
	code = gmt_child_run(argv, &signal);
	if (code != GMT_CHILD_NOT_FOUND && code != GMT_CHILD_NOT_EXECUTABLE)
		code = conclude(&options, &plan, &run, signal, code);
	gmt_run_recordings_fini(&run);
	free(pattern);
	gmt_check_plan_fini(&plan);
	return code;
}
