/* SPDX-License-Identifier: MIT */
#include "state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

extern char **environ;

enum { DESCRIPTORS = 4096, LINE_BYTES = 4352, FILE_BYTES = 1 << 18, ENTRY_BYTES = 1024 };

void gmt_state_add(struct gmt_state_text *text, const char *format, ...)
{
	unsigned buffer = (unsigned)sizeof(text->bytes) - text->length;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text->bytes + text->length, buffer, format, arguments);
	va_end(arguments);
	if (length > 0 && (unsigned)length < buffer)
		text->length += (unsigned)length;
}

/* Reads a file of /proc without stdio, because stdio allocates. Returns its length. */
static size_t read_whole(const char *path, char *buffer, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got;

	while (fd >= 0 && length + 1 < bytes &&
		(got = read(fd, buffer + length, bytes - 1 - length)) > 0)
		length += (size_t)got;
	if (fd >= 0)
		close(fd);
	buffer[length] = 0;
	return length;
}

static void report_environment(struct gmt_state_text *text)
{
	for (char **at = environ; at && *at; at++)
		if (strncmp(*at, "LD_PRELOAD=", 11))
			gmt_state_add(text, "environment: %s\n", *at);
}

static void report_signals(struct gmt_state_text *text)
{
	sigset_t mask, pending;
	stack_t stack;

	for (int number = 1; number < NSIG; number++) {
		/* The kernel's structure. libc's sigaction() refuses two signals. */
		struct {
			void (*handler)(int);
			unsigned long flags;
			void (*restorer)(void);
			unsigned long mask;
		} action;

		if (syscall(SYS_rt_sigaction, number, NULL, &action, sizeof(action.mask)) == 0)
			gmt_state_add(text, "signal %d: %s flags %lx mask %lx\n", number,
				action.handler == SIG_DFL       ? "default"
					: action.handler == SIG_IGN ? "ignored"
												: "handled",
				action.handler == SIG_DFL || action.handler == SIG_IGN ? 0 : action.flags,
				action.mask);
	}
	sigemptyset(&mask);
	sigemptyset(&pending);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigpending(&pending);
	for (int number = 1; number < NSIG; number++) {
		if (sigismember(&mask, number) == 1)
			gmt_state_add(text, "blocked: %d\n", number);
		if (sigismember(&pending, number) == 1)
			gmt_state_add(text, "pending: %d\n", number);
	}
	if (sigaltstack(NULL, &stack) == 0)
		gmt_state_add(text, "signal stack: flags %d size %zu\n", stack.ss_flags, stack.ss_size);
}

static void report_timers(struct gmt_state_text *text)
{
	static char timers[ENTRY_BYTES];

	for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
		struct itimerval timer;

		if (getitimer((__typeof__(ITIMER_REAL))which, &timer) == 0)
			gmt_state_add(text, "timer %d: %s, every %ld.%06ld s\n", which,
				timer.it_value.tv_sec || timer.it_value.tv_usec ? "runs" : "stands",
				(long)timer.it_interval.tv_sec, (long)timer.it_interval.tv_usec);
	}
	gmt_state_add(text, "timers: %s\n",
		read_whole("/proc/self/timers", timers, sizeof(timers)) ? "some" : "none");
}

static void report_limits(struct gmt_state_text *text)
{
	for (int which = 0; which < RLIMIT_NLIMITS; which++) {
		struct rlimit limit;

		if (getrlimit((__typeof__(RLIMIT_AS))which, &limit) == 0)
			gmt_state_add(text, "limit %d: %llx %llx\n", which, (unsigned long long)limit.rlim_cur,
				(unsigned long long)limit.rlim_max);
	}
}

static void report_identity(struct gmt_state_text *text)
{
	static const int asked[] = { PR_GET_DUMPABLE, PR_GET_KEEPCAPS, PR_GET_NO_NEW_PRIVS,
		PR_GET_SECUREBITS, PR_GET_TIMERSLACK, PR_GET_THP_DISABLE };
	static char status[8192], folder[LINE_BYTES];
	mode_t mask = umask(0);
	int value = 0;

	umask(mask);
	gmt_state_add(text, "umask: %o\n", (unsigned)mask);
	gmt_state_add(text, "folder: %s\n", getcwd(folder, sizeof(folder)) ? folder : "?");
	gmt_state_add(text, "locale: %s\n", setlocale(LC_ALL, NULL));
	gmt_state_add(text, "users: %u %u %u %u\n", getuid(), geteuid(), getgid(), getegid());
	gmt_state_add(text, "leads: group %d session %d\n", getpgid(0) == getpid(),
		getsid(0) == getpid());
	errno = 0;
	value = getpriority(PRIO_PROCESS, 0);
	gmt_state_add(text, "priority: %d, policy %d\n", value, sched_getscheduler(0));
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
		gmt_state_add(text, "prctl %d: %d\n", asked[i], prctl(asked[i], 0, 0, 0, 0));
	value = 0;
	prctl(PR_GET_PDEATHSIG, &value);
	gmt_state_add(text, "signal at the parent's end: %d\n", value);
	prctl(PR_GET_CHILD_SUBREAPER, &value);
	gmt_state_add(text, "subreaper: %d\n", value);
	read_whole("/proc/self/status", status, sizeof(status));
	for (char *line = status, *next; line && *line; line = next) {
		static const char *const wanted[] = { "Seccomp:", "CapEff:", "CapPrm:", "CapInh:",
			"CapAmb:", "VmLck:", "VmPin:", "Groups:", "CoreDumping:", "Cpus_allowed:",
			"Mems_allowed:", "SigPnd:", "ShdPnd:" };

		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
			if (!strncmp(line, wanted[i], strlen(wanted[i])))
				gmt_state_add(text, "status %s\n", line);
		/* The tracer's process number differs in each run. */
		if (!strncmp(line, "TracerPid:", 10))
			gmt_state_add(text, "traced: %s\n", strtol(line + 10, NULL, 10) ? "yes" : "no");
	}
#ifdef __x86_64__
	{
		unsigned short control;

		__asm__("fnstcw %0" : "=m"(control));
		gmt_state_add(text, "control words: %x %x\n", __builtin_ia32_stmxcsr() & ~0x3fU, control);
	}
#endif
}

static void report_descriptors(struct gmt_state_text *text)
{
	static char target[LINE_BYTES];
	int lowest = -1;

	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		char name[64];
		int flags = fcntl(fd, F_GETFL), on_exec = fcntl(fd, F_GETFD);

		if (flags < 0) {
			lowest = lowest < 0 ? fd : lowest;
			continue;
		}
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);

		ssize_t length = readlink(name, target, sizeof(target) - 1);

		target[length < 0 ? 0 : length] = 0;
		/*
		 * Keeps only the kind of a pipe or socket: the rest of its name is a number that differs
		 * in each run.
		 */
		if (!strncmp(target, "pipe:", 5) || !strncmp(target, "socket:", 7))
			*strchr(target, ':') = 0;
		gmt_state_add(text, "descriptor %d: %s flags %o on exec %d\n", fd, target, (unsigned)flags,
			on_exec);
	}
	gmt_state_add(text, "lowest free descriptor: %d\n", lowest);
}

static void report_threads(struct gmt_state_text *text)
{
	int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char buffer[ENTRY_BYTES];
	long got;
	unsigned count = 0;

	while (fd >= 0 && (got = syscall(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0)
		for (long at = 0; at < got;) {
			const struct dirent64 *entry = (const struct dirent64 *)(const void *)(buffer + at);

			count += entry->d_name[0] != '.';
			at += entry->d_reclen;
		}
	if (fd >= 0)
		close(fd);
	gmt_state_add(text, "threads: %u\n", count);
}

/* Adds each mapped file once, and each mapping that is shared, or executable without a file. */
static void report_maps(struct gmt_state_text *text)
{
	static char maps[FILE_BYTES], last[LINE_BYTES];

	last[0] = 0;
	read_whole("/proc/self/maps", maps, sizeof(maps));
	for (char *line = maps, *next; line && *line; line = next) {
		char rights[8] = "", path[LINE_BYTES] = "";

		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (sscanf(line, "%*s %7s %*s %*s %*s %4300[^\n]", rights, path) < 1)
			continue;
		if (path[0] && path[0] != '[' && strcmp(path, last)) {
			snprintf(last, sizeof(last), "%s", path);
			gmt_state_add(text, "mapped: %s\n", path);
		}
		if (rights[3] == 's' || (!path[0] && rights[2] == 'x'))
			gmt_state_add(text, "memory: %s %s\n", rights, path);
	}
}

void gmt_state_report(struct gmt_state_text *text, unsigned parts)
{
	int saved = errno;

	if (parts & GMT_STATE_OF_PROCESS) {
		report_environment(text);
		report_signals(text);
		report_timers(text);
		report_limits(text);
		report_identity(text);
	}
	if (parts & GMT_STATE_OF_FILES)
		report_descriptors(text);
	if (parts & GMT_STATE_OF_MEMORY) {
		report_threads(text);
		report_maps(text);
	}
	errno = saved;
}
