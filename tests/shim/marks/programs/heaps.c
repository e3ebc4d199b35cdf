/* SPDX-License-Identifier: MIT */
/*
 * A program with its own pools. Its arguments are commands, which it runs one after the other:
 *
 *	alloc:SIZE pinned:SIZE malloc:SIZE  takes memory for the heaps that follow
 *	device:N                            sets the current device
 *	heap:NAME:SIZE                      declares a heap at the start of that memory
 *	unplaced:NAME:SIZE                  declares a heap without its address
 *	in:N                                selects the heap number N (from 0) for the next commands
 *	get:OFFSET:SIZE give:OFFSET         takes and gives back a block of that memory
 *	resize:SIZE reset end               changes the heap
 *	step                                sets a mark
 *	many:N                              declares N heaps
 *	threads:N                           N threads take and give back 1000 blocks each, at separate
 *	                                    offsets
 *	time:N                              takes and gives back N blocks one after the other; prints
 *	                                    the nanoseconds for one block
 *	capture uncapture                   begins and ends the capture of a stream
 *	fork                                a child runs the other commands; the parent waits for it
 */
#include <cuda_runtime_api.h>
#include <gpumemtrace.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HEAPS = 4096, BLOCKS_OF_THREAD = 1000 };

static char *memory, *memory_of[HEAPS];
static unsigned heaps[HEAPS];
static int made, current;
static cudaStream_t stream;

static void require(cudaError_t error)
{
	if (error) {
		printf("error %d\n", (int)error);
		exit(1);
	}
}

/* Not inlined, so that stacks show the line of the allocation. */
__attribute__((noinline)) static void take(size_t offset, size_t size_bytes)
{
	gpumemtrace_suballoc(heaps[current], memory_of[current] + offset, size_bytes, (void *)7);
	__asm__ volatile("" : : : "memory");
}

static void begin_heap(const char *name, const void *where, size_t size_bytes)
{
	memory_of[made] = memory;
	heaps[made] = gpumemtrace_heap(name, where, size_bytes);
	current = made++;
}

static void *use_in_thread(void *number)
{
	size_t first = (size_t)number * BLOCKS_OF_THREAD;

	for (size_t i = first; i < first + BLOCKS_OF_THREAD; i++) {
		gpumemtrace_suballoc(heaps[current], memory_of[current] + i * 64, 64, NULL);
		if (i % 10)
			gpumemtrace_subfree(heaps[current], memory_of[current] + i * 64);
	}
	return NULL;
}

static void use_in_threads(int count)
{
	pthread_t threads[64];

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, use_in_thread, (void *)(size_t)i);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* Prints the time of the fastest batch. The pauses keep the writer's work out of the batches. */
static void measure(int count)
{
	double best = 1e18;

	for (int done = 0; done < count; done += 500) {
		double start;

		usleep(10000);
		start = now_ns();
		for (int i = 0; i < 500; i++) {
			take(0, 64);
			gpumemtrace_subfree(heaps[current], memory_of[current]);
		}
		best = now_ns() - start < best ? now_ns() - start : best;
	}
	printf("%.0f ns\n", best / 500);
}

static void get_memory(const char *verb, size_t a)
{
	if (strcmp(verb, "alloc") == 0)
		require(cudaMalloc((void **)&memory, a));
	else if (strcmp(verb, "pinned") == 0)
		require(cudaMallocHost((void **)&memory, a));
	else if (strcmp(verb, "malloc") == 0)
		memory = malloc(a);
	else if (strcmp(verb, "device") == 0)
		require(cudaSetDevice((int)a));
}

static void capture(const char *verb)
{
	cudaGraph_t graph;

	if (strcmp(verb, "capture") == 0) {
		require(cudaStreamCreate(&stream));
		require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	} else if (strcmp(verb, "uncapture") == 0) {
		require(cudaStreamEndCapture(stream, &graph));
		printf("captured\n");
	}
}

static void use_heap(const char *verb, size_t a, size_t b)
{
	if (strcmp(verb, "in") == 0)
		current = (int)a;
	else if (strcmp(verb, "get") == 0)
		take(a, b);
	else if (strcmp(verb, "give") == 0)
		gpumemtrace_subfree(heaps[current], memory_of[current] + a);
	else if (strcmp(verb, "resize") == 0)
		gpumemtrace_heap_resize(heaps[current], a);
	else if (strcmp(verb, "reset") == 0)
		gpumemtrace_heap_reset(heaps[current]);
	else if (strcmp(verb, "end") == 0)
		gpumemtrace_heap_end(heaps[current]);
	else if (strcmp(verb, "step") == 0)
		gpumemtrace_step();
	else if (strcmp(verb, "threads") == 0)
		use_in_threads((int)a);
	else if (strcmp(verb, "time") == 0)
		measure((int)a);
	for (size_t i = 0; strcmp(verb, "many") == 0 && i < a; i++)
		begin_heap("one of many", memory, 100);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 1; i < argc; i++) {
		char *rest = strdup(argv[i]), *verb = strsep(&rest, ":");
		char *first = strsep(&rest, ":"), *second = strsep(&rest, ":");
		size_t a = first ? strtoul(first, NULL, 0) : 0, b = second ? strtoul(second, NULL, 0) : 0;

		if (strcmp(verb, "fork") == 0 && fork()) {
			wait(NULL);
			return 0;
		}
		if (strcmp(verb, "heap") == 0)
			begin_heap(first, memory, b);
		if (strcmp(verb, "unplaced") == 0)
			begin_heap(first, NULL, b);
		get_memory(verb, a);
		capture(verb);
		use_heap(verb, a, b);
		/* The recorder must not keep the program's own string. */
		memset(verb, 'X', strlen(argv[i]));
		free(verb);
	}
	return 0;
}
