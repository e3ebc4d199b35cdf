/* SPDX-License-Identifier: MIT */
#include "process.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

_Atomic uint32_t *gmt_process_mark;

enum { WAIT_TRIES = 100000 };
enum mark { CLEARED, CHANGING, OURS };

static pid_t owner;
static void (*let_go)(void);

static void make_mark(void)
{
	int kept_errno = errno;
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* Shared with children as all else, it would say that a child is its parent: then rather nothing. */
	if (page != MAP_FAILED && madvise(page, bytes, MADV_WIPEONFORK)) {
		munmap(page, bytes);
		page = MAP_FAILED;
	}
	if (page != MAP_FAILED)
		gmt_process_mark = page;
	errno = kept_errno;
}

void gmt_process_init(void (*begin_anew)(void))
{
	let_go = begin_anew;
	make_mark();
	owner = getpid();
	if (gmt_process_mark)
		atomic_store(gmt_process_mark, OURS);
}

void gmt_process_begin_anew(void)
{
	uint32_t cleared = CLEARED;

	/* A copy may have made threads before it comes here: one begins, the others wait for it. */
	if (gmt_process_mark && !atomic_compare_exchange_strong(gmt_process_mark, &cleared, CHANGING)) {
		for (int tries = 0; tries < WAIT_TRIES && atomic_load(gmt_process_mark) == CHANGING; tries++)
			sched_yield();
		return;
	}
	owner = getpid();
	let_go();
	if (gmt_process_mark)
		atomic_store(gmt_process_mark, OURS);
}

bool gmt_process_is_another(void)
{
	return getpid() != owner;
}
