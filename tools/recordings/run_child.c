/* SPDX-License-Identifier: MIT */
#include "tools/recordings/run_child.h"
#include "system/monotonic_clock.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/output/message.h"

static const int forwarded[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 };

static volatile sig_atomic_t child; /* 0: the child has ended */
static volatile sig_atomic_t ended_s; /* time of the child's end */

/* A signal to all processes of a job may end the program, and reach this process a moment later. */
enum { SAME_SIGNAL_S = 2 };

static sig_atomic_t now_s(void)
{
	return (sig_atomic_t)(gmt_monotonic_ns() / 1000000000);
}

/*
 * Forwards a signal to the child, unless the kernel sent it. The kernel sends Ctrl-C to the whole
 * foreground group, so the child already has it. A second Ctrl-C would make many programs skip
 * their orderly end.
 */
static void forward(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (child > 0) {
		if (info->si_code <= 0)
			kill((pid_t)child, number);
	} else if (now_s() - ended_s > SAME_SIGNAL_S) {
		/* The user does not want to wait for this process's work after the program's end. */
		signal(number, SIG_DFL);
		raise(number);
	}
	errno = saved;
}

static void set_handlers(void)
{
	struct sigaction action = { .sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction before;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++)
		/*
		 * Signals that nohup or a shell's background job ignores stay ignored, also for the child.
		 */
		if (!sigaction(forwarded[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(forwarded[i], &action, NULL);
}

/*
 * Returns whether a file of this name exists: the name itself if it has a slash, else a file in a
 * folder of PATH. If a folder of PATH may not be entered, execvp reports EACCES although no file
 * was found.
 */
static bool exists(const char *name)
{
	const char *folders = getenv("PATH");
	char candidate[PATH_MAX];

	if (strchr(name, '/'))
		return true;
	for (const char *at = folders ? folders : "/bin:/usr/bin"; at;
		at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		int length = (int)strcspn(at, ":");
		int written = snprintf(candidate, sizeof(candidate), "%.*s/%s", length ? length : 1,
			length ? at : ".", name);

		if (written < (int)sizeof(candidate) && !access(candidate, F_OK))
			return true;
	}
	return false;
}

static void exec_child(char **argv, const sigset_t *mask)
{
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);

	int error_number = errno == EACCES && !exists(argv[0]) ? ENOENT : errno;
	gmt_message_error("%s: %s", argv[0], strerror(error_number));
	_exit(error_number == ENOENT ? GMT_CHILD_NOT_FOUND : GMT_CHILD_NOT_EXECUTABLE);
}

static int wait_for(pid_t pid, int *ret_signal)
{
	siginfo_t info;
	int status;

	/*
	 * WNOWAIT keeps the process id reserved until the second wait, so `child` cannot name another
	 * process.
	 */
	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	ended_s = now_s();
	child = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR) {
			gmt_message_error("cannot wait for the program: %s", strerror(errno));
			return GMT_CHILD_OWN_FAILURE;
		}
	*ret_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int gmt_child_run(char **argv, int *ret_signal)
{
	sigset_t all, before;

	*ret_signal = 0;
	/*
	 * Block signals between fork and the assignment of `child`, so that the handler knows the
	 * child.
	 */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);

	pid_t pid = fork();
	if (pid == 0)
		exec_child(argv, &before);
	if (pid < 0) {
		gmt_message_error("cannot start another process: %s", strerror(errno));
		sigprocmask(SIG_SETMASK, &before, NULL);
		return GMT_CHILD_OWN_FAILURE;
	}
	child = pid;
	set_handlers();
	sigprocmask(SIG_SETMASK, &before, NULL);
	return wait_for(pid, ret_signal);
}
