/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_GUARD_H
#define GMT_PYTHON_PYTHON_GUARD_H

/*
 * Guards record which threads read frames now. The thread on which Python ends waits until no
 * thread reads frames. Internal to python*.c.
 *
 * A reading thread first enters its guard, and then checks whether Python is ending
 * (`ending_thread` in python_capture.c). The ending thread first stores `ending_thread`, and then
 * checks the guards. One of the two threads must see the other's store, so each needs a full
 * barrier between its store and its load.
 *
 * Threads enter their guards at each stack, so they should not pay for a barrier. Instead the
 * ending thread asks the kernel to make all threads of the process pass a barrier (membarrier). If
 * the kernel cannot do this, each reading thread makes its own barrier.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The guard of a thread. All zero: the thread is outside. Its memory must stay readable for as long
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

/* Adds a guard to the list of all guards, before the guard is entered for the first time. */
void gmt_python_guard_list(struct gmt_python_guard *guard);

/*
 * Enters the guard. Later loads of the calling thread, with acquire or sequentially consistent
 * order, see the values of that time or later ones. Not nested.
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
 * Waits until all threads that are in their guards now have left them: they may not have seen the
 * caller's last store. Threads that enter later see it. Returns false after `timeout_ns`. The
 * caller must not be in a guard.
 */
bool gmt_python_guard_wait(uint64_t timeout_ns);

/* Marks all guards as empty. Call it in the child of a fork. */
void gmt_python_guard_reset(void);

#endif
