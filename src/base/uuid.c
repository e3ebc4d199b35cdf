/* SPDX-License-Identifier: MIT */
#include "base/uuid.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { LENGTH = 36 };

static void read_kernel_identifier(const char *path, char ret_identifier[GMT_UUID_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, ret_identifier, GMT_UUID_BYTES - 1) : 0;

	if (fd >= 0)
		close(fd);
	ret_identifier[length > 0 ? length : 0] = 0;
	ret_identifier[strcspn(ret_identifier, "\n")] = 0;
}

void gmt_uuid_make(char ret_identifier[GMT_UUID_BYTES])
{
	/* Each read of this file returns a new identifier. */
	read_kernel_identifier("/proc/sys/kernel/random/uuid", ret_identifier);
}

void gmt_uuid_of_boot(char ret_identifier[GMT_UUID_BYTES])
{
	read_kernel_identifier("/proc/sys/kernel/random/boot_id", ret_identifier);
}

bool gmt_uuid_is_valid(const char *text)
{
	return strlen(text) == LENGTH && strspn(text, "0123456789abcdef-") == LENGTH;
}
