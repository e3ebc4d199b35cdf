/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_PROCESS_H
#define GMT_RUNTIME_PROCESS_H

/*
 * Whose memory this is. fork() tells its child by pthread_atfork; children that it tells nothing are
 *
 *   a copy    made by the system call alone (clone, clone3, vfork by syscall): its memory is its own, but the
 *             rings are shared with the parent, and so are state and descriptors
 *   a guest   of vfork, posix_spawn or clone(CLONE_VM): it runs in its parent's memory
 *
 * A copy is found out without a system call: it lacks a page that the kernel clears in each child.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/hidden.h"

/*
 * What it points to is not 0 while this is the process that it was set in. Before gmt_process_watch, and where the kernel cannot
 * clear a page in children (before Linux 4.14), it is never 0.
 */
extern GMT_HIDDEN _Atomic uint32_t *_Atomic gmt_process_mark;

/* From the constructor. `begin_anew` lets go of all that is a parent's. One system call. */
void gmt_process_init(void (*begin_anew)(void));

/*
 * From now on a copy is found out: before there is anything that it could share, so not in programs without CUDA.
 * Idempotent; any thread.
 */
void gmt_process_watch(void);

/* In the child of a fork, and where gmt_process_check finds a copy: once in each child. */
void gmt_process_begin_anew(void);

/* Before anything is touched that a parent may share: one look at memory. Any thread. */
static inline void gmt_process_check(void)
{
	/* Pairs with the release of gmt_process_watch. */
	_Atomic uint32_t *mark = atomic_load_explicit(&gmt_process_mark, memory_order_acquire);

	if (__builtin_expect(!atomic_load_explicit(mark, memory_order_relaxed), 0))
		gmt_process_begin_anew();
}

/* A guest or a copy. One system call. */
bool gmt_process_is_another(void);

#endif
