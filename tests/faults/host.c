/* SPDX-License-Identifier: MIT */
/*
 * Reads commands from stdin, runs each and prints one line for it. A command is a line with a word
 * and a number or a path. So a test can change the environment between two calls of the program.
 */
#include <cuda_runtime_api.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 512, MAX_THREADS = 512 };

static pthread_barrier_t barrier;

static int allocate(long count, int keeps)
{
	for (void *block; count > 0; count--)
		if (cudaMalloc(&block, BYTES) || (!keeps && cudaFree(block)))
			return 1;
	return 0;
}

static int events(long count)
{
	return allocate(count, 0);
}

static int keep(long count)
{
	return allocate(count, 1);
}

static void *keep_one(void *unused)
{
	int failure = keep(1);

	/* All threads live at the same time, so each has its own ring. */
	pthread_barrier_wait(&barrier);
	return failure ? &barrier : unused;
}

static int threads(long count)
{
	static pthread_t ids[MAX_THREADS];
	int failures = 0;

	if (count > MAX_THREADS || pthread_barrier_init(&barrier, NULL, (unsigned)count))
		return 1;
	for (long i = 0; i < count; i++)
		if (pthread_create(&ids[i], NULL, keep_one, NULL))
			abort();
	for (long i = 0; i < count; i++) {
		void *result;

		pthread_join(ids[i], &result);
		failures += result != NULL;
	}
	return failures;
}

static int pause_ms(long ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&time, &time))
		;
	return 0;
}

static int closes(long number)
{
	return close((int)number);
}

static int file_size_limit(long bytes)
{
	struct rlimit limit = { .rlim_cur = (rlim_t)bytes, .rlim_max = RLIM_INFINITY };

	return setrlimit(RLIMIT_FSIZE, &limit);
}

static int ends(long code)
{
	exit((int)code);
}

static int ends_at_once(long code)
{
	_exit((int)code);
}

/* Forks `count` times, with events in between. Returns how many children did not end in order. */
static int forks(long count)
{
	int failures = 0;

	for (; count > 0; count--) {
		pid_t child = fork();
		int status;

		if (!child)
			exit(0);
		failures += child < 0 || waitpid(child, &status, 0) != child || status || events(500);
	}
	return failures;
}

static int kills_itself(long number)
{
	return raise((int)number);
}

static const struct command {
	const char *name;
	int (*run)(long number);
} commands[] = {
	{ "events", events },
	{ "keep", keep },
	{ "threads", threads },
	{ "pause", pause_ms },
	{ "close", closes },
	{ "file-size-limit", file_size_limit },
	{ "forks", forks },
	{ "exit", ends },
	{ "_exit", ends_at_once },
	{ "signal", kills_itself },
};

/* Opens a file under the lowest free descriptor, writes to it and keeps it open. */
static int open_own(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	return fd >= 0 && write(fd, "my own text", 11) == 11 ? fd : -1;
}

static int run(const char *name, const char *argument)
{
	if (strcmp(name, "open") == 0)
		return open_own(argument);
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return commands[i].run(atol(argument));
	return -2;
}

int main(void)
{
	char line[512], name[32], argument[400];

	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%31s %399s", name, argument) != 2)
			return 2;
		errno = 0;
		int result = run(name, argument);

		printf("%s %s: %d, errno %d\n", name, argument, result, errno);
		fflush(stdout);
	}
	return 0;
}
