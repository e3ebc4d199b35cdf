/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/safe_text.h"
#include "base/text.h"
#include "render/json.h"
#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/recordings/shared_recordings.h"
#include "tools/recordings/standard_input.h"
#include "tools/recordings/recover.h"
#include "tools/output/message.h"

struct recover_options {
	bool all, json;
	struct gmt_recover_options recovery;
};

#define OFFSET_OF(field) offsetof(struct recover_options, field)
const struct gmt_option_row gmt_option_rows_recover[] = {
	{ "all", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(all),
		"recover all your recordings whose process was killed on this machine" },
	{ "output", 'o', GMT_OPTION_TEXT, "FILE", OFFSET_OF(recovery.output),
		"write a new FILE instead of completing the recording in place" },
	{ "force", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(recovery.force),
		"allow -o to replace a recording" },
	{ "keep", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(recovery.keep),
		"keep the shared memory of recordings that were completed" },
	{ "discard", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(recovery.discard),
		"also remove shared memory whose recording is gone, or that cannot be used" },
	{ "dry-run", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(recovery.is_dry_run),
		"show what would be done, without changes" },
	{ "json", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(json), "JSON instead of text" },
	{ 0 },
};
#undef OFFSET_OF

struct recover_run {
	const struct recover_options *options;
	struct gmt_json json;
	uint64_t files;     /* number of reported files */
	uint64_t unusable_count; /* unusable memories, and those without a file */
	uint64_t unusable_bytes;
	int code;
};

static const char *state_name(const struct recover_run *recover_run, enum gmt_recover_state state)
{
	bool is_dry_run = recover_run->options->recovery.is_dry_run;

	switch (state) {
	case GMT_RECOVER_COMPLETED:
		return is_dry_run ? "would be completed" : "completed";
	case GMT_RECOVER_IS_WHOLE:
		return "whole";
	case GMT_RECOVER_IN_PROGRESS:
		return "in progress";
	case GMT_RECOVER_IS_GONE:
		return "file gone";
	case GMT_RECOVER_IS_UNUSABLE:
		return "memory useless";
	case GMT_RECOVER_IS_DISCARDED:
		return is_dry_run ? "would be discarded" : "discarded";
	case GMT_RECOVER_IS_REFUSED:
		return "refused";
	case GMT_RECOVER_NOTHING:
		return "nothing to recover";
	case GMT_RECOVER_FAILED:
		break;
	}
	return "failed";
}

static void print_json(struct recover_run *recover_run, const struct gmt_recover_outcome *outcome)
{
	struct gmt_json *json = &recover_run->json;

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "file", outcome->path);
	gmt_json_key_text(json, "state", state_name(recover_run, outcome->state));
	gmt_json_key_text(json, "memory", outcome->memory);
	gmt_json_key_u64(json, "pid", outcome->pid);
	gmt_json_key_u64(json, "events", outcome->completed.events);
	gmt_json_key_u64(json, "recovered_events", outcome->completed.recovered.events);
	gmt_json_key_bool(json, "gap", outcome->completed.recovered.has_gap);
	gmt_json_key_text(json, "why", outcome->error.text);
	gmt_json_end_object(json);
}

static void print_path(const char *path)
{
	gmt_safe_print(stdout, path);
}

static void print_completed(const struct recover_run *recover_run,
	const struct gmt_recover_outcome *outcome)
{
	const struct gmt_source_recovered *recovered = &outcome->completed.recovered;

	print_path(outcome->path);
	printf(": %s%s: %s events",
		recover_run->options->recovery.is_dry_run ? "would be completed, " : "",
		recovered->has_gap ? "a part is lost" : "complete",
		gmt_text_count(outcome->completed.events).text);
	printf(", %s of them from the memory of process %" PRIu32 "\n",
		gmt_text_count(recovered->events).text, outcome->pid);
}

/*
 * Prints that memory could not be used. With --all this is a hint. If the user named the memory, it
 * is an error.
 */
static void print_unusable(const struct recover_run *recover_run,
	const struct gmt_recover_outcome *outcome)
{
	void (*print_message)(const char *format, ...) =
		recover_run->options->all ? gmt_message_hint : gmt_message_error;

	if (outcome->state == GMT_RECOVER_IS_GONE)
		print_message("%s: its file %s was removed", outcome->memory, outcome->path);
	else
		print_message("%s: cannot be used: %s", outcome->memory, outcome->error.text);
}

/* Prints results to stdout and errors to stderr. */
static void print_text(const struct recover_run *recover_run,
	const struct gmt_recover_outcome *outcome)
{
	bool is_dry_run = recover_run->options->recovery.is_dry_run;
	const char *why = outcome->error.text;

	switch (outcome->state) {
	case GMT_RECOVER_COMPLETED:
		print_completed(recover_run, outcome);
		break;
	case GMT_RECOVER_IS_WHOLE:
		print_path(outcome->path);
		puts(": is complete: nothing to recover");
		break;
	case GMT_RECOVER_IN_PROGRESS:
		gmt_message_hint("%s: in progress: process %" PRIu32
						 " is still recording: nothing to recover",
			outcome->path, outcome->pid);
		break;
	case GMT_RECOVER_IS_GONE:
	case GMT_RECOVER_IS_UNUSABLE:
		print_unusable(recover_run, outcome);
		break;
	case GMT_RECOVER_IS_DISCARDED:
		print_path(outcome->memory);
		printf(": %s: %s\n", is_dry_run ? "would be discarded" : "discarded",
			gmt_text_size(outcome->memory_bytes).text);
		break;
	case GMT_RECOVER_IS_REFUSED:
		gmt_message_error("%s: was not completed: %s", outcome->path, why);
		break;
	case GMT_RECOVER_NOTHING:
		if (outcome->has_end)
			gmt_message_hint("%s: is complete: nothing to recover", outcome->path);
		else
			gmt_message_error("%s: is incomplete, and its process left no memory on this machine",
				outcome->path);
		break;
	case GMT_RECOVER_FAILED:
		gmt_message_failure(&outcome->error);
	}
	if (outcome->is_not_removed)
		gmt_message_warning("%s: cannot be removed", outcome->memory);
}

static bool is_bad(const struct gmt_recover_outcome *outcome)
{
	return outcome->state == GMT_RECOVER_IS_REFUSED || outcome->state == GMT_RECOVER_FAILED ||
		(outcome->state == GMT_RECOVER_NOTHING && !outcome->has_end);
}

static void report_outcome(struct recover_run *recover_run,
	const struct gmt_recover_outcome *outcome)
{
	recover_run->files++;
	if (outcome->state == GMT_RECOVER_IS_GONE || outcome->state == GMT_RECOVER_IS_UNUSABLE) {
		recover_run->unusable_count++;
		recover_run->unusable_bytes += outcome->memory_bytes;
	}
	if (recover_run->options->json) {
		print_json(recover_run, outcome);
		if (is_bad(outcome))
			gmt_message_error("%s: %s", outcome->path, outcome->error.text);
	} else {
		print_text(recover_run, outcome);
	}
	if (is_bad(outcome))
		recover_run->code = outcome->error.status ? gmt_status_exit_code(outcome->error.status)
												  : GMT_EXIT_UNREADABLE;
}

static bool is_memory(const char *path)
{
	size_t length = strlen(path);

	return length > 5 && !strcmp(path + length - 5, ".area");
}

static void recover_named(struct recover_run *recover_run, const char *path)
{
	static struct gmt_recover_outcome outcome; /* large, so static */
	struct gmt_shared_recording *shared_recording;
	struct gmt_error error = { 0 };

	if (!is_memory(path)) {
		gmt_recover_file(path, &recover_run->options->recovery, &outcome);
	} else if (gmt_shared_recording_open(path, &shared_recording, &error)) {
		recover_run->code = gmt_message_failure(&error);
		return;
	} else {
		gmt_recover_memory(shared_recording, &recover_run->options->recovery, &outcome);
		gmt_shared_recording_close(shared_recording);
	}
	report_outcome(recover_run, &outcome);
	/* The user named this memory, and it was not recovered. */
	if (outcome.state == GMT_RECOVER_IS_GONE || outcome.state == GMT_RECOVER_IS_UNUSABLE)
		recover_run->code = GMT_EXIT_UNREADABLE;
}

static bool recover_one_of_all(void *context, struct gmt_shared_recording *shared_recording,
	const struct gmt_error *error)
{
	static struct gmt_recover_outcome outcome; /* large, so static */
	struct recover_run *recover_run = context;

	if (!shared_recording) {
		/*
		 * Another version can recover its own memory. Memory of a recorder that was killed while it
		 * started holds no data.
		 */
		if (error->status == GMT_VERSION) {
			recover_run->files++;
			recover_run->code = gmt_message_failure(error);
		}
		return true;
	}
	gmt_recover_memory(shared_recording, &recover_run->options->recovery, &outcome);
	/* The user did not ask for recordings that are still running. */
	if (outcome.state != GMT_RECOVER_IN_PROGRESS)
		report_outcome(recover_run, &outcome);
	gmt_shared_recording_close(shared_recording);
	return true;
}

/* Printed once for all remaining memory. */
static void print_unusable_total(const struct recover_run *recover_run)
{
	if (recover_run->unusable_count)
		gmt_message_hint("%s of memory %s left: `gpumemtrace recover --discard %s` removes it, "
						 "`gpumemtrace recover MEMORY -o FILE` writes its events to a new file",
			gmt_text_size(recover_run->unusable_bytes).text,
			recover_run->unusable_count == 1 ? "is" : "are",
			recover_run->options->all ? "--all" : "MEMORY");
}

int gmt_cmd_recover(const struct gmt_command *command, int argc, char **argv)
{
	struct recover_options options = { 0 };
	struct recover_run recover_run = { .options = &options };
	int code = gmt_options_parse(command, &options, false, &argc, argv);
	bool has_output = options.recovery.output;

	if (code >= 0)
		return code;
	if (options.all ? argc > 0 || has_output : !argc || (has_output && argc > 1)) {
		gmt_message_error(options.all ? "recover: --all takes neither a file nor -o"
				: argc                ? "recover: -o takes one file"
									  : "recover: no recording is given");
		return GMT_EXIT_USAGE;
	}
	if (options.recovery.discard && (options.recovery.keep || has_output)) {
		gmt_message_error("recover: --discard cannot be combined with --keep or -o");
		return GMT_EXIT_USAGE;
	}
	if (!gmt_standard_input_is_absent("recover", "it completes files in place: name the file", argc,
			argv))
		return GMT_EXIT_USAGE;
	recover_run.json = (struct gmt_json){ .file = stdout, .pretty = true, .inline_depth = 2 };
	if (options.json) {
		gmt_json_begin_object(&recover_run.json);
		gmt_json_key_text(&recover_run.json, "schema", "gpumemtrace.recover/1");
		gmt_json_key(&recover_run.json, "files");
		gmt_json_begin_array(&recover_run.json);
	}
	if (options.all)
		gmt_shared_recordings_each(".", recover_one_of_all, &recover_run);
	for (int i = 0; i < argc; i++)
		recover_named(&recover_run, argv[i]);
	if (options.json) {
		gmt_json_end_array(&recover_run.json);
		gmt_json_end_object(&recover_run.json);
		putchar('\n');
	} else {
		if (options.all && !recover_run.files)
			puts("no killed process left memory on this machine");
		print_unusable_total(&recover_run);
	}
	return recover_run.code;
}
