/* SPDX-License-Identifier: MIT */
#include "reader/load/events_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system/file_bytes.h"
#include "base/pages.h"

struct gmt_events_file {
	int fd;
	bool failed;
};

static int open_in(const char *folder)
{
	char path[4096];
	int fd;

	if (snprintf(path, sizeof(path), "%s/gpumemtrace-XXXXXX", folder) >= (int)sizeof(path))
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

struct gmt_events_file *gmt_events_file_open(void)
{
	const char *folders[] = { getenv("TMPDIR"), "/var/tmp", "/tmp" };
	struct gmt_events_file *file;
	int fd = -1;

	/* If the user names a folder, use no other folder. */
	if (folders[0] && *folders[0])
		fd = open_in(folders[0]);
	else
		for (size_t i = 1; i < sizeof(folders) / sizeof(*folders) && fd < 0; i++)
			fd = open_in(folders[i]);
	if (fd < 0)
		return NULL;
	file = gmt_pages_grow(NULL, 0, sizeof(*file));
	if (file)
		file->fd = fd;
	else
		close(fd);
	return file;
}

bool gmt_events_file_write(struct gmt_events_file *file, uint64_t offset, const void *bytes,
	size_t length)
{
	return gmt_file_write_at(file->fd, offset, bytes, length);
}

void gmt_events_file_read(struct gmt_events_file *file, uint64_t offset, void *bytes, size_t length)
{
	size_t read_bytes = gmt_file_read_at(file->fd, offset, bytes, length);

	memset((char *)bytes + read_bytes, 0, length - read_bytes);
	file->failed |= read_bytes < length;
}

bool gmt_events_file_failed(const struct gmt_events_file *file)
{
	return file->failed;
}

void gmt_events_file_close(struct gmt_events_file *file)
{
	if (!file)
		return;
	close(file->fd);
	gmt_pages_free(file, sizeof(*file));
}
