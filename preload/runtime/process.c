/* SPDX-License-Identifier: MIT */
#include "runtime/process.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/bounded_wait.h"
#include "runtime/hot_data.h"
#include "runtime/stages.h"

enum { WAIT_NS = 1000000000 };
enum mark { CLEARED, CHANGING, OURS };

static _Atomic uint32_t never_cleared = OURS;

/* The first hot variable. Its alignment makes the group of hot variables begin at a cache line. */
GMT_HOT_DATA _Alignas(64) _Atomic uint32_t *_Atomic gmt_process_mark = &never_cleared;

static atomic_flag watching = ATOMIC_FLAG_INIT;
static pid_t owner;

void gmt_process_watch(void)
{
	int kept_errno = errno;

	if (atomic_flag_test_and_set(&watching))
		return;

	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/*
	 * Without MADV_WIPEONFORK a child would see the same word and take itself for the parent. So
	 * the recorder then does without the page.
	 */
	if (page != MAP_FAILED && madvise(page, bytes, MADV_WIPEONFORK)) {
		munmap(page, bytes);
		page = MAP_FAILED;
	}
	if (page != MAP_FAILED) {
		*(_Atomic uint32_t *)page = OURS;
		atomic_store_explicit(&gmt_process_mark, page, memory_order_release);
	}
	errno = kept_errno;
}

void gmt_process_init(void)
{
	owner = getpid();
}

void gmt_process_reset_in_child(void)
{
	bool is_watched = gmt_process_mark != &never_cleared;
	uint32_t cleared = CLEARED;

	/*
	 * A copy may have made threads before it comes here: one thread resets the state, the others
	 * wait for it.
	 */
	if (is_watched && !atomic_compare_exchange_strong(gmt_process_mark, &cleared, CHANGING)) {
		struct gmt_bounded_wait wait = gmt_bounded_wait_begin(WAIT_NS);

		while (atomic_load(gmt_process_mark) == CHANGING && gmt_bounded_wait_rest(&wait))
			;
		return;
	}
	owner = getpid();
	GMT_RUN_STAGE(after_fork);
	if (is_watched)
		atomic_store(gmt_process_mark, OURS);
}

bool gmt_process_is_child(void)
{
	return getpid() != owner;
}
