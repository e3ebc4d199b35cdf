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
	SHARED_LIMIT = 64,    /* of RLIMIT_NOFILE: below, every number is the host's */
	STANDARD_STREAMS = 3,
};

static _Atomic bool is_any_own;
static __thread bool has_own __attribute__((tls_model("initial-exec")));

/* Numbers that libc writes its last words to, in a thread that dies: never a file of ours. */
static void take_standard_numbers(void)
{
	for (int number = 0; number < STANDARD_STREAMS; number++)
		if (open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
			return;
}

bool gmt_descriptor_take_own_table(void)
{
	/*
	 * Host threads then give memory its space without a descriptor (producer/recording_memory.c), which the kernel must know. An empty range
	 * is only a question.
	 */
	atomic_store(&is_any_own, false);
	if (madvise(NULL, 0, MADV_POPULATE_WRITE))
		return false;
	/* In one step, without copies: the other end of a pipe sees that the host has closed it when the host does. */
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
