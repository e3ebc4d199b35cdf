/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_PROCESS_H
#define GMT_RUNTIME_PROCESS_H

/*
 * Detects that this process is a child that the recorder was not informed about. fork() informs its
 * child by pthread_atfork. The recorder gets no call in two kinds of children:
 *
 *   a copy    made by the system call alone (clone, clone3, vfork by syscall): it has its own
 *             memory, but shares the rings, their state and the descriptors with the parent
 *   a guest   of vfork, posix_spawn or clone(CLONE_VM): it runs in its parent's memory
 *
 * A copy is detected without a system call: the kernel clears one page in each child.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/hidden.h"

/*
 * Points to a word that is nonzero in this process. In a copied child the kernel clears the word to
 * 0. Before gmt_process_watch, and if the kernel cannot clear a page in children (before Linux
 * 4.14), the word is always nonzero.
 */
extern GMT_HIDDEN _Atomic uint32_t *_Atomic gmt_process_mark;

/*
 * Stores the process id. Called from the constructor. Makes one system call.
 */
void gmt_process_init(void);

/*
 * Enables the detection of copies. Called before there is anything that a copy could share, so not
 * in programs without CUDA. Idempotent. Any thread.
 */
void gmt_process_watch(void);

/*
 * Does the work of the stage `after_fork` (runtime/stages.h), once in each child. Called in the
 * child of a fork, and when gmt_process_check finds a copy.
 */
void gmt_process_reset_in_child(void);

/*
 * Resets the recorder's state if this process is a copy. Called before the recorder touches
 * anything that it may share with a parent. Reads memory once. Any thread.
 */
static inline void gmt_process_check(void)
{
	/* Pairs with the release of gmt_process_watch. */
	_Atomic uint32_t *mark = atomic_load_explicit(&gmt_process_mark, memory_order_acquire);

	if (__builtin_expect(!atomic_load_explicit(mark, memory_order_relaxed), 0))
		gmt_process_reset_in_child();
}

/* Returns whether this process is a guest or a copy. Makes one system call. */
bool gmt_process_is_child(void);

#endif
