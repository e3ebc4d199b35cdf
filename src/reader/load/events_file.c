/* SPDX-License-Identifier: MIT */
#include "reader/load/events_file.h"

#include <string.h>
#include <unistd.h>

#include "base/pages.h"
#include "system/file_io.h"
#include "system/temporary_file.h"

struct gmt_events_file {
	int fd;
	bool failed;
};

struct gmt_events_file *gmt_events_file_open(void)
{
	struct gmt_events_file *file;
	char path[4096];
	int fd = gmt_temporary_file_create(path, sizeof(path));

	if (fd < 0)
		return NULL;
	unlink(path);
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
