/* SPDX-License-Identifier: MIT */
/* Recorder stacks (recorder_stack.h): prints a line of TAP per promise. Also built for AArch64. */
#include "runtime/recorder_stack.h"

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NEAR_BYTES = 1 << 20, FRAMES = 64, MORE = GMT_RECORDER_STACKS + 6 };

static int number, failures;
static volatile sig_atomic_t signals;
static _Atomic int inside, done, refused;
static _Atomic bool may_leave;

struct seen {
	uintptr_t stack;
	uintptr_t outer_stack; /* of the work that asked again */
	sigset_t mask;
	int signals, frames;
	void *addresses[FRAMES];
};

static void promise(bool holds, const char *what)
{
	printf("%sok %d - %s\n", holds ? "" : "not ", ++number, what);
	failures += !holds;
}

static void on_signal(int signal)
{
	(void)signal;
	signals++;
}

static bool is_near(uintptr_t a, uintptr_t b)
{
	return (a > b ? a - b : b - a) < NEAR_BYTES;
}

static void look(void *argument)
{
	struct seen *seen = argument;

	seen->stack = (uintptr_t)__builtin_frame_address(0);
	pthread_sigmask(SIG_SETMASK, NULL, &seen->mask);
	raise(SIGUSR1);
	seen->signals = signals;
	seen->frames = backtrace(seen->addresses, FRAMES);
	errno = EDOM;
}

static void look_twice(void *argument)
{
	struct seen *seen = argument;

	gmt_recorder_stack_run(look, seen);
	seen->outer_stack = (uintptr_t)__builtin_frame_address(0);
}

static void use_much(void *argument)
{
	volatile char memory[GMT_RECORDER_STACK_BYTES - 8192];

	memory[0] = 1;
	memory[sizeof(memory) - 1] = 2;
	*(int *)argument = memory[0] + memory[sizeof(memory) - 1];
}

static void stay(void *unused)
{
	(void)unused;
	atomic_fetch_add(&inside, 1);
	while (!atomic_load(&may_leave))
		usleep(1000);
}

static void *stay_in_thread(void *unused)
{
	if (!gmt_recorder_stack_run(stay, NULL))
		atomic_fetch_add(&refused, 1);
	atomic_fetch_add(&done, 1);
	return unused;
}

/* Returns whether the frames continue from the recorder stack to the function that asked for it. */
static bool holds_frame_of(const struct seen *seen, uintptr_t function)
{
	for (int i = 0; i < seen->frames; i++)
		if ((uintptr_t)seen->addresses[i] - function < 4096)
			return true;
	return false;
}

__attribute__((noinline)) static void one_run(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct seen seen = { 0 };
	sigset_t before = { 0 }, after = { 0 };

	sigaction(SIGUSR1, &action, NULL);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	errno = 0;
	promise(gmt_recorder_stack_run(look, &seen) && seen.stack, "work is done");
	promise(errno == EDOM, "errno is what the work has left");
	promise(!is_near(seen.stack, (uintptr_t)__builtin_frame_address(0)), "it has another stack");
	promise(seen.signals == 0 && signals == 1, "a handler runs when the thread is back");
	promise(sigismember(&seen.mask, SIGTERM) && !sigismember(&seen.mask, SIGSEGV),
		"faults stay open");
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	promise(memcmp(&before, &after, sizeof(before)) == 0, "the mask is what it was");
	promise(holds_frame_of(&seen, (uintptr_t)one_run),
		"an unwinder passes from one stack to the other");
}

int main(void)
{
	pthread_t threads[MORE];
	struct seen seen = { 0 };
	int sum = 0;

	one_run();
	gmt_recorder_stack_run(look_twice, &seen);
	promise(seen.stack, "work may ask for it again");
	promise(is_near(seen.stack, seen.outer_stack) &&
			!is_near(seen.outer_stack, (uintptr_t)__builtin_frame_address(0)),
		"the thread knows meanwhile that it is on a recorder stack, and not longer");
	gmt_recorder_stack_run(use_much, &sum);
	promise(sum == 3, "the stack is as large as it says");
	for (int i = 0; i < MORE; i++)
		pthread_create(&threads[i], NULL, stay_in_thread, NULL);
	while (atomic_load(&inside) < GMT_RECORDER_STACKS ||
		atomic_load(&done) < MORE - GMT_RECORDER_STACKS)
		usleep(1000);
	atomic_store(&may_leave, true);
	for (int i = 0; i < MORE; i++)
		pthread_join(threads[i], NULL);
	promise(refused == MORE - GMT_RECORDER_STACKS, "no more threads than there are stacks");
	promise(gmt_recorder_stack_run(use_much, &sum), "a stack is used again");
	gmt_recorder_stack_not_needed();
	gmt_recorder_stack_run(look, &seen);
	promise(is_near(seen.stack, (uintptr_t)&seen), "threads of the recorder use their own");
	printf("1..%d\n", number);
	return failures != 0;
}
