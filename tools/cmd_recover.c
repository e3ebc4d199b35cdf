/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "render/json.h"
#include "tools/command.h"
#include "tools/complete.h"
#include "tools/input.h"
#include "tools/leftovers.h"
#include "tools/say.h"
#include "wire/leftover_owner.h"

struct recover_options {
	bool all, json, keep;
	const char *output;
};

#define AT(field) offsetof(struct recover_options, field)
const struct gmt_option_row gmt_table_recover[] = {
	{ "all", 0, GMT_OPTION_FLAG, NULL, AT(all), "every file of yours whose recorder was killed on this machine" },
	{ "output", 'o', GMT_OPTION_TEXT, "FILE", AT(output), "write to FILE instead of completing the file in place" },
	{ "keep", 0, GMT_OPTION_FLAG, NULL, AT(keep), "leave the recorder's memory where it is" },
	{ "json", 0, GMT_OPTION_FLAG, NULL, AT(json), "JSON instead of text" },
	{ 0 },
};
#undef AT

struct recoverer {
	const struct recover_options *options;
	struct gmt_json json;
	uint64_t files;
};

static void tell(struct recoverer *recoverer, const char *path, const struct gmt_leftover *leftover,
	const struct gmt_completed *completed)
{
	const struct gmt_source_recovered *recovered = &completed->recovered;
	struct gmt_json *json = &recoverer->json;
	uint32_t pid = gmt_leftover_owner(leftover)->pid;

	recoverer->files++;
	if (recoverer->options->json) {
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "file", path);
		gmt_json_key_u64(json, "pid", pid);
		gmt_json_key_u64(json, "events", completed->events);
		gmt_json_key_u64(json, "recovered_events", recovered->events);
		gmt_json_key(json, "gap");
		gmt_json_bool(json, recovered->is_gap);
		gmt_json_end_object(json);
		return;
	}
	if (recovered->was_whole) {
		printf("%s: has its end: there is nothing to recover\n", path);
		return;
	}
	printf("%s: %s: %s events", path, recovered->is_gap ? "a part of it is lost" : "complete",
		gmt_text_count(completed->events).text);
	printf(", %s of them from the memory of process %" PRIu32 "\n", gmt_text_count(recovered->events).text, pid);
}

/* Whether it is the file that the recorder wrote: the memory of one that is another's is still needed. */
static bool is_own_file(const char *path, const struct gmt_leftover_owner *owner)
{
	struct stat about, other;

	return !path || stat(owner->path, &other) || (!stat(path, &about) &&
		((about.st_dev == other.st_dev && about.st_ino == other.st_ino) ||
		(about.st_dev == owner->file_device && about.st_ino == owner->file_inode)));
}

/* `path` is the snapshot, or NULL when it is gone. Ends the leftover. */
static int recover_with(struct recoverer *recoverer, const char *path, struct gmt_leftover *leftover)
{
	const struct recover_options *options = recoverer->options;
	const char *to = options->output ? options->output : path;
	bool may_be_removed = !options->keep && is_own_file(path, gmt_leftover_owner(leftover));
	struct gmt_completed completed;
	struct gmt_error error = { 0 };
	int code = 0;

	if (gmt_complete(path, leftover, to, &completed, &error)) {
		code = gmt_say_failure(&error);
	} else {
		tell(recoverer, to, leftover, &completed);
		if (may_be_removed && unlink(gmt_leftover_path(leftover)))
			gmt_say_warning("%s: cannot be removed", gmt_leftover_path(leftover));
	}
	gmt_leftover_close(leftover);
	return code;
}

/* The memory itself was named: for a snapshot that is gone. */
static int recover_memory(struct recoverer *recoverer, const char *path)
{
	struct gmt_leftover *leftover;
	struct gmt_error error = { 0 };

	if (gmt_leftover_open(path, &leftover, &error))
		return gmt_say_failure(&error);

	const struct gmt_leftover_owner *owner = gmt_leftover_owner(leftover);
	const char *why = gmt_leftovers_why_not(leftover);
	bool is_there = gmt_leftover_has_file(owner);
	if (why || (!is_there && !recoverer->options->output)) {
		if (why)
			gmt_say_error("%s: cannot be used: %s", path, why);
		else
			gmt_say_error("%s: its file, %s, is gone: say with -o where to write what is left", path, owner->path);
		gmt_leftover_close(leftover);
		return GMT_EXIT_UNREADABLE;
	}
	return recover_with(recoverer, is_there ? owner->path : NULL, leftover);
}

/* Says why nothing was done; whole files are none the worse for being asked for. */
static int say_nothing_to_do(const char *path)
{
	struct gmt_error error = { 0 };
	struct gmt_source *source;
	struct gmt_block block;
	enum gmt_status status = gmt_source_open(path, &source, &error);
	bool has_end = false;

	if (status)
		return gmt_say_failure(&error);
	while (!(status = gmt_source_next(source, &block, &error)))
		has_end |= block.kind == GMT_RECORD_END;
	gmt_source_close(source);
	if (has_end) {
		gmt_say_hint("%s: has its end: there is nothing to recover", path);
		return 0;
	}
	gmt_say_error("%s: its process goes on, or left no memory here: there is nothing to recover it from", path);
	return GMT_EXIT_UNREADABLE;
}

static int recover_file(struct recoverer *recoverer, const char *path)
{
	size_t length = strlen(path);
	struct gmt_leftover *leftover;

	if (length > 5 && !strcmp(path + length - 5, ".area"))
		return recover_memory(recoverer, path);
	leftover = gmt_leftovers_find(path);
	return leftover ? recover_with(recoverer, path, leftover) : say_nothing_to_do(path);
}

static int recover_one_of_all(void *context, struct gmt_leftover *leftover)
{
	struct gmt_leftover *found = NULL;
	int code = 0;

	/* Those of recordings that go on are not asked for. */
	if (!gmt_leftover_is_alive(leftover)) {
		found = gmt_leftovers_find(gmt_leftover_owner(leftover)->path);
		if (found && !strcmp(gmt_leftover_path(found), gmt_leftover_path(leftover)))
			code = recover_with(context, gmt_leftover_owner(leftover)->path, found);
		else {
			gmt_leftover_close(found);
			code = recover_memory(context, gmt_leftover_path(leftover));
		}
	}
	gmt_leftover_close(leftover);
	return code;
}

int gmt_cmd_recover(const struct gmt_command *command, int argc, char **argv)
{
	struct recover_options options = { 0 };
	struct recoverer recoverer = { .options = &options };
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (options.all ? argc > 0 || options.output : !argc || (options.output && argc > 1)) {
		gmt_say_error(options.all ? "recover: --all takes neither a file nor -o" :
			argc ? "recover: -o takes one file" : "recover: which file?");
		return GMT_EXIT_USAGE;
	}
	recoverer.json = (struct gmt_json){ .file = stdout, .pretty = true, .inline_depth = 2 };
	if (options.json) {
		gmt_json_begin_object(&recoverer.json);
		gmt_json_key_text(&recoverer.json, "schema", "gpumemtrace.recover/1");
		gmt_json_key(&recoverer.json, "files");
		gmt_json_begin_array(&recoverer.json);
	}
	code = options.all ? gmt_leftovers_all(recover_one_of_all, &recoverer) : 0;
	for (int i = 0; i < argc; i++) {
		int answer = recover_file(&recoverer, argv[i]);

		code = answer ? answer : code;
	}
	if (options.json) {
		gmt_json_end_array(&recoverer.json);
		gmt_json_end_object(&recoverer.json);
		putchar('\n');
	} else if (options.all && !recoverer.files && !code) {
		puts("no killed recorder left anything on this machine");
	}
	return code;
}
