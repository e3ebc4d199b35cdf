/* SPDX-License-Identifier: MIT */
#include "python/python_guard.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/bounded_wait.h"
#include "runtime/hot_data.h"

/*
 * If the kernel fails to make the promised barrier, the thread sleeps so long. No processor delays
 * a store for so long.
 */
enum { BARRIER_SLEEP_NS = 20000000 };

GMT_HOT_DATA _Atomic bool gmt_python_guard_kernel_makes_barrier;

static struct gmt_python_guard *_Atomic first;

void gmt_python_guard_init(void)
{
	int kept_errno = errno;
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0);
	const long needed =
		MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;

	atomic_store(&gmt_python_guard_kernel_makes_barrier,
		commands > 0 && (commands & needed) == needed);
	errno = kept_errno;
}

void gmt_python_guard_list(struct gmt_python_guard *guard)
{
	guard->next = atomic_load(&first);
	while (!atomic_compare_exchange_weak(&first, &guard->next, guard))
		;
	atomic_store_explicit(&guard->is_listed, true, memory_order_relaxed);
	/*
	 * If the ending thread did not find this guard in the list, its store of `ending_thread` is
	 * visible after this fence.
	 */
	atomic_thread_fence(memory_order_seq_cst);
}

/* Makes each thread of this process pass a full barrier between the call and the return. */
static void pass_barriers(void)
{
	const struct timespec pause_time = { .tv_nsec = BARRIER_SLEEP_NS };
	int kept_errno = errno;

	atomic_thread_fence(memory_order_seq_cst);
	/*
	 * The registration happens only now, because it takes milliseconds in a process of several
	 * threads.
	 */
	if (atomic_load(&gmt_python_guard_kernel_makes_barrier) &&
		(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0) ||
			syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0)))
		syscall(SYS_nanosleep, &pause_time, NULL);
	errno = kept_errno;
}

bool gmt_python_guard_wait(uint64_t timeout_ns)
{
	struct gmt_bounded_wait wait = gmt_bounded_wait_begin(timeout_ns);

	pass_barriers();
	/* An empty guard needs no second look: a thread that enters it later leaves at once. */
	for (struct gmt_python_guard *guard = atomic_load(&first); guard; guard = guard->next)
		while (atomic_load_explicit(&guard->inside, memory_order_acquire))
			if (!gmt_bounded_wait_rest(&wait))
				return false;
	return true;
}

void gmt_python_guard_reset(void)
{
	for (struct gmt_python_guard *guard = atomic_load(&first); guard; guard = guard->next) {
		atomic_store(&guard->inside, 0);
		/*
		 * The fork may have come between the two steps of gmt_python_guard_list. If a guard were
		 * listed twice, the list would have no end.
		 */
		atomic_store(&guard->is_listed, true);
	}
}
