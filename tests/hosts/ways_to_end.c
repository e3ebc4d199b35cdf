/* SPDX-License-Identifier: MIT */
/*
 * usage: ways-to-end HOW
 *
 * Ends in one of the ways in which a process can end. Each exit handler, signal handler,
 * constructor and destructor prints a line.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void print_line(const char *what)
{
	if (write(1, what, strlen(what)) < 0 || write(1, "\n", 1) < 0)
		abort();
}

static void at_exit(void)
{
	print_line("atexit");
}
static void at_quick_exit_handler(void)
{
	print_line("at_quick_exit");
}
static void at_on_exit(int status, void *what)
{
	(void)what;
	print_line(status == 5 ? "on_exit 5" : "on_exit");
}
__attribute__((constructor)) static void begins(void)
{
	print_line("constructor");
}
__attribute__((destructor)) static void ends(void)
{
	print_line("destructor");
}

static void on_signal(int number)
{
	print_line(number == SIGSEGV ? "handler of SIGSEGV"
			: number == SIGABRT  ? "handler of SIGABRT"
								 : "handler");
}

static void on_terminate(int number)
{
	(void)number;
	print_line("handler that ends the process");
	_exit(9);
}

static void *in_thread(void *how)
{
	if (!strcmp(how, "thread-exit"))
		exit(5);
	if (!strcmp(how, "thread-_exit"))
		_exit(6);
	print_line("thread");
	return NULL;
}

static void wait_and_print(pid_t child)
{
	int status = 0;
	char text[64];

	if (child < 0 || waitpid(child, &status, 0) != child)
		abort();
	snprintf(text, sizeof(text), "child %d %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		WIFSIGNALED(status) ? WTERMSIG(status) : -1);
	print_line(text);
}

static void with_children(void)
{
	static char name[] = "false", *const command[] = { name, NULL };

	for (int i = 0; i < 20; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(i);
		wait_and_print(child);
	}

	pid_t child = fork();

	if (child == 0)
		exit(40);
	wait_and_print(child);

	/*
	 * A child of vfork runs in this process's memory. The recorder must not change this memory when
	 * the child ends.
	 */
	errno = EDOM;
	child = vfork();
	if (child == 0)
		_exit(41);
	print_line(errno == EDOM ? "errno is kept" : "errno is lost");
	wait_and_print(child);
	child = vfork();
	if (child == 0) {
		execvp("false", command);
		_exit(42);
	}
	wait_and_print(child);
	child = fork();
	if (child == 0)
		kill(getpid(), SIGKILL);
	wait_and_print(child);
}

/* Becomes a daemon: another session, redirected standard descriptors, and no parent. */
static void as_daemon(void)
{
	int ends[2];
	char byte = 'x';

	if (pipe(ends))
		abort();
	if (fork() == 0) {
		close(ends[0]);
		setsid();
		if (fork())
			_exit(0);

		int nowhere = open("/dev/null", O_RDWR);

		for (int fd = 0; fd < 3; fd++)
			dup2(nowhere, fd);
		for (int fd = 3; fd < 4096; fd++)
			if (fd != ends[1])
				close(fd);
		if (write(ends[1], "d", 1) < 0)
			abort();
		exit(0);
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		abort();
	print_line(byte == 'd' ? "the daemon ran" : "no daemon");
	if (read(ends[0], &byte, 1) != 0)
		abort();
	print_line("the daemon ended");
}

int main(int argc, char **argv)
{
	static char nothing[] = "", again[] = "return";
	char *how = argc > 1 ? argv[1] : nothing;
	pthread_t thread;

	atexit(at_exit);
	at_quick_exit(at_quick_exit_handler);
	on_exit(at_on_exit, NULL);
	signal(SIGUSR1, on_signal);
	signal(SIGTERM, on_terminate);
	raise(SIGUSR1);
	if (!strncmp(how, "thread-", 7)) {
		pthread_create(&thread, NULL, in_thread, how);
		pthread_join(thread, NULL);
	}
	if (!strcmp(how, "exit"))
		exit(5);
	if (!strcmp(how, "_exit"))
		_exit(5);
	if (!strcmp(how, "_Exit"))
		_Exit(5);
	if (!strcmp(how, "quick_exit"))
		quick_exit(5);
	if (!strcmp(how, "abort")) {
		signal(SIGABRT, on_signal);
		abort();
	}
	if (!strcmp(how, "segfault"))
		raise(SIGSEGV);
	if (!strcmp(how, "term"))
		raise(SIGTERM);
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "pipe")) {
		int pipes[2];

		if (pipe(pipes) == 0 && close(pipes[0]) == 0 && write(pipes[1], "x", 1) < 0)
			print_line("no SIGPIPE");
	}
	if (!strcmp(how, "pthread_exit"))
		pthread_exit(NULL);
	if (!strcmp(how, "exec"))
		execvp(argv[0], (char *[]){ argv[0], again, NULL });
	if (!strcmp(how, "children"))
		with_children();
	if (!strcmp(how, "daemon"))
		as_daemon();
	return 3;
}
