/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/safe_stream.h"
#include "base/suggest.h"
#include "tools/options/command.h"
#include "tools/recordings/input.h"
#include "tools/output/memory.h"
#include "tools/output/output.h"
#include "tools/output/message.h"
#include "tools/pipeline/work.h"

const struct gmt_command gmt_commands[] = {
#define GMT_COMMAND(verb, arguments, text) \
	{ .name = #verb, \
		.operands = arguments, \
		.meaning = text, \
		.options = gmt_table_##verb, \
		.run = gmt_cmd_##verb },
#include "tools/options/commands.def"
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
		gmt_message_error("unknown verb `%s`; did you mean `%s`?", name, suggestion.best);
	else
		gmt_message_error("unknown verb `%s`", name);
	gmt_message_hint("`gpumemtrace help` lists the verbs");
	return 2;
}

void gmt_command_help_all(void)
{
	puts("usage: gpumemtrace [--max-memory=SIZE] [--max-work=N] verb [options] [operands]\n\n"
		 "Shows which lines of a program hold how much GPU memory.\n");
	for (const struct gmt_command *command = gmt_commands; command->name; command++)
		printf("  %-9s %s\n", command->name, command->meaning);
	puts("\n`gpumemtrace help verb` explains one. A first recording:\n\n"
		 "  gpumemtrace run -- python train.py");
}

/* If the first argument is this option, removes it and returns its value, else NULL. */
static const char *take_value(const char *name, int *argc, char ***argv)
{
	size_t length = strlen(name);

	if (*argc < 2 || strncmp((*argv)[1], name, length) != 0)
		return NULL;
	++*argv;
	--*argc;
	return **argv + length;
}

/* Takes the options before the verb, which apply to all verbs. Returns 0 or an exit code. */
static int take_limits(int *argc, char ***argv)
{
	const char *memory = NULL, *work = NULL;

	while ((!memory && (memory = take_value("--max-memory=", argc, argv))) ||
		(!work && (work = take_value("--max-work=", argc, argv))))
		;
	if (!gmt_memory_limit(memory)) {
		gmt_message_error("--max-memory: `%s` is no size, such as 20GiB, nor none", memory);
		return 2;
	}
	if (work && !gmt_work_limit(work)) {
		gmt_message_error("--max-work: `%s` is no number from 1 to 999999, nor none", work);
		return 2;
	}
	return 0;
}

static int dispatch(int argc, char **argv)
{
	int code = take_limits(&argc, &argv);
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
	if (command && strcmp(verb, "run") != 0 &&
		!gmt_output_may_write(NULL, &(struct gmt_output_rules){ 0 }))
		return GMT_EXIT_UNREADABLE;
	return command ? command->run(command, argc - 2, argv + 2) : gmt_command_unknown(verb);
}

/*
 * Opens missing standard streams. Without this, the next opened file would get the number of a
 * standard stream, and messages would be written into it. A stream opened here fails like a closed
 * one, and programs that `run` starts do not inherit it.
 */
static void open_missing(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
}

int main(int argc, char **argv)
{
	/*
	 * If the reader of a pipe goes away, writes fail with EPIPE, which ends the output without a
	 * message.
	 */
	signal(SIGPIPE, SIG_IGN);
	open_missing();
	if (!gmt_safe_stream_install()) {
		gmt_message_error("out of memory");
		return gmt_status_exit_code(GMT_NO_MEMORY);
	}
	return gmt_output_finish_stdout(gmt_work_exit_code(dispatch(argc, argv)));
}
