/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_GUARD_H
#define GMT_PYTHON_PYTHON_GUARD_H

/*
 * Guards: they record which threads are reading frames now. The thread on which Python ends can
 * wait until no thread reads frames. Internal to python*.c.
 *
 * A thread first enters its own guard. Then it checks a word of the caller that says whether to
 * stay out. The ending thread first writes that word and then checks the guards. One of the two
 * threads must see the other's store, so each needs a full barrier between its store and its load.
 *
 * Threads enter their guards at each stack, so they should not pay for a barrier. Instead the
 * ending thread makes it for them, once: the kernel makes all threads of the process pass a barrier
 * (membarrier). If the kernel cannot do this, each thread makes its own barrier.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The guard of a thread. All zero: no thread is inside. Other threads read its memory for as long
 * as the process lives.
 */
struct gmt_python_guard {
	_Atomic uint32_t inside;
	_Atomic bool is_listed;
	struct gmt_python_guard *next;
};

/* Whether the kernel makes the barrier for the reading threads. */
extern _Atomic bool gmt_python_guard_kernel_makes_barrier;

/*
 * Asks the kernel whether it can make the barrier. Call it before any thread enters a guard. One
 * system call.
 */
void gmt_python_guard_init(void);

/* Adds a guard that was never entered before to the list. */
void gmt_python_guard_list(struct gmt_python_guard *guard);

/*
 * Enters the guard. Loads that the calling thread makes afterwards, with acquire or sequentially
 * consistent order, see the values of that time or later. Not nested.
 */
static inline void gmt_python_guard_enter(struct gmt_python_guard *guard)
{
	if (__builtin_expect(!atomic_load_explicit(&guard->is_listed, memory_order_relaxed), 0))
		gmt_python_guard_list(guard);
	atomic_store_explicit(&guard->inside, 1, memory_order_relaxed);
	if (__builtin_expect(atomic_load_explicit(&gmt_python_guard_kernel_makes_barrier,
							 memory_order_relaxed),
			1))
		atomic_signal_fence(memory_order_seq_cst);
	else
		atomic_thread_fence(memory_order_seq_cst);
}

/* Leaves the guard. */
static inline void gmt_python_guard_leave(struct gmt_python_guard *guard)
{
	/* Pairs with the acquire in gmt_python_guard_wait: all reads have finished. */
	atomic_store_explicit(&guard->inside, 0, memory_order_release);
}

/*
 * Waits for all threads that are inside a guard now. Such a thread may not have seen the caller's
 * last store. A thread that enters later sees it. Returns true when these threads have left their
 * guards, and false after `timeout_ns`. The caller must not be inside a guard.
 */
bool gmt_python_guard_wait(uint64_t timeout_ns);

/* Marks all guards as empty. Call it in the child of a fork. */
void gmt_python_guard_reset(void);

#endif
