/* SPDX-License-Identifier: MIT */
/*
 * process-ends MODE [PROGRAM]: allocates 1111 bytes. Then the process ends in each possible way, or
 * a function of the exec family replaces it by PROGRAM.
 */
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIZE = 1111, LATER = 3333, CODE = 5, THREADS = 4, SYNCED_US = 1500000, BUSY_ROUNDS = 1000 };

extern char **environ;
static char *program, *list[4];

static void allocate(size_t size_bytes)
{
	void *block;

	if (cudaMalloc(&block, size_bytes))
		_exit(9);
}

static void *exit_here(void *unused)
{
	(void)unused;
	exit(CODE);
}

static void *exit_plainly_here(void *unused)
{
	(void)unused;
	_exit(CODE);
}

static void start(void *(*work)(void *))
{
	pthread_t id;

	if (pthread_create(&id, NULL, work, NULL))
		_exit(9);
}

static void pause_for_ever(void)
{
	for (;;)
		pause();
}

static _Atomic int busy_rounds;

static void *be_busy(void *unused)
{
	void *block;

	for (; !cudaMalloc(&block, LATER); busy_rounds++)
		cudaFree(block);
	return unused;
}

static void on_signal(int number)
{
	(void)number;
	_exit(CODE);
}

static void by_return(void)
{
}

static void by_exit(void)
{
	exit(CODE);
}

static void by_exit_plainly(void)
{
	_exit(CODE);
}

static void by_Exit(void)
{
	_Exit(CODE);
}

static void by_quick_exit(void)
{
	quick_exit(CODE);
}

static void by_abort(void)
{
	abort();
}

static void by_abort_later(void)
{
	usleep(SYNCED_US);
	abort();
}

static void by_system_call(void)
{
	usleep(SYNCED_US);
	syscall(SYS_exit_group, CODE);
}

static void by_exit_of_another(void)
{
	start(exit_here);
	pause_for_ever();
}

static void by_exit_of_two(void)
{
	start(exit_plainly_here);
	_exit(CODE);
}

static void by_exit_with_busy_threads(void)
{
	for (int i = 0; i < THREADS; i++)
		start(be_busy);
	while (busy_rounds < BUSY_ROUNDS)
		usleep(1000);
	exit(CODE);
}

static void by_end_of_main(void)
{
	pthread_exit(NULL);
}

static void by_exit_in_handler(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
}

static void by_execve(void)
{
	execve(program, list, environ);
}

static void by_execv(void)
{
	execv(program, list);
}

static void by_execvp(void)
{
	execvp(program, list);
}

static void by_execvpe(void)
{
	execvpe(program, list, environ);
}

static void by_execl(void)
{
	execl(program, list[0], list[1], NULL);
}

static void by_execle(void)
{
	execle(program, list[0], list[1], NULL, environ);
}

static void by_execlp(void)
{
	execlp(program, list[0], list[1], NULL);
}

static void by_fexecve(void)
{
	fexecve(open(program, O_RDONLY | O_CLOEXEC), list, environ);
}

static void by_execveat(void)
{
	execveat(AT_FDCWD, program, list, environ, 0);
}

static void *exec_here(void *unused)
{
	by_execv();
	return unused;
}

static void by_exec_of_another(void)
{
	start(exec_here);
	pause_for_ever();
}

/* Tries to execute files that cannot be executed. */
static void by_failed_exec(void)
{
	char *const nothing[] = { NULL };

	if (execv("/nonexistent", list) != -1 || execlp("no-such-program-anywhere", "x", NULL) != -1 ||
		execve("/", list, nothing) != -1)
		_exit(9);
	allocate(LATER);
	exit(CODE);
}

#define MODE(name) { #name, by_##name }

static const struct mode {
	const char *name;
	void (*run)(void);
} modes[] = {
	MODE(return),
	MODE(exit),
	MODE(exit_plainly),
	MODE(Exit),
	MODE(quick_exit),
	MODE(abort),
	MODE(abort_later),
	MODE(system_call),
	MODE(exit_of_another),
	MODE(exit_of_two),
	MODE(exit_with_busy_threads),
	MODE(end_of_main),
	MODE(exit_in_handler),
	MODE(execve),
	MODE(execv),
	MODE(execvp),
	MODE(execvpe),
	MODE(execl),
	MODE(execle),
	MODE(execlp),
	MODE(fexecve),
	MODE(execveat),
	MODE(exec_of_another),
	MODE(failed_exec),
};

int main(int count, char **arguments)
{
	program = count > 2 ? arguments[2] : NULL;
	for (int i = 2; i < count && i < 5; i++)
		list[i - 2] = arguments[i];
	for (size_t i = 0; count > 1 && i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(modes[i].name, arguments[1]) != 0)
			continue;
		allocate(SIZE);
		modes[i].run();
		return CODE;
	}
	return 2;
}
