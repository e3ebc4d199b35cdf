/* SPDX-License-Identifier: MIT */
#include "runtime/fork_detection.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/bounded_wait.h"
#include "runtime/hot_data.h"
#include "runtime/stages.h"

enum { WAIT_NS = 1000000000 };
/* The values of the word. */
enum { CLEARED, RESETTING, IN_USE };

static _Atomic uint32_t never_cleared = IN_USE;

/* The first hot variable. Its alignment makes the group of hot variables begin at a cache line. */
GMT_HOT_DATA _Alignas(64) _Atomic uint32_t *_Atomic gmt_fork_detection_word = &never_cleared;

static atomic_flag watching = ATOMIC_FLAG_INIT;
static pid_t owner;

void gmt_fork_detection_begin(void)
{
	int kept_errno = errno;

	if (atomic_flag_test_and_set(&watching))
		return;

	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/*
	 * Without MADV_WIPEONFORK a child would see the same word and take itself for the parent. The
	 * recorder then uses no page.
	 */
	if (page != MAP_FAILED && madvise(page, bytes, MADV_WIPEONFORK)) {
		munmap(page, bytes);
		page = MAP_FAILED;
	}
	if (page != MAP_FAILED) {
		*(_Atomic uint32_t *)page = IN_USE;
		atomic_store_explicit(&gmt_fork_detection_word, page, memory_order_release);
	}
	errno = kept_errno;
}

void gmt_fork_detection_init(void)
{
	owner = getpid();
}

void gmt_fork_detection_reset_child(void)
{
	bool is_watched = gmt_fork_detection_word != &never_cleared;
	uint32_t cleared = CLEARED;

	/*
	 * A copy may already have several threads. One of them resets the state, and the others wait
	 * for it.
	 */
	if (is_watched &&
		!atomic_compare_exchange_strong(gmt_fork_detection_word, &cleared, RESETTING)) {
		struct gmt_bounded_wait wait = gmt_bounded_wait_begin(WAIT_NS);

		while (atomic_load(gmt_fork_detection_word) == RESETTING && gmt_bounded_wait_rest(&wait))
			;
		return;
	}
	owner = getpid();
	GMT_RUN_STAGE(after_fork);
	if (is_watched)
		atomic_store(gmt_fork_detection_word, IN_USE);
}

bool gmt_fork_detection_is_child(void)
{
	return getpid() != owner;
}
