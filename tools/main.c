/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/safe_stream.h"
#include "tools/command.h"
#include "tools/input.h"
#include "tools/memory.h"
#include "tools/output.h"
#include "tools/say.h"
#include "base/suggest.h"

const struct gmt_command gmt_commands[] = {
#define GMT_COMMAND(verb, arguments, text) \
	{ .name = #verb, .operands = arguments, .meaning = text, .options = gmt_table_##verb, \
	  .run = gmt_cmd_##verb },
#include "tools/commands.def"
#undef GMT_COMMAND
	{ 0 },
};

const struct gmt_command *gmt_command_find(const char *name)
{
	for (const struct gmt_command *command = gmt_commands; command->name; command++)
		if (strcmp(command->name, name) == 0)
			return command;
	return NULL;
}

int gmt_command_unknown(const char *name)
{
	struct gmt_suggestion suggestion = { 0 };

	for (const struct gmt_command *command = gmt_commands; command->name; command++)
		gmt_suggest(&suggestion, name, command->name);
	if (suggestion.best)
		gmt_say_error("unknown verb `%s`; did you mean `%s`?", name, suggestion.best);
	else
		gmt_say_error("unknown verb `%s`", name);
	gmt_say_hint("`gpumemtrace help` lists the verbs");
	return 2;
}

void gmt_command_help_all(void)
{
	puts("usage: gpumemtrace [--max-memory=SIZE] verb [options] [operands]\n\n"
		"Says which lines of a program hold how much GPU memory.\n");
	for (const struct gmt_command *command = gmt_commands; command->name; command++)
		printf("  %-9s %s\n", command->name, command->meaning);
	puts("\n`gpumemtrace help verb` explains one. A first recording:\n\n"
		"  gpumemtrace run -- python train.py");
}

/* In front of the verb: for all of them. 0, or the exit code. */
static int take_limit(int *argc, char ***argv)
{
	static const char name[] = "--max-memory=";
	const char *value = *argc > 1 && strncmp((*argv)[1], name, strlen(name)) == 0 ? (*argv)[1] + strlen(name) : NULL;

	if (!gmt_memory_limit(value)) {
		gmt_say_error("--max-memory: `%s` is no size, such as 20GiB, nor none", value);
		return 2;
	}
	if (value) {
		++*argv;
		--*argc;
	}
	return 0;
}

static int dispatch(int argc, char **argv)
{
	int code = take_limit(&argc, &argv);
	if (code)
		return code;

	const char *verb = argc > 1 ? argv[1] : NULL;

	if (!verb) {
		gmt_command_help_all();
		return 2;
	}
	if (strcmp(verb, "-h") == 0 || strcmp(verb, "--help") == 0)
		verb = "help";
	if (strcmp(verb, "-V") == 0 || strcmp(verb, "--version") == 0)
		verb = "version";

	const struct gmt_command *command = gmt_command_find(verb);
	if (command && strcmp(verb, "run") != 0 && !gmt_output_may_write(NULL, &(struct gmt_output_rules){ 0 }))
		return GMT_EXIT_UNREADABLE;
	return command ? command->run(command, argc - 2, argv + 2) : gmt_command_unknown(verb);
}

/*
 * Without a standard stream the next file that is opened would get its number, and messages would be written into it.
 * What is opened here fails as a closed one does, and a program that `run` starts does not get it.
 */
static void open_missing(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
}

int main(int argc, char **argv)
{
	/* A reader that went away shows as EPIPE, which ends the output quietly. */
	signal(SIGPIPE, SIG_IGN);
	open_missing();
	if (!gmt_safe_stream_install()) {
		gmt_say_error("out of memory");
		return gmt_status_exit_code(GMT_NO_MEMORY);
	}
	return gmt_output_finish_stdout(dispatch(argc, argv));
}
