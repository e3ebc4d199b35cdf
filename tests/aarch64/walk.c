/* SPDX-License-Identifier: MIT */
/*
 * Tests the walk by frame pointers (unwind/walk.h). Each function on the stack notes its own return
 * address for comparison. Compiled with frame pointers, for AArch64 also with signed return
 * addresses. Prints a line of TAP per promise.
 */
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "unwind/stack_bounds.h"
#include "unwind/walk.h"
#include "runtime/recorder_stack.h"
#include "interpose/loaded_objects.h"

enum { DEEPEST = 300, LIMIT = 512, ROUNDS = 300, THREADS = 4, STACK_BYTES = 256 << 10 };

static __thread struct gmt_walk *walk;
static __thread uint64_t noted[DEEPEST + 8]; /* outermost first */
static __thread unsigned depth, seed;
static __thread bool differs, is_refused, was_whole = true;
static __thread unsigned spliced;
static _Atomic bool is_signed;
static int number, failures;

/* Changing stacks has a test of its own (tests/preload/runtime/test_recorder_stack.c). */
bool gmt_recorder_stack_run(void (*work)(void *argument), void *argument)
{
	work(argument);
	return true;
}

void gmt_objects_visit(int (*look)(struct dl_phdr_info *info, size_t size, void *argument),
	void *argument)
{
	dl_iterate_phdr(look, argument);
}

static void print_result(bool holds, const char *sentence)
{
	printf("%s %d - %s\n", holds ? "ok" : "not ok", ++number, sentence);
	failures += !holds;
}

static unsigned any(unsigned count)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % count;
}

/* Begins a walk in the same way as gmt_native_capture. */
__attribute__((noinline)) static bool walk_here(uint64_t fp_instead)
{
	const uint64_t *frame = __builtin_frame_address(0);
	struct gmt_walk_start start = {
		.ip = gmt_walk_code(frame[1]),
		.sp = (uint64_t)(frame + 2),
		.fp = fp_instead ? fp_instead : frame[0],
		.by_frame_pointers = true,
	};

	if (start.ip != frame[1])
		is_signed = true;
	return gmt_walk_capture(walk, &start, LIMIT);
}

/* Compares: the walk must find the frame that called walk_here(), and then all noted frames. */
__attribute__((noinline)) static void check_walk(void)
{
	noted[depth] = gmt_walk_code((uint64_t)__builtin_return_address(0));
	if (!walk_here(0)) {
		is_refused = true;
		return;
	}

	uint32_t count = gmt_walk_count(walk);

	spliced += walk->is_known;
	was_whole = was_whole && walk->stack_end == GMT_STACK_WHOLE;
	differs = differs || count < depth + 2;
	for (unsigned i = 0; i <= depth && !differs; i++)
		differs = walk->addresses[walk->host_begin + 1 + i] != noted[depth - i];
}

__attribute__((noinline)) static int descend(unsigned left)
{
	volatile char *buffer = __builtin_alloca(any(2) ? 16 : any(500) + 16);

	noted[depth++] = gmt_walk_code((uint64_t)__builtin_return_address(0));
	buffer[0] = 1;
	if (!any(4))
		check_walk();
	if (left)
		descend(left - 1);
	/* Walks twice from the same place. */
	for (volatile int again = 0; again < 2; again++)
		check_walk();
	depth--;
	return buffer[0];
}

static void run_here(void)
{
	for (int round = 0; round < ROUNDS; round++)
		descend(any(any(10) ? 20 : DEEPEST - 2));
}

static void begin_thread(unsigned of)
{
	walk = calloc(1, sizeof(*walk));
	gmt_walk_init(walk);
	seed = of;
}

static void *run_thread(void *of)
{
	begin_thread((unsigned)(uintptr_t)of);
	run_here();
	return (void *)(uintptr_t)(differs || is_refused || !spliced || (SEES_THE_END && !was_whole));
}

static bool threads_are_right(void)
{
	pthread_t threads[THREADS];
	void *wrong;
	bool all = true;

	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run_thread, (void *)(i + 2)))
			return false;
	for (int i = 0; i < THREADS; i++)
		all = !pthread_join(threads[i], &wrong) && !wrong && all;
	return all;
}

/* The walk must not crash, and all values after the first frame must lie on the stack. */
static bool wild_pointers_end_it(void)
{
	for (int i = 0; i < 20000; i++) {
		uint64_t here = (uint64_t)__builtin_frame_address(0);
		uint64_t value = (uint64_t)any(1 << 24) << 40 ^ (uint64_t)any(1 << 24) << 20 ^ any(1 << 24);
		uint64_t pointer = i % 3 == 0 ? value
			: i % 3 == 1              ? here - 1024 + value % 2048
									  : -(value >> (20 + any(40)));

		if (!walk_here(pointer) || !gmt_walk_count(walk))
			return false;
	}
	return true;
}

static ucontext_t caller, routine;
static bool was_taken;

static void run_routine(void)
{
	was_taken = walk_here(0);
}

static bool another_stack_is_left_alone(void)
{
	void *buffer =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	was_taken = true;
	getcontext(&routine);
	routine.uc_stack.ss_sp = buffer;
	routine.uc_stack.ss_size = STACK_BYTES;
	routine.uc_link = &caller;
	makecontext(&routine, run_routine, 0);
	swapcontext(&caller, &routine);
	munmap(buffer, STACK_BYTES);
	return !was_taken;
}

/* gmt_stack_bounds_find_end needs this variable. */
extern void *__libc_stack_end;

static void *find(const char *name)
{
	return strcmp(name, "__libc_stack_end") == 0 ? (void *)&__libc_stack_end : NULL;
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..5\n");
	gmt_stack_bounds_init();
	gmt_stack_bounds_find_end(find);
	begin_thread(1);
	run_here();
	print_result(!differs && !is_refused && spliced && (!SEES_THE_END || was_whole),
		"each frame of the first thread is the one that was noted down");
	print_result(threads_are_right(), "the same holds in threads");
	print_result(wild_pointers_end_it(), "an invalid frame pointer ends the stack");
	print_result(another_stack_is_left_alone(),
		"a stack other than the thread's own is not walked");
	print_result(is_signed == IS_SIGNED, "return addresses are signed if this build signs them");
	return failures != 0;
}
