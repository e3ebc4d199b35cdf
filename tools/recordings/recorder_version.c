/* SPDX-License-Identifier: MIT */
#include "tools/recordings/recorder_version.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/recorder_version.h"

static const char mark[] = GMT_RECORDER_VERSION_MARK;

bool gmt_recorder_version_differs(const char *path, char ret_version[GMT_RECORDER_VERSION_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	char *file = MAP_FAILED;

	ret_version[0] = 0;
	if (fd >= 0 && !fstat(fd, &status) && status.st_size > 0)
		file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (file == MAP_FAILED)
		return false;

	const char *end = file + status.st_size;
	const char *version = memmem(file, (size_t)status.st_size, mark, sizeof(mark) - 1);
	if (version) {
		version += sizeof(mark) - 1;
		size_t max_length = (size_t)(end - version) < GMT_RECORDER_VERSION_BYTES - 1
			? (size_t)(end - version)
			: GMT_RECORDER_VERSION_BYTES - 1;
		size_t length = strnlen(version, max_length);

		memcpy(ret_version, version, length);
		ret_version[length] = 0;
	}
	munmap(file, (size_t)status.st_size);
	return ret_version[0] && strcmp(ret_version, GMT_PROGRAM_VERSION) != 0;
}
