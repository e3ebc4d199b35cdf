/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_GUARD_H
#define GMT_PYTHON_PYTHON_GUARD_H

/*
 * Who reads frames now, so that the thread on which Python ends can wait until nobody does. Internal to python*.c.
 *
 * A thread enters its own gate and then looks whether it was told to stay out (a word of the caller's); who ends has told so and
 * then looks at the gates. One of the two must see what the other wrote, which takes a full barrier between each one's store and
 * load. The barrier of those who read frames, which come at each stack, is made by the one who ends, once: the kernel has all
 * threads of the process pass one (membarrier). Where it cannot, each thread makes its own.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A thread's. All zero: nobody is inside. Its memory is looked at for as long as the process lives. */
struct gmt_python_guard {
	_Atomic uint32_t inside;
	_Atomic bool is_listed;
	struct gmt_python_guard *next;
};

/* Whether the kernel makes the barrier. */
extern _Atomic bool gmt_python_guard_are_light;

/* Asks the kernel. Before anybody enters; one system call. */
void gmt_python_guard_init(void);

/* Lists a gate that was never entered before. */
void gmt_python_guard_list(struct gmt_python_guard *gate);

/* The calling thread goes in; what it loads with acquire or sequentially consistent afterwards is as it is then. Not nested. */
static inline void gmt_python_guard_enter(struct gmt_python_guard *gate)
{
	if (__builtin_expect(!atomic_load_explicit(&gate->is_listed, memory_order_relaxed), 0))
		gmt_python_guard_list(gate);
	atomic_store_explicit(&gate->inside, 1, memory_order_relaxed);
	if (__builtin_expect(atomic_load_explicit(&gmt_python_guard_are_light, memory_order_relaxed), 1))
		atomic_signal_fence(memory_order_seq_cst);
	else
		atomic_thread_fence(memory_order_seq_cst);
}

static inline void gmt_python_guard_leave(struct gmt_python_guard *gate)
{
	/* Pairs with the acquire in gmt_python_guard_wait: all that was read is read. */
	atomic_store_explicit(&gate->inside, 0, memory_order_release);
}

/*
 * Returns when nobody is inside who went in before the caller's last store could be seen, or after `timeout_ns`. False then. The
 * caller is not inside.
 */
bool gmt_python_guard_wait(uint64_t timeout_ns);

/* In the child of a fork: nobody is inside. */
void gmt_python_guard_reset(void);

#endif
