/* SPDX-License-Identifier: MIT */
#include "unwind/stack_bounds.h"

#include <stddef.h>

#include "unwind/memory_is_readable.h"

enum {
	PAGE_BYTES = 4096,
	BLOCK_BYTES = 16384,
	MAX_STACK_BYTES = 16 << 20, /* limits how many pages are tested */
	/* the kernel places no other mapping so near to the first thread's stack */
	NEAR_TOP_BYTES = 1 << 20,
};

static struct {
	uintptr_t loading_thread, loading_stack;
	uintptr_t first_thread, first_top;
} stack_bounds;

static uintptr_t this_thread(void)
{
#ifdef __x86_64__
	uintptr_t pointer;

	/* The first word of the control block is its own address. */
	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	return pointer;
#elif defined(__aarch64__)
	uintptr_t pointer;

	/* The register points behind the control block; the thread's own variables lie above it. */
	__asm__("mrs %0, tpidr_el0" : "=r"(pointer));
	return pointer;
#else
	return 0;
#endif
}

void gmt_stack_bounds_init(void)
{
	stack_bounds.loading_thread = this_thread();
	stack_bounds.loading_stack = (uintptr_t)__builtin_frame_address(0);
}

void gmt_stack_bounds_find_end(void *(*find)(const char *name))
{
	void **end = find("__libc_stack_end");

	stack_bounds.first_top = end ? (uintptr_t)*end : 0;
	/*
	 * Another thread may load this library later. The stack of the loading thread shows whether it
	 * is the first thread.
	 */
	if (stack_bounds.loading_stack < stack_bounds.first_top &&
		stack_bounds.first_top - stack_bounds.loading_stack < NEAR_TOP_BYTES)
		stack_bounds.first_thread = stack_bounds.loading_thread;
}

bool gmt_stack_bounds_grow(struct gmt_stack_bounds *stack, uintptr_t here)
{
	uintptr_t thread = this_thread();
	uintptr_t top = thread == stack_bounds.first_thread ? stack_bounds.first_top : thread;
	uintptr_t known = stack->top == top && stack->low ? stack->low : top;

	if (!stack_bounds.first_thread || here >= known || top - here > MAX_STACK_BYTES ||
		stack->refused_block == here / BLOCK_BYTES)
		return false;
	/*
	 * The first page is in use, and so is the last. It holds the control block, or, for the first
	 * thread, data from the kernel.
	 */
	for (uintptr_t page = (here & ~(uintptr_t)(PAGE_BYTES - 1)) + PAGE_BYTES;
		page < (known & ~(uintptr_t)(PAGE_BYTES - 1)); page += PAGE_BYTES) {
		if (!gmt_memory_is_readable(page)) {
			stack->refused_block = here / BLOCK_BYTES;
			return false;
		}
	}
	stack->low = here & ~(uintptr_t)(PAGE_BYTES - 1);
	stack->top = top;
	return true;
}
