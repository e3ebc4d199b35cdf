/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_FORK_DETECTION_H
#define GMT_RUNTIME_FORK_DETECTION_H

/*
 * Detects that this process is the child of a process with a recorder. After fork(), pthread_atfork
 * calls the recorder in the child. Two kinds of children come without such a call:
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
 * Points to a word that is nonzero in this process. In a copy, the kernel has set it to 0. Before
 * gmt_fork_detection_begin, and before Linux 4.14, which cannot clear a page in children, the word
 * is always nonzero.
 */
extern GMT_HIDDEN _Atomic uint32_t *_Atomic gmt_fork_detection_word;

/*
 * Stores the process id. Called from the constructor. Makes one system call.
 */
void gmt_fork_detection_init(void);

/*
 * Enables the detection of copies. Called before there is anything that a copy could share, so not
 * in programs without CUDA. Idempotent. Any thread.
 */
void gmt_fork_detection_begin(void);

/*
 * Does the work of the stage `after_fork` (runtime/stages.h), once in each child. Called in the
 * child of a fork, and when gmt_fork_detection_check finds a copy.
 */
void gmt_fork_detection_reset_child(void);

/*
 * Resets the recorder's state if this process is a copy. Called before the recorder touches
 * anything that it may share with a parent. Makes no system call. Any thread.
 */
static inline void gmt_fork_detection_check(void)
{
	/* Pairs with the release of gmt_fork_detection_begin. */
	_Atomic uint32_t *word = atomic_load_explicit(&gmt_fork_detection_word, memory_order_acquire);

	if (__builtin_expect(!atomic_load_explicit(word, memory_order_relaxed), 0))
		gmt_fork_detection_reset_child();
}

/* Returns whether this process is a guest or a copy. Makes one system call. */
bool gmt_fork_detection_is_child(void);

#endif
