/* SPDX-License-Identifier: MIT */
/*
 * host-stack STACK WHEN [WHAT]: measures how much stack calls of the driver use, with and without
 * the recorder. Paints all memory below the stack pointer before the calls, and checks it after.
 *
 *	STACK  signal     a signal stack on the heap
 *	       inside     a signal stack in the frame of a function that called the driver before
 *	       coroutine  a stack of makecontext, without a guard page
 *	       thread     a thread's stack that the program provides, without a guard page
 *	       frame      an array in a function's frame, by makecontext
 *	WHEN   first      the first call of the process, in that thread
 *	       later      after other calls
 *	WHAT   marks      also the functions of gpumemtrace.h
 *
 * Prints how many bytes below the calling function's stack pointer were written to.
 */
#include <alloca.h>
#include <cuda.h>
#include <gpumemtrace.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK_BYTES = 256 << 10, FILLING = 0x5a, DEPTH = 6, KEPT_BYTES = 256 };

static unsigned char heap[STACK_BYTES] __attribute__((aligned(4096)));
static char heap_memory[4096];
static unsigned char *stack_low;
static size_t used_bytes;
static CUcontext context;
static int has_marks;

static void begin(void)
{
	CUdevice device;

	if (cuInit(0) || cuDeviceGet(&device, 0) || cuCtxCreate(&context, NULL, 0, device))
		_exit(8);
}

__attribute__((noinline)) static void allocate_and_free(void)
{
	CUdeviceptr block;

	if (cuMemAlloc(&block, 1000) || cuMemFree(block))
		_exit(9);
}

__attribute__((noinline)) static void mark(void)
{
	unsigned pool = gpumemtrace_heap("a heap", heap_memory, sizeof(heap_memory));

	gpumemtrace_phase_push("a phase");
	gpumemtrace_mark("a mark");
	gpumemtrace_suballoc(pool, heap_memory, 100, NULL);
	gpumemtrace_subfree(pool, heap_memory);
	gpumemtrace_phase_pop();
	gpumemtrace_step();
	gpumemtrace_heap_end(pool);
}

/*
 * Paints the memory below this frame. Calls the driver three times, and counts the changed bytes.
 */
__attribute__((noinline)) static void measure(void)
{
	unsigned char *here = __builtin_frame_address(0), *low = stack_low;

	/* Leaves out the bytes that this function still needs. memset would need some too. */
	for (volatile unsigned char *at = low; at < here - KEPT_BYTES; at++)
		*at = FILLING;
	for (int i = 0; i < 3; i++) {
		allocate_and_free();
		if (has_marks)
			mark();
	}
	while (low < here && *low == FILLING)
		low++;
	used_bytes = (size_t)(here - low);
}

__attribute__((noinline)) static int call_deeper(int depth)
{
	if (depth)
		return call_deeper(depth - 1) + 1;
	measure();
	return 0;
}

static void on_signal(int number)
{
	(void)number;
	call_deeper(DEPTH);
}

static void take_signal(unsigned char *low, size_t bytes)
{
	stack_t stack = { .ss_sp = low, .ss_size = bytes };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	stack_low = low;
	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL) || raise(SIGUSR1))
		_exit(7);
}

static void routine(void)
{
	call_deeper(DEPTH);
}

static void switch_to(unsigned char *low, size_t bytes)
{
	ucontext_t back, there;

	stack_low = low;
	if (getcontext(&there))
		_exit(6);
	there.uc_stack.ss_sp = low;
	there.uc_stack.ss_size = bytes;
	there.uc_link = &back;
	makecontext(&there, routine, 0);
	swapcontext(&back, &there);
}

static void *thread_main(void *unused)
{
	if (cuCtxSetCurrent(context))
		_exit(4);
	call_deeper(DEPTH);
	return unused;
}

static void start_thread(unsigned char *low, size_t bytes)
{
	pthread_attr_t attributes;
	pthread_t thread;

	stack_low = low;
	if (pthread_attr_init(&attributes) || pthread_attr_setstack(&attributes, low, bytes) ||
		pthread_create(&thread, &attributes, thread_main, NULL) || pthread_join(thread, NULL))
		_exit(5);
}

/* Calls the driver from a frame that lies where the array of in_frame will lie later. */
__attribute__((noinline)) static void call_from(size_t below)
{
	volatile char *frame = alloca(below);

	frame[0] = 1;
	allocate_and_free();
	__asm__ volatile("" : : "r"(frame) : "memory");
}

__attribute__((noinline)) static void in_frame(void (*use)(unsigned char *low, size_t bytes))
{
	unsigned char array[STACK_BYTES];

	__asm__ volatile("" : : "r"(array) : "memory");
	use(array, sizeof(array));
}

int main(int count, char **arguments)
{
	const char *stack = count > 2 ? arguments[1] : "";

	has_marks = count > 3;
	begin();
	if (count > 2 && strcmp(arguments[2], "later") == 0)
		for (size_t below = 1024; below < STACK_BYTES; below += 4096)
			call_from(below);
	if (strcmp(stack, "signal") == 0)
		take_signal(heap, sizeof(heap));
	else if (strcmp(stack, "inside") == 0)
		in_frame(take_signal);
	else if (strcmp(stack, "coroutine") == 0)
		switch_to(heap, sizeof(heap));
	else if (strcmp(stack, "thread") == 0)
		start_thread(heap, sizeof(heap));
	else if (strcmp(stack, "frame") == 0)
		in_frame(switch_to);
	else
		return 2;
	printf("%zu\n", used_bytes);
	return 0;
}
