/* SPDX-License-Identifier: MIT */
/* Cases that end a process that uses CUDA. Handlers print when they run. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cuda_host.h"

static void print_text(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		abort();
}

static void at_exit(void)
{
	print_text("handler at exit\n");
}
static void at_quick_exit_handler(void)
{
	print_text("handler at quick exit\n");
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static void begin(void)
{
	atexit(at_exit);
	at_quick_exit(at_quick_exit_handler);
	for (int i = 0; i < 50; i++)
		host_allocate(HOST_BLOCK_BYTES);
}

static void *raw_exit_later(void *nothing)
{
	(void)nothing;
	sleep_ms(300);
	host_allocate(10);
	syscall(SYS_exit, 5);
	return NULL;
}

int host_raw_exits(size_t bytes)
{
	pthread_t thread;

	(void)bytes;
	begin();
	pthread_create(&thread, NULL, raw_exit_later, NULL);
	syscall(SYS_exit, 3);
	return 9;
}

int host_raw_exit_group(size_t bytes)
{
	(void)bytes;
	begin();
	syscall(SYS_exit_group, 4);
	return 9;
}

static void *exit_of_thread(void *nothing)
{
	host_allocate(10);
	exit(6);
	return nothing;
}

int host_exit_of_thread(size_t bytes)
{
	pthread_t thread;

	(void)bytes;
	begin();
	pthread_create(&thread, NULL, exit_of_thread, NULL);
	pthread_join(thread, NULL);
	return 9;
}

static void *for_ever(void *nothing)
{
	for (;;)
		host_allocate(HOST_BLOCK_BYTES);
	return nothing;
}

int host_exit_with_threads(size_t bytes)
{
	pthread_t thread;

	(void)bytes;
	begin();
	for (int i = 0; i < 4; i++)
		pthread_create(&thread, NULL, for_ever, NULL);
	sleep_ms(50);
	return 7;
}

int host_abort(size_t bytes)
{
	(void)bytes;
	begin();
	abort();
}

int host_crash(size_t bytes)
{
	(void)bytes;
	begin();
	*(volatile int *)(uintptr_t)bytes = 1;
	return 9;
}

int host_kill(size_t bytes)
{
	begin();
	raise((int)bytes);
	return 9;
}

int host_quick_exit(size_t bytes)
{
	(void)bytes;
	begin();
	quick_exit(8);
}

static void *last_thread(void *nothing)
{
	sleep_ms(200);
	host_allocate(10);
	print_text("last thread\n");
	return nothing;
}

int host_end_of_main(size_t bytes)
{
	pthread_t thread;

	(void)bytes;
	begin();
	pthread_create(&thread, NULL, last_thread, NULL);
	pthread_exit(NULL);
}
