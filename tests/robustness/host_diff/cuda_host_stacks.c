/* SPDX-License-Identifier: MIT */
/*
 * The program makes its own stacks and fills the memory below them with a known byte. It prints how
 * many of these bytes a call changes.
 */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include "cuda_host.h"

enum {
	BELOW_BYTES = 65536,
	LARGEST_BYTES = 1 << 18,
	PAINT = 0xa5,
	PADDING_STEPS = 24,
	PADDING_BYTES = 1024
};

static struct {
	unsigned char below[BELOW_BYTES];
	_Alignas(4096) unsigned char stack[LARGEST_BYTES];
} buffer;

static ucontext_t program, routine;

static void show_changed(const unsigned char *below, size_t bytes)
{
	size_t changed = 0, lowest = bytes;

	for (size_t i = 0; i < bytes; i++)
		if (below[i] != PAINT) {
			changed++;
			lowest = i < lowest ? i : lowest;
		}
	printf("%zu bytes below the stack changed", changed);
	if (changed)
		printf(", down to %zu below it", bytes - lowest);
	printf("\n");
}

static void on_signal(int number)
{
	(void)number;
	host_allocate(999);
}

/*
 * Returns the size of a signal stack with `bytes` for the handler. The kernel's signal frame comes
 * on top of it; its size depends on the machine.
 */
static size_t with_frame(size_t bytes)
{
	unsigned long frame = getauxval(AT_MINSIGSTKSZ);

	return bytes + (frame ? frame : MINSIGSTKSZ);
}

static void raise_on(void *stack, size_t bytes)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	host_must(sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = bytes }, NULL) == 0,
		"sigaltstack");
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

/*
 * Calls CUDA from a frame of `padding` bytes. After calls from many depths, the recorder remembers
 * that this part of the stack is large.
 */
__attribute__((noinline)) static void call_from_below(size_t padding)
{
	volatile char *pad = alloca(padding);

	pad[0] = 1;
	host_allocate(100);
	__asm__ volatile("" : : "r"(pad) : "memory");
}

struct area {
	unsigned char below[BELOW_BYTES / 2];
	unsigned char stack[BELOW_BYTES / 2];
	unsigned char above[2048];
};

/* Uses a local array as the signal stack, so it lies within the thread's own stack. */
__attribute__((noinline)) static void use_area(size_t bytes)
{
	struct area area;

	__asm__ volatile("" : : "r"(&area) : "memory");
	memset(area.below, PAINT, sizeof(area.below));
	host_must(bytes <= sizeof(area.stack), "the size of the stack");
	raise_on(area.stack, bytes);
	show_changed(area.below, sizeof(area.below));
	__asm__ volatile("" : : "r"(&area) : "memory");
}

int host_signal_stack(size_t bytes)
{
	for (int i = 1; i < PADDING_STEPS * 3; i++)
		call_from_below((size_t)i * PADDING_BYTES);
	use_area(with_frame(bytes));
	return 0;
}

int host_own_signal_stack(size_t bytes)
{
	memset(buffer.below, PAINT, sizeof(buffer.below));
	raise_on(buffer.stack, with_frame(bytes));
	show_changed(buffer.below, sizeof(buffer.below));
	host_allocate(100);
	raise(SIGUSR1);
	show_changed(buffer.below, sizeof(buffer.below));
	return 0;
}

static void in_routine(void)
{
	for (int i = 0; i < 3; i++) {
		host_allocate(500);
		swapcontext(&routine, &program);
	}
}

int host_coroutine(size_t bytes)
{
	host_allocate(100);
	memset(buffer.below, PAINT, sizeof(buffer.below));
	getcontext(&routine);
	routine.uc_stack.ss_sp = buffer.stack;
	routine.uc_stack.ss_size = bytes;
	routine.uc_link = &program;
	makecontext(&routine, in_routine, 0);
	for (int i = 0; i < 3; i++) {
		swapcontext(&program, &routine);
		host_allocate(100);
	}
	show_changed(buffer.below, sizeof(buffer.below));
	return 0;
}

static void *in_thread(void *nothing)
{
	host_allocate(100);
	return nothing;
}

int host_thread_stack(size_t bytes)
{
	pthread_attr_t attributes;
	pthread_t thread;

	memset(buffer.below, PAINT, sizeof(buffer.below));
	pthread_attr_init(&attributes);
	host_must(pthread_attr_setstack(&attributes, buffer.stack, bytes) == 0,
		"pthread_attr_setstack");
	for (int i = 0; i < 3; i++) {
		host_must(pthread_create(&thread, &attributes, in_thread, NULL) == 0, "pthread_create");
		pthread_join(thread, NULL);
	}
	show_changed(buffer.below, sizeof(buffer.below));
	return 0;
}
