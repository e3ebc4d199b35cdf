/* SPDX-License-Identifier: MIT */
/* Cases in which signals, jumps and cancellations interrupt calls. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda_host.h"

enum {
	FORKS = 200,
	FORK_EVERY_US = 300,
	CHILD_S = 60,
	JUMPS = 20,
	JUMP_US = 2000,
	LONG_US = 200000,
	RECURSION = 60
};

static volatile sig_atomic_t is_child, forks, jumps, counted[NSIG];
static sigjmp_buf back;

static void sleep_us(long us)
{
	struct timespec left = { us / 1000000, us % 1000000 * 1000 };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static void every(long us)
{
	setitimer(ITIMER_REAL, &(struct itimerval){ { 0, us }, { 0, us } }, NULL);
}

__attribute__((noinline)) static void allocate_deep(int depth)
{
	if (depth > 0)
		allocate_deep(depth - 1);
	else
		host_allocate(1000);
	__asm__ volatile("" : : : "memory");
}

static void fork_in_handler(int number)
{
	int saved = errno;
	pid_t child;

	(void)number;
	if (is_child || forks >= FORKS)
		return;
	child = fork();
	if (child == 0) {
		is_child = 1;
		/* A child that waits for ever must end by SIGALRM, which is an error. */
		signal(SIGALRM, SIG_DFL);
		alarm(CHILD_S);
	}
	host_must(child >= 0, "fork");
	forks++;
	errno = saved;
}

/* Forks in a handler. The child continues where the handler interrupted its parent. */
int host_forks_in_handlers(size_t bytes)
{
	struct sigaction action = { .sa_handler = fork_in_handler, .sa_flags = SA_RESTART };
	int ended = 0, wrong = 0, status;

	(void)bytes;
	host_allocate(10);
	sigaction(SIGALRM, &action, NULL);
	every(FORK_EVERY_US);
	for (int i = 0; forks < FORKS && !is_child; i++)
		allocate_deep(i * 7 % RECURSION);
	if (is_child) {
		for (int i = 0; i < 3; i++)
			allocate_deep(i * 5);
		_exit(7);
	}
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	while (wait(&status) > 0) {
		ended++;
		wrong += !WIFEXITED(status) || WEXITSTATUS(status) != 7;
	}
	printf("%d children, %d ended in another way\n", ended, wrong);
	return 0;
}

static void jump(int number)
{
	(void)number;
	jumps++;
	siglongjmp(back, 1);
}

/* Jumps out of the driver's call repeatedly, and continues to use the driver. */
int host_jump(size_t bytes)
{
	uint64_t block;

	(void)bytes;
	host_allocate(10);
	signal(SIGALRM, jump);
	for (volatile int i = 0; i < JUMPS; i++) {
		if (!sigsetjmp(back, 1)) {
			atomic_store(&bare_delay_us, LONG_US * 10);
			setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = { 0, JUMP_US } }, NULL);
			cuMemAlloc_v2(&block, 4096);
		}
		atomic_store(&bare_delay_us, 0);
		for (int each = 0; each < 5; each++)
			host_allocate(1 << 20);
	}
	printf("%d jumps\n", (int)jumps);
	return 0;
}

static void allocate_and_jump(int number)
{
	host_allocate(77);
	jump(number);
}

/* Tests a handler that allocates, and then leaves by a jump. */
int host_nested_jumps(size_t bytes)
{
	uint64_t block;

	(void)bytes;
	host_allocate(10);
	signal(SIGALRM, allocate_and_jump);
	for (volatile int i = 0; i < JUMPS; i++) {
		if (!sigsetjmp(back, 1)) {
			setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = { 0, JUMP_US } }, NULL);
			for (;;) {
				cuMemAlloc_v2(&block, 4096);
				cuMemFree_v2(block);
			}
		}
		host_allocate(1 << 20);
	}
	printf("%d jumps\n", (int)jumps);
	return 0;
}

static void clean_up(void *nothing)
{
	(void)nothing;
	atomic_store(&bare_delay_us, 0);
	for (int i = 0; i < 10; i++)
		host_allocate(4096);
	puts("cleaned up");
}

static void *cancelled(void *nothing)
{
	uint64_t block;

	pthread_cleanup_push(clean_up, NULL);
	host_allocate(10);
	atomic_store(&bare_delay_us, LONG_US * 100);
	cuMemAlloc_v2(&block, 4096);
	pthread_cleanup_pop(0);
	return nothing;
}

int host_cancel(size_t bytes)
{
	pthread_t thread;
	void *result;

	(void)bytes;
	pthread_create(&thread, NULL, cancelled, NULL);
	while (!atomic_load(&bare_delay_us))
		sleep_us(1000);
	sleep_us(LONG_US / 4);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	puts(result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
	host_allocate(20);
	return 0;
}

static void count(int number)
{
	counted[number]++;
}

/* The program must receive only signals that it sent. */
int host_signals(size_t bytes)
{
	struct sigaction action = { .sa_handler = count, .sa_flags = SA_RESTART };

	(void)bytes;
	for (int number = 1; number < NSIG; number++)
		if (number != SIGSEGV && number != SIGBUS && number != SIGILL && number != SIGFPE)
			sigaction(number, &action, NULL);
	for (int i = 0; i < 2000; i++)
		host_allocate(4096);
	sleep_us(LONG_US * 6);
	for (int number = 1; number < NSIG; number++)
		if (counted[number])
			printf("signal %d came %d times\n", number, (int)counted[number]);
	return 0;
}

/* A signal that all program threads block must stay pending: no recorder thread may take it. */
int host_pending(size_t bytes)
{
	static const int sent[] = { SIGUSR1, SIGTERM, SIGCHLD, SIGALRM, SIGIO };
	sigset_t all, pending;

	(void)bytes;
	for (int number = 1; number < NSIG; number++)
		if (number != SIGSEGV && number != SIGBUS && number != SIGILL && number != SIGFPE)
			signal(number, count);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	for (int i = 0; i < 200; i++)
		host_allocate(4096);
	for (size_t i = 0; i < sizeof(sent) / sizeof(*sent); i++)
		kill(getpid(), sent[i]);
	sleep_us(LONG_US);
	sigpending(&pending);
	for (size_t i = 0; i < sizeof(sent) / sizeof(*sent); i++)
		printf("signal %d: %s, handled %d times\n", sent[i],
			sigismember(&pending, sent[i]) ? "pending" : "gone", (int)counted[sent[i]]);
	return 0;
}
