/* SPDX-License-Identifier: MIT */
/*
 * fork-in-wait: asks for more memory than the device has, while the disk is slow. The recorder then
 * waits for its writer. The handler of a timer forks in this wait. The child returns from the
 * handler, asks for memory and ends. Prints its status, and after how many seconds it had ended.
 */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE_BYTES = 2048, FORK_AFTER_US = 300000, SLOW_US = 1000000 };

static pthread_t main_thread;
static atomic_bool is_slow;
static volatile sig_atomic_t is_child;
static pid_t child;

/* Replaces libc's function for the recorder's writer. */
__attribute__((visibility("default"))) ssize_t write(int fd, const void *bytes, size_t length)
{
	if (atomic_load(&is_slow) && !is_child && !pthread_equal(pthread_self(), main_thread))
		usleep(SLOW_US);
	return syscall(SYS_write, fd, bytes, length);
}

static void on_timer(int number)
{
	(void)number;
	child = fork();
	if (child == 0)
		is_child = 1;
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_timer };
	struct itimerval timer = { .it_value.tv_usec = FORK_AFTER_US };
	void *block;
	double begin_s;
	int status = -1;

	main_thread = pthread_self();
	if (cudaMalloc(&block, SIZE_BYTES))
		return 2;
	sigaction(SIGALRM, &action, NULL);
	atomic_store(&is_slow, true);
	begin_s = now_s();
	setitimer(ITIMER_REAL, &timer, NULL);
	/* The wait goes on until the writer has written, if no fork ends it. */
	if (cudaMalloc(&block, (size_t)1 << 50) != cudaErrorMemoryAllocation)
		return 3;
	if (is_child) {
		/* The device refuses it, because the parent uses the device. */
		cudaMalloc(&block, SIZE_BYTES);
		exit(0);
	}
	atomic_store(&is_slow, false);
	if (child <= 0 || now_s() - begin_s < FORK_AFTER_US * 1e-6)
		return 5;
	waitpid(child, &status, 0);
	printf("%d %.3f\n", status, now_s() - begin_s);
	return 0;
}
