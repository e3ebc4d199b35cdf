/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "python/python_guard.h"

enum { READERS = 2, ROUNDS = 500, LOOKS = 300 };

#define FOREVER_NS (UINT64_C(600) * 1000000000)

/* The membarrier commands that the code asked for, and whether the fake kernel refuses them. */
static long asked[8];
static unsigned asked_count, naps;
static bool refuses;

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	va_list arguments;
	long first, second;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	va_start(arguments, number);
	first = va_arg(arguments, long);
	second = va_arg(arguments, long);
	va_end(arguments);
	naps += number == SYS_nanosleep;
	if (number != SYS_membarrier)
		return real(number, first, second);
	asked[asked_count++ % 8] = first;
	if (!refuses)
		return real(number, first, second);
	errno = EPERM;
	return -1;
}

/*
 * The reader's data exists until `is_gone`, which is set after `is_announced`. Readers stay away
 * while `is_announced` is set.
 */
static _Atomic bool is_announced, is_gone, is_over;
static _Atomic uint64_t seen_gone, seen;

static void *read_again_and_again(void *unused)
{
	/* Never freed: guards stay in the list. */
	struct gmt_python_guard *guard = calloc(1, sizeof(*guard));

	(void)unused;
	while (!is_over) {
		uint64_t gone = 0;

		/* Later readers stay away too, so that the guard stays idle. */
		if (atomic_load(&is_announced)) {
			sched_yield();
			continue;
		}
		gmt_python_guard_enter(guard);
		if (!atomic_load(&is_announced)) {
			for (int i = 0; i < LOOKS; i++)
				gone += atomic_load_explicit(&is_gone, memory_order_relaxed);
			atomic_fetch_add_explicit(&seen, 1, memory_order_relaxed);
		}
		gmt_python_guard_leave(guard);
		seen_gone += gone;
	}
	return NULL;
}

static void end_again_and_again(void)
{
	pthread_t threads[READERS];

	is_over = false;
	seen_gone = seen = 0;
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_again_and_again, NULL), 0);
	while (!seen)
		sched_yield();
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t before = seen;

		atomic_store(&is_announced, true);
		assert_true(gmt_python_guard_wait(FOREVER_NS));
		is_gone = true;
		for (volatile int i = 0; i < LOOKS; i++)
			;
		is_gone = false;
		atomic_store(&is_announced, false);
		while (seen == before)
			sched_yield();
	}
	is_over = true;
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(seen_gone, 0);
}

static void no_thread_reads_freed_memory_with_kernel_barriers(void **state)
{
	(void)state;
	gmt_python_guard_init();
	if (!gmt_python_guard_kernel_makes_barrier)
		skip();
	end_again_and_again();
}

static void no_thread_reads_freed_memory_with_barriers_in_each_thread(void **state)
{
	(void)state;
	gmt_python_guard_kernel_makes_barrier = false;
	end_again_and_again();
}

static void a_waiting_thread_asks_the_kernel_for_barriers(void **state)
{
	(void)state;
	gmt_python_guard_init();
	if (!gmt_python_guard_kernel_makes_barrier)
		skip();
	asked_count = naps = 0;
	assert_true(gmt_python_guard_wait(0));
	assert_int_equal(asked_count, 2);
	assert_int_equal(asked[0], MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
	assert_int_equal(asked[1], MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	assert_int_equal(naps, 0);
}

static void a_waiting_thread_sleeps_if_the_kernel_refuses_barriers(void **state)
{
	(void)state;
	gmt_python_guard_init();
	if (!gmt_python_guard_kernel_makes_barrier)
		skip();
	refuses = true;
	naps = 0;
	errno = 7;
	assert_true(gmt_python_guard_wait(0));
	refuses = false;
	assert_int_equal(naps, 1);
	assert_int_equal(errno, 7);
}

static void threads_make_their_own_barriers_if_the_kernel_has_none(void **state)
{
	(void)state;
	refuses = true;
	errno = 7;
	gmt_python_guard_init();
	asked_count = naps = 0;
	assert_true(gmt_python_guard_wait(0));
	refuses = false;
	assert_false(gmt_python_guard_kernel_makes_barrier);
	assert_int_equal(asked_count + naps, 0);
	assert_int_equal(errno, 7);
}

static void a_waiting_thread_continues_when_the_last_reader_has_left(void **state)
{
	static struct gmt_python_guard gates[2];

	(void)state;
	gmt_python_guard_init();
	gmt_python_guard_enter(&gates[0]);
	gmt_python_guard_enter(&gates[1]);
	assert_false(gmt_python_guard_wait(0));
	gmt_python_guard_leave(&gates[1]);
	assert_false(gmt_python_guard_wait(0));
	gmt_python_guard_leave(&gates[0]);
	assert_true(gmt_python_guard_wait(0));
}

static void a_forked_child_has_no_reader_inside(void **state)
{
	static struct gmt_python_guard guard;
	int status = -1;
	pid_t child;

	(void)state;
	gmt_python_guard_init();
	gmt_python_guard_enter(&guard);
	child = fork();
	if (!child) {
		gmt_python_guard_reset();
		_exit(gmt_python_guard_wait(0) ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_false(gmt_python_guard_wait(0));
	gmt_python_guard_leave(&guard);
}

static void a_gate_that_a_thread_was_about_to_list_is_listed_once_in_the_child_of_a_fork(
	void **state)
{
	static struct gmt_python_guard guard;

	(void)state;
	gmt_python_guard_enter(&guard);
	gmt_python_guard_leave(&guard);
	/* The guard is in the list, but the thread that added it had no time to note this. */
	guard.is_listed = false;
	gmt_python_guard_reset();
	gmt_python_guard_enter(&guard);
	gmt_python_guard_leave(&guard);
	for (const struct gmt_python_guard *other = guard.next; other; other = other->next)
		assert_ptr_not_equal(other, &guard);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_thread_reads_freed_memory_with_kernel_barriers),
		cmocka_unit_test(no_thread_reads_freed_memory_with_barriers_in_each_thread),
		cmocka_unit_test(a_waiting_thread_asks_the_kernel_for_barriers),
		cmocka_unit_test(a_waiting_thread_sleeps_if_the_kernel_refuses_barriers),
		cmocka_unit_test(threads_make_their_own_barriers_if_the_kernel_has_none),
		cmocka_unit_test(a_waiting_thread_continues_when_the_last_reader_has_left),
		cmocka_unit_test(a_forked_child_has_no_reader_inside),
		cmocka_unit_test(
			a_gate_that_a_thread_was_about_to_list_is_listed_once_in_the_child_of_a_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
