/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/safe_stream.h"
#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/output/memory_limit.h"
#include "tools/output/output.h"
#include "tools/output/pager.h"
#include "tools/output/message.h"
#include "tools/pipeline/work_limit.h"

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

/*
 * Parses and removes the options before the verb, which apply to all verbs. Returns 0 or an exit
 * code.
 */
static int take_common_options(int *argc, char ***argv)
{
	const char *memory = NULL, *work = NULL;

	while ((!memory && (memory = take_value("--max-memory=", argc, argv))) ||
		(!work && (work = take_value("--max-work=", argc, argv))))
		;
	if (!gmt_memory_limit_set(memory)) {
		gmt_message_error("--max-memory: invalid value `%s`: give a size such as 20GiB, or none",
			memory);
		return GMT_EXIT_USAGE;
	}
	if (work && !gmt_work_limit_set(work)) {
		gmt_message_error("--max-work: invalid value `%s`: give a number from 1 to 999999, or none",
			work);
		return GMT_EXIT_USAGE;
	}
	return 0;
}

static int dispatch(int argc, char **argv)
{
	int code = take_common_options(&argc, &argv);
	if (code)
		return code;

	const char *verb = argc > 1 ? argv[1] : NULL;

	if (!verb) {
		gmt_command_help_all();
		return GMT_EXIT_USAGE;
	}
	if (strcmp(verb, "-h") == 0 || strcmp(verb, "--help") == 0)
		verb = "help";
	if (strcmp(verb, "-V") == 0 || strcmp(verb, "-v") == 0 || strcmp(verb, "--version") == 0)
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

	int code = gmt_output_finish_stdout(gmt_work_limit_exit_code(dispatch(argc, argv)));
	gmt_pager_end();
	return code;
}
