/* SPDX-License-Identifier: MIT */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/child.h"
#include "tools/command.h"
#include "tools/input.h"
#include "tools/recorder.h"
#include "tools/say.h"

struct run_options {
	bool quiet;
	struct gmt_option_passed recorder;
};

#define AT(field) offsetof(struct run_options, field)
const struct gmt_option_row gmt_table_run[] = {
	{ "quiet", 'q', GMT_OPTION_FLAG, NULL, AT(quiet),
	  "do not say what was recorded and what to type next" },
#define GMT_OPTION(name, fallback, values, meaning) GMT_RECORDER_ROW(name, values, AT(recorder), meaning)
#include "wire/recorder_options.def"
#undef GMT_OPTION
	{ 0 },
};
#undef AT

enum { NAMES_SHOWN = 8 };

static bool was_there(const glob_t *before, const char *path)
{
	for (size_t i = 0; i < before->gl_pathc; i++)
		if (strcmp(before->gl_pathv[i], path) == 0)
			return true;
	return false;
}

static void print_name(const char *path)
{
	static const char special[] = " \t\n'\"\\$`*?[]{}()<>|&;~#!";

	fprintf(stderr, path[strcspn(path, special)] ? " '%s'" : " %s", path);
}

/* The recorder never overwrites, so what is new was written by this run. */
static void say_next(const glob_t *before, const char *pattern)
{
	glob_t after = { 0 };
	size_t count = 0;

	glob(pattern, 0, NULL, &after);
	for (size_t i = 0; i < after.gl_pathc; i++)
		count += !was_there(before, after.gl_pathv[i]);
	if (!count) {
		fputs("gpumemtrace: nothing was recorded: the program did not use CUDA\n", stderr);
	} else if (count > NAMES_SHOWN) {
		fprintf(stderr, "gpumemtrace: %zu files were recorded\n", count);
		fprintf(stderr, "next: gpumemtrace report %s\n", pattern);
	} else {
		fputs("next: gpumemtrace report", stderr);
		for (size_t i = 0; i < after.gl_pathc; i++)
			if (!was_there(before, after.gl_pathv[i]))
				print_name(after.gl_pathv[i]);
		fputc('\n', stderr);
	}
	globfree(&after);
}

static bool set_environment(const struct run_options *options, char **ret_pattern)
{
	char library[PATH_MAX];

	if (!gmt_recorder_library(library))
		return false;

	char *preload = gmt_recorder_preload(library, getenv("LD_PRELOAD"));
	char *recorder = gmt_recorder_options(getenv("GPUMEMTRACE_OPTIONS"), &options->recorder);
	bool done = preload && recorder && !setenv("LD_PRELOAD", preload, 1) &&
		(!*recorder || !setenv("GPUMEMTRACE_OPTIONS", recorder, 1));

	*ret_pattern = done ? gmt_recorder_output_glob(recorder) : NULL;
	free(preload);
	free(recorder);
	if (!*ret_pattern)
		gmt_say_error("out of memory");
	return *ret_pattern;
}

int gmt_cmd_run(const struct gmt_command *command, int argc, char **argv)
{
	struct run_options options = { 0 };
	glob_t before = { 0 };
	char *pattern;
	int code = gmt_options_parse(command, &options, true, &argc, argv);

	if (code >= 0)
		return code == GMT_EXIT_USAGE ? GMT_CHILD_OWN_FAILURE : code;
	if (!argc) {
		gmt_say_error("run: which program?");
		gmt_say_hint("gpumemtrace run -- python train.py");
		return GMT_CHILD_OWN_FAILURE;
	}
	if (!set_environment(&options, &pattern))
		return GMT_CHILD_OWN_FAILURE;

	/* argv was given to main, which the C standard ends with a NULL; parsing moved only its front. */
	argv[argc] = NULL;
	glob(pattern, 0, NULL, &before);
	code = gmt_child_run(argv);
	if (!options.quiet && code != GMT_CHILD_NOT_FOUND && code != GMT_CHILD_NOT_EXECUTABLE)
		say_next(&before, pattern);
	globfree(&before);
	free(pattern);
	return code;
}
