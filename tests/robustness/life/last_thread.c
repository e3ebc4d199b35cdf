/* SPDX-License-Identifier: MIT */
/*
 * last-thread MAIN OTHER FIRST: the two threads of this process end one after the other. An exit
 * handler prints "handler" through stdio. MAIN and OTHER say how the threads end: "call" is the
 * system call exit, with code 3 for the main thread and 5 for the other; "thread" is pthread_exit;
 * "return" returns. FIRST says which thread ends first: "main" or "other".
 */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAIN_CODE = 3, OTHER_CODE = 5, SOON_US = 10000, LATER_US = 900000 };

static const char *main_way, *other_way;
static int other_is_first;
static void *block;

static void on_exit_of_process(void)
{
	printf("handler\n");
	if (cudaFree(block))
		_exit(9);
}

static void end(const char *way, int code)
{
	if (strcmp(way, "call") == 0)
		syscall(SYS_exit, code);
	if (strcmp(way, "thread") == 0)
		pthread_exit(NULL);
}

static void *run_other(void *unused)
{
	usleep(other_is_first ? SOON_US : LATER_US);
	end(other_way, OTHER_CODE);
	return unused;
}

int main(int count, char **words)
{
	pthread_t other;

	if (count != 4 || cudaMalloc(&block, 1111) || atexit(on_exit_of_process))
		return 9;
	main_way = words[1];
	other_way = words[2];
	other_is_first = strcmp(words[3], "other") == 0;
	if (pthread_create(&other, NULL, run_other, NULL))
		return 9;
	usleep(other_is_first ? LATER_US : SOON_US);
	end(main_way, MAIN_CODE);
	return 7;
}
