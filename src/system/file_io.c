/* SPDX-License-Identifier: MIT */
#include "system/file_io.h"

#include <errno.h>
#include <unistd.h>

size_t gmt_file_read_at(int fd, uint64_t offset, void *bytes, size_t length)
{
	size_t done = 0;

	while (done < length) {
		ssize_t got = pread(fd, (char *)bytes + done, length - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

bool gmt_file_write_at(int fd, uint64_t offset, const void *bytes, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t written =
			pwrite(fd, (const char *)bytes + done, length - done, (off_t)(offset + done));

		if (written < 0 && errno == EINTR)
			continue;
		if (!written)
			errno = ENOSPC;
		if (written <= 0)
			return false;
		done += (size_t)written;
	}
	return true;
}
