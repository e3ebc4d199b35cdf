/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_OWN_STACK_H
#define GMT_UNWIND_OWN_STACK_H

/*
 * Which memory is surely the calling thread's own stack: mapped for as long as the thread lives, so it may be read
 * at any time. Other stacks (a signal's, a routine's of makecontext) may go while the thread lives, and have bounds that
 * nobody knows.
 *
 * glibc keeps a thread's control block at the upper end of its stack, on x86-64 as on AArch64, and says where that of the
 * first thread ends. So only the lower bound is looked for: each page from the stack pointer up to the known part must be
 * readable. Another stack is not connected to it so, as a guard page lies below a thread's stack.
 */

#include <stdbool.h>
#include <stdint.h>

struct gmt_own_stack {
	uintptr_t low, top;   /* [low, top) is known; both 0: not looked for */
	uintptr_t not_before; /* no part of it, rounded down; the last that was found */
};

/* From the constructor of the library: which thread is the first. */
void gmt_own_stack_init(void);

/* Before stacks are asked about: where the first thread's ends. `find` is the real dlsym(RTLD_DEFAULT, name). */
void gmt_own_stack_look(void *(*find)(const char *name));

/* Tries to make `here`, where the stack is in use, a part of what is known. A system call for each page in between, once. */
bool gmt_own_stack_grow(struct gmt_own_stack *stack, uintptr_t here);

/* Whether that is known of all from `here`, the stack pointer of the caller, up to stack->top. */
static inline bool gmt_own_stack_knows(const struct gmt_own_stack *stack, uintptr_t here)
{
	return here >= stack->low && here < stack->top;
}

/* Whether all from `here`, the stack pointer of the caller, up to stack->top is the calling thread's own stack. */
static inline bool gmt_own_stack_holds(struct gmt_own_stack *stack, uintptr_t here)
{
	return gmt_own_stack_knows(stack, here) || gmt_own_stack_grow(stack, here);
}

#endif
