/* SPDX-License-Identifier: MIT */
#include "descriptor.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

int gmt_descriptor_move_high(int fd)
{
	static const int numbers[] = { 900, 200, 3 }; /* RLIMIT_NOFILE may be low */

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		int high = fcntl(fd, F_DUPFD_CLOEXEC, numbers[i]);

		if (high >= 0) {
			close(fd);
			return high;
		}
	}
	return fd;
}

bool gmt_descriptor_may_make_file(uint64_t bytes)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur >= bytes;
}
