/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_STACK_BOUNDS_H
#define GMT_UNWIND_STACK_BOUNDS_H

/*
 * Finds the bounds of the calling thread's own stack. This memory is mapped for as long as the
 * thread lives, so the recorder may read it at any time. Other stacks (of a signal handler, or of a
 * makecontext routine) may be freed while the thread lives, and their bounds are not known.
 *
 * On x86-64 and AArch64, glibc keeps a thread's control block at the upper end of its stack. It
 * also exports the end of the first thread's stack. So only the lower bound must be found: each
 * page from the stack pointer up to the known part must be readable. A guard page lies below a
 * thread's stack, so another stack is never connected to it in this way.
 */

#include <stdbool.h>
#include <stdint.h>

struct gmt_stack_bounds {
	uintptr_t low, top;   /* [low, top) is known to be stack; both 0: not searched yet */
	/* Block number of the last address that was found not to be part of the stack. */
	uintptr_t refused_block;
};

/* Stores the thread that loads this library. Call it from the library's constructor. */
void gmt_stack_bounds_init(void);

/*
 * Finds the end of the first thread's stack. Call it before any other query about stacks. `find` is
 * the original dlsym(RTLD_DEFAULT, name).
 */
void gmt_stack_bounds_find_end(void *(*find)(const char *name));

/*
 * Tries to extend the known part down to `here`, an address in the used part of the stack. Makes
 * one system call for each page in between, once. Returns whether `here` is known afterwards.
 */
bool gmt_stack_bounds_grow(struct gmt_stack_bounds *stack, uintptr_t here);

/*
 * Returns whether everything from `here`, the stack pointer of the caller, up to stack->top is
 * already known to be the thread's own stack.
 */
static inline bool gmt_stack_bounds_known_to_contain(const struct gmt_stack_bounds *stack,
	uintptr_t here)
{
	return here >= stack->low && here < stack->top;
}

/*
 * Returns whether everything from `here`, the stack pointer of the caller, up to stack->top is the
 * calling thread's own stack. Extends the known part if necessary.
 */
static inline bool gmt_stack_bounds_contain(struct gmt_stack_bounds *stack, uintptr_t here)
{
	return gmt_stack_bounds_known_to_contain(stack, here) || gmt_stack_bounds_grow(stack, here);
}

#endif
