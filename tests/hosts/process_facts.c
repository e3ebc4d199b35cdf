/* SPDX-License-Identifier: MIT */
/*
 * Prints facts about its own process, one per line: environment, open descriptors, threads, signal
 * masks, limits. At the end of a chain of programs, these facts show what the programs pass on.
 * Leaves out LD_PRELOAD, in which the compared runs differ.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void report_environment(void)
{
	size_t count = 0;

	while (environ[count])
		count++;
	qsort(environ, count, sizeof(*environ), by_text);
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], "LD_PRELOAD=", 11))
			printf("environment %s\n", environ[i]);
}

/* Prints only the kind of a pipe or socket: the rest of its name differs in each run. */
static void report_descriptors(void)
{
	for (int fd = 0; fd < 1024; fd++) {
		char name[64], target[4096];

		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);

		ssize_t length = readlink(name, target, sizeof(target) - 1);

		if (length < 0)
			continue;
		target[length] = '\0';
		if (!strncmp(target, "pipe:", 5) || !strncmp(target, "socket:", 7))
			*strchr(target, ':') = '\0';
		printf("descriptor %d %s\n", fd, target);
	}
}

static void report_status(void)
{
	static const char *const wanted[] = { "Threads:", "SigBlk:", "SigIgn:", "SigCgt:", "SigPnd:",
		"ShdPnd:", "NoNewPrivs:", "Seccomp:", "CapEff:", "TracerPid:", "CoreDumping:" };
	FILE *file = fopen("/proc/self/status", "r");
	char line[4096];

	while (file && fgets(line, sizeof(line), file))
		for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
			if (!strncmp(line, wanted[i], strlen(wanted[i])))
				fputs(line, stdout);
	if (file)
		fclose(file);
}

static void report_limits(void)
{
	for (int which = 0; which < RLIMIT_NLIMITS; which++) {
		struct rlimit limit;

		/* In GNU's C++, and in C with _GNU_SOURCE, the argument has an enum type. */
		if (getrlimit((__typeof__(RLIMIT_AS))which, &limit) == 0)
			printf("limit %d %llu %llu\n", which, (unsigned long long)limit.rlim_cur,
				(unsigned long long)limit.rlim_max);
	}
}

static void report_shared_memory(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	char own[32];

	snprintf(own, sizeof(own), "%d.", (int)getpid());
	while (folder && (entry = readdir(folder)))
		if (!strncmp(entry->d_name, own, strlen(own)))
			printf("left %s\n", entry->d_name);
	if (folder)
		closedir(folder);
}

int main(int argc, char **argv)
{
	char text[4096];

	for (int i = 1; i < argc; i++)
		printf("argument %s\n", argv[i]);
	printf("folder %s\n", getcwd(text, sizeof(text)) ? text : "?");

	mode_t mask = umask(0);

	umask(mask);
	printf("umask %o\n", (unsigned)mask);
	report_environment();
	report_descriptors();
	report_status();
	report_limits();
	snprintf(text, sizeof(text), "/dev/shm/gpumemtrace-%u", (unsigned)getuid());
	report_shared_memory(text);
	return 0;
}
