/* SPDX-License-Identifier: MIT */
#include "tools/output/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile pid_t pager; /* 0: none */

/*
 * Messages would overwrite the pager's screen. So while the pager runs, stderr is a file in memory
 * if it was a terminal. release_messages() writes the messages to the terminal afterwards.
 */
static int terminal = -1; /* the original stderr; -1: no messages are held */

static void hold_messages(void)
{
	int held = isatty(STDERR_FILENO) ? memfd_create("gpumemtrace-messages", MFD_CLOEXEC) : -1;

	fflush(stderr);
	if (held >= 0 && (terminal = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) >= 0)
		dup2(held, STDERR_FILENO);
	if (held >= 0)
		close(held);
}

/*
 * Writes the messages that were held. A signal handler calls it. A write to a terminal may be
 * short, for example after the user has stopped and continued the program.
 */
static void release_messages(void)
{
	char bytes[4096];
	off_t at = 0;
	ssize_t length, written = 0;

	if (terminal < 0)
		return;
	while ((length = pread(STDERR_FILENO, bytes, sizeof(bytes), at)) > 0) {
		written = write(terminal, bytes, (size_t)length);
		if (written < 0 && errno != EINTR)
			break;
		at += written > 0 ? written : 0;
	}
	dup2(terminal, STDERR_FILENO);
	close(terminal);
	terminal = -1;
}

/* Returns the command for a shell, or NULL if no pager is wanted. */
static const char *find_command(void)
{
	const char *command = getenv("GPUMEMTRACE_PAGER"), *term = getenv("TERM");

	if (!isatty(STDOUT_FILENO) || !term || strcmp(term, "dumb") == 0)
		return NULL;
	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = "less";
	return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

/* Runs in the child. If the pager is missing, `cat` shows the text. */
_Noreturn static void run_pager(const char *command, int input)
{
	char *line = NULL;

	dup2(input, STDIN_FILENO);
	close(input);
	setenv("LESS", "FRX", 0);
	/* 127: the shell found no such command, and it read nothing. */
	if (asprintf(&line, "%s || { [ $? != 127 ] || cat; }", command) >= 0)
		execl("/bin/sh", "sh", "-c", line, (char *)NULL);
	_exit(127);
}

/*
 * Ends the program by a signal after the user has closed the pager. Until then, the pager reads the
 * keyboard.
 */
static void end_by_signal(int number)
{
	close(STDOUT_FILENO);
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		continue;
	release_messages();
	signal(number, SIG_DFL);
	raise(number);
}

/* The signals that end the program when the user has closed the pager. */
static sigset_t ending_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	return set;
}

/* Replaces the default effect of a signal, or restores it. Ignored signals stay ignored. */
static void set_handler(int number, void (*handler)(int))
{
	struct sigaction before, action = { .sa_handler = handler, .sa_mask = ending_signals() };

	if (!sigaction(number, NULL, &before) && before.sa_handler != SIG_IGN)
		sigaction(number, &action, NULL);
}

static void set_handlers(void (*handler)(int))
{
	set_handler(SIGINT, handler);
	set_handler(SIGTERM, handler);
}

bool gmt_pager_is_running(void)
{
	return pager > 0;
}

void gmt_pager_begin(void)
{
	const char *command = pager ? NULL : find_command();
	int ends[2];

	if (!command || fflush(stdout) || pipe(ends))
		return;
	pager = fork();
	if (!pager) {
		close(ends[1]);
		run_pager(command, ends[0]);
	}
	close(ends[0]);
	if (pager > 0) {
		dup2(ends[1], STDOUT_FILENO);
		hold_messages();
		set_handlers(end_by_signal);
	} else {
		pager = 0;
	}
	close(ends[1]);
}

/* Runs in a child process: the pager and the held messages belong to the parent. */
static void detach_from_pager(void)
{
	int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);

	set_handlers(SIG_DFL);
	if (terminal >= 0)
		close(terminal);
	terminal = -1;
	if (nothing >= 0) {
		dup2(nothing, STDOUT_FILENO);
		close(nothing);
	}
}

pid_t gmt_pager_fork(void)
{
	sigset_t ending = ending_signals(), before;

	/* A signal that arrives here must not run the parent's handler in the child. */
	sigprocmask(SIG_BLOCK, &ending, &before);

	pid_t pid = fork();
	if (!pid && pager)
		detach_from_pager();
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

void gmt_pager_end(void)
{
	if (!pager)
		return;
	close(STDOUT_FILENO);
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		continue;
	fflush(stderr);

	/* A handler must not write the messages again. */
	sigset_t ending = ending_signals(), before;
	sigprocmask(SIG_BLOCK, &ending, &before);
	pager = 0;
	release_messages();
	set_handlers(SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
}
