/* SPDX-License-Identifier: MIT */
#include "runtime/descriptor.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
	UNSHARE = 1 << 1,     /* CLOSE_RANGE_UNSHARE */
	/* Minimum RLIMIT_NOFILE for a shared table; below it, the host gets all numbers. */
	SHARED_LIMIT = 64,
	STANDARD_STREAMS = 3,
};

static _Atomic bool is_any_own;
static __thread bool has_own __attribute__((tls_model("initial-exec")));

/*
 * Occupies the numbers 0 to 2, so that they never become files of the recorder. libc writes its
 * last message to one of them when a thread dies.
 */
static void take_standard_numbers(void)
{
	for (int number = 0; number < STANDARD_STREAMS; number++)
		if (open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
			return;
}

bool gmt_descriptor_take_own_table(void)
{
	/*
	 * With a separate table, host threads populate shared memory without a descriptor
	 * (producer/recording_memory.c). The kernel must support that. madvise with an empty range only
	 * tests for it.
	 */
	atomic_store(&is_any_own, false);
	if (madvise(NULL, 0, MADV_POPULATE_WRITE))
		return false;
	/*
	 * Makes the table and closes its descriptors in one step. A copy of a pipe's descriptor would
	 * keep the pipe open after the host has closed it.
	 */
	if (syscall(SYS_close_range, 0, ~0U, UNSHARE))
		return false;
	has_own = true;
	atomic_store(&is_any_own, true);
	take_standard_numbers();
	return true;
}

bool gmt_descriptor_has_own_table(void)
{
	return has_own;
}

bool gmt_descriptor_is_elsewhere(void)
{
	return !has_own && atomic_load(&is_any_own);
}

bool gmt_descriptor_may_share_table(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= SHARED_LIMIT;
}

bool gmt_descriptor_has_room(unsigned count)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	bool has_room = fd >= 0 && (count <= 1 || gmt_descriptor_has_room(count - 1));

	if (fd >= 0)
		close(fd);
	return has_room;
}

int gmt_descriptor_move_high(int fd)
{
	static const int numbers[] = { 900, 200, 3 }; /* RLIMIT_NOFILE may be low */

	if (has_own)
		return fd;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		int high = fcntl(fd, F_DUPFD_CLOEXEC, numbers[i]);

		if (high >= 0) {
			close(fd);
			return high;
		}
	}
	return fd;
}

void gmt_descriptor_close(int *fd, const struct gmt_file_identity *file)
{
	if (gmt_descriptor_is_elsewhere())
		*fd = -1;
	else
		gmt_file_identity_close(fd, file);
}

bool gmt_descriptor_may_make_file(uint64_t bytes)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur >= bytes;
}
