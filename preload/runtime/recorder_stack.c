/* SPDX-License-Identifier: MIT */
#include "runtime/recorder_stack.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/cancellation.h"
#include "runtime/stages.h"

enum {
	GUARD_BYTES = 64 << 10, /* the largest page size of all supported machines */
	KERNEL_MASK_BYTES = 8,
};

static struct stack {
	_Atomic uint32_t is_taken;
	/*
	 * Set by the thread that takes the stack, and kept for the next thread. NULL: not mapped yet.
	 */
	char *memory;
} stacks[GMT_RECORDER_STACKS];

/* The thread is on a recorder stack, or is a thread of the recorder and needs none. */
static __thread bool has_stack __attribute__((tls_model("initial-exec")));

/* Calls work(argument) with the stack pointer at `top`; recorder_stack_switch.S. */
__attribute__((visibility("hidden"))) void gmt_recorder_stack_switch(void *top,
	void (*work)(void *argument), void *argument);

static char *map_stack(void)
{
	char *memory = mmap(NULL, GUARD_BYTES + GMT_RECORDER_STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	/* A sandbox may refuse this. The stack works without a guard too. */
	mprotect(memory, GUARD_BYTES, PROT_NONE);
	return memory;
}

static struct stack *take_stack(void)
{
	for (struct stack *stack = stacks; stack < stacks + GMT_RECORDER_STACKS; stack++) {
		uint32_t is_taken = 0;

		/* Pairs with the release in give_back: the previous thread no longer uses this stack. */
		if (!atomic_compare_exchange_strong_explicit(&stack->is_taken, &is_taken, 1,
				memory_order_acquire, memory_order_relaxed))
			continue;
		if (!stack->memory)
			stack->memory = map_stack();
		if (stack->memory)
			return stack;
		atomic_store_explicit(&stack->is_taken, 0, memory_order_release);
		return NULL;
	}
	return NULL;
}

static void give_back(struct stack *stack)
{
	atomic_store_explicit(&stack->is_taken, 0, memory_order_release);
}

/* Returns the bit of `signal` in the kernel's signal mask. */
static uint64_t bit_of(int signal)
{
	return (uint64_t)1 << (signal - 1);
}

/*
 * Returns the mask of the signals to block. It includes the signals that libc uses for cancellation
 * and setuid, which sigfillset omits.
 */
static uint64_t mask_to_block(void)
{
	return ~(bit_of(SIGSEGV) | bit_of(SIGBUS) | bit_of(SIGFPE) | bit_of(SIGILL) | bit_of(SIGTRAP) |
		bit_of(SIGSYS));
}

/* Returns false if a sandbox refuses the system call. */
static bool change_mask(const uint64_t *mask, uint64_t *ret_before)
{
	return syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, ret_before, KERNEL_MASK_BYTES) == 0;
}

/* Runs the work on a recorder stack. The caller has blocked signals. False: no stack is free. */
static bool run_on_stack(void (*work)(void *argument), void *argument)
{
	int kept_errno = errno;
	struct stack *stack = take_stack();

	errno = kept_errno;
	if (!stack)
		return false;
	has_stack = true;
	gmt_recorder_stack_switch(stack->memory + GUARD_BYTES + GMT_RECORDER_STACK_BYTES, work,
		argument);
	has_stack = false;
	give_back(stack);
	return true;
}

bool gmt_recorder_stack_run(void (*work)(void *argument), void *argument)
{
	const uint64_t blocked = mask_to_block();
	uint64_t before;
	int kept_errno = errno;

	if (has_stack) {
		work(argument);
		return true;
	}
	if (!change_mask(&blocked, &before)) {
		/* A handler could run on the recorder stack. The host's stack is the smaller risk. */
		errno = kept_errno;
		work(argument);
		return true;
	}

	/*
	 * The order matters: a handler that leaves by a jump must find the thread's cancellation state
	 * as the host has set it.
	 */
	int cancellation = gmt_cancellation_disable();
	bool has_run = run_on_stack(work, argument);

	gmt_cancellation_restore(cancellation);
	kept_errno = errno;
	change_mask(&before, NULL);
	errno = kept_errno;
	return has_run;
}

void gmt_recorder_stack_not_needed(void)
{
	has_stack = true;
}

/* Frees all stacks: the threads that used them do not exist in the child. */
static void after_fork(void)
{
	for (struct stack *stack = stacks; stack < stacks + GMT_RECORDER_STACKS; stack++)
		atomic_store_explicit(&stack->is_taken, 0, memory_order_relaxed);
}

GMT_AT_STAGE(after_fork, RUNTIME, after_fork);
