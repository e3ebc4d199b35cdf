/* SPDX-License-Identifier: MIT */
/*
 * process-starts MODE [ARGUMENT]: processes that start and end in each possible way. The sizes show
 * who allocates: the program itself 1111 and 3333, a child or an executed program 2222.
 */
#include <cuda_runtime_api.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../programs/own_tasks.h"

enum {
	OWN = 1111,
	CHILD = 2222,
	OWN_LATER = 3333,
	FORKS = 60,
	FORKING_THREADS = 4,
	LAST_DESCRIPTOR = 1023
};

extern char **environ;
static char *self;

static void allocate(size_t size_bytes)
{
	void *block;

	if (cudaMalloc(&block, size_bytes))
		_exit(9);
}

/* Returns 0 if the child ended as it should. */
static int wait_for(pid_t pid)
{
	int status = 1;

	return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
}

/* Makes a child by the system call alone, without the handlers of pthread_atfork. */
static pid_t raw_clone(int flags)
{
	return (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
}

static pid_t raw_clone3(int flags)
{
	struct clone_args arguments = { .flags = (uint64_t)flags, .exit_signal = SIGCHLD };
	pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));

	return pid < 0 && errno == ENOSYS ? raw_clone(flags) : pid;
}

static int unseen_child(pid_t (*make)(int))
{
	pid_t pid;

	allocate(OWN);
	/*
	 * A lock that a thread of the recorder holds now would stay locked in the child. The thread
	 * sleeps for a while at this point.
	 */
	wait_for_turn_of("gpumemtrace", NULL);
	pid = make(0);
	if (!pid) {
		allocate(CHILD);
		exit(0);
	}

	int failed = wait_for(pid);
	/* This child continues without CUDA. */
	pid = make(0);
	if (!pid)
		_exit(0);
	failed += wait_for(pid);
	allocate(OWN_LATER);
	return failed;
}

static int clone_child(void)
{
	return unseen_child(raw_clone);
}

static int clone3_child(void)
{
	return unseen_child(raw_clone3);
}

/* Allocates in a child of vfork, which shares its parent's memory. vfork forbids such calls. */
static int vfork_and_allocate(void)
{
	pid_t pid = vfork();

	if (!pid) {
		allocate(CHILD);
		_exit(0);
	}
	return wait_for(pid);
}

static int guest_first(void)
{
	int failed = vfork_and_allocate();

	allocate(OWN);
	allocate(OWN_LATER);
	return failed;
}

static int guest_later(void)
{
	allocate(OWN);

	int failed = vfork_and_allocate();
	allocate(OWN_LATER);
	return failed;
}

static int be_true(void *unused)
{
	(void)unused;
	execlp("true", "true", NULL);
	_exit(1);
}

static int end_at_once(void *unused)
{
	(void)unused;
	_exit(0);
}

static int guest_by_clone(void)
{
	static _Alignas(64) char stack[65536];
	int failed = 0;

	allocate(OWN);
	failed +=
		wait_for(clone(be_true, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
	failed +=
		wait_for(clone(end_at_once, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
	allocate(OWN_LATER);
	return failed;
}

static int as_child(void)
{
	allocate(CHILD);
	return 0;
}

static int spawn(void)
{
	char *const arguments[] = { self, (char *)(uintptr_t)"child", NULL };
	pid_t pid;

	allocate(OWN);
	if (posix_spawn(&pid, self, NULL, NULL, arguments, environ))
		return 1;

	int failed = wait_for(pid);
	allocate(OWN_LATER);
	return failed;
}

/*
 * Becomes a daemon (two forks, a new session, all descriptors closed), and only then uses CUDA. The
 * first process makes no CUDA call.
 */
static int become_daemon(void)
{
	if (fork())
		return 0;
	setsid();
	if (fork())
		_exit(0);
	for (int number = 0; number <= LAST_DESCRIPTOR; number++)
		close(number);
	open("/dev/null", O_RDWR);
	dup2(0, 1);
	dup2(0, 2);
	allocate(OWN);
	allocate(OWN_LATER);
	exit(0);
}

static volatile int is_over;

static void *be_busy(void *unused)
{
	void *block;

	while (!is_over)
		if (usleep(200), cudaMalloc(&block, OWN) || cudaFree(block))
			abort();
	return unused;
}

/*
 * Forks while threads allocate. Every third child tries to use CUDA, and CUDA must refuse: the
 * parent uses CUDA already. The others end by _exit or run another program.
 */
static int forks_with_threads(void)
{
	pthread_t ids[FORKING_THREADS];
	void *first;
	int failed = cudaMalloc(&first, OWN) || cudaFree(first);

	for (int i = 0; i < FORKING_THREADS; i++)
		pthread_create(&ids[i], NULL, be_busy, NULL);
	for (int i = 0; i < FORKS; i++) {
		void *block;
		pid_t pid = fork();

		if (!pid && i % 3 == 0)
			exit(cudaMalloc(&block, CHILD) == cudaSuccess);
		if (!pid && i % 3 == 1)
			_exit(0);
		if (!pid) {
			execlp("true", "true", NULL);
			_exit(1);
		}
		failed += wait_for(pid);
	}
	is_over = 1;
	for (int i = 0; i < FORKING_THREADS; i++)
		pthread_join(ids[i], NULL);
	return failed;
}

/* Prints how many mappings and descriptors the child has of its parent's recorder. */
static int child_that_stays(void)
{
	char path[64], line[4352];
	int found = 0;

	allocate(OWN);

	pid_t pid = fork();
	if (pid)
		return wait_for(pid);

	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof(line), maps))
		found += strstr(line, ".area") != NULL;
	for (int number = 0; number <= LAST_DESCRIPTOR; number++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", number);

		ssize_t length = readlink(path, line, sizeof(line) - 1);
		line[length > 0 ? length : 0] = 0;
		found += strstr(line, ".area") != NULL || strstr(line, ".gmt.gz") != NULL ||
			strstr(line, ".control") != NULL;
	}
	printf("%d\n", found);
	return 0;
}

/* Prints all open descriptors except the standard streams, one in each line. */
static int descriptors(void)
{
	char path[64], target[4352];

	allocate(OWN);
	for (int number = STDERR_FILENO + 1; number <= LAST_DESCRIPTOR; number++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", number);

		ssize_t length = readlink(path, target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = 0;
		if (length > 0)
			puts(target);
	}
	return 0;
}

static const struct mode {
	const char *name;
	int (*run)(void);
} modes[] = {
	{ "clone", clone_child },
	{ "clone3", clone3_child },
	{ "guest-first", guest_first },
	{ "guest-later", guest_later },
	{ "guest-by-clone", guest_by_clone },
	{ "child", as_child },
	{ "spawn", spawn },
	{ "daemon", become_daemon },
	{ "forks-with-threads", forks_with_threads },
	{ "child-that-stays", child_that_stays },
	{ "descriptors", descriptors },
};

int main(int count, char **arguments)
{
	self = arguments[0];
	for (size_t i = 0; count > 1 && i < sizeof(modes) / sizeof(*modes); i++)
		if (strcmp(modes[i].name, arguments[1]) == 0)
			return modes[i].run();
	return 2;
}
