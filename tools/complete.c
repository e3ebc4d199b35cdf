/* SPDX-License-Identifier: MIT */
#include "tools/complete.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/encode.h"
#include "wire/sink.h"

enum { GZIP_LEVEL = 6 };

static enum gmt_status copy_block(struct gmt_sink *sink, const struct gmt_block *block, struct gmt_error *error)
{
	uint8_t header[GMT_BLOCK_HEADER_BYTES];
	enum gmt_status status;

	gmt_block_make_header(block, header);
	status = gmt_sink_push(sink, header, sizeof(header), error);
	return status ? status : gmt_sink_push(sink, block->payload, block->size_bytes, error);
}

static enum gmt_status copy(struct gmt_source *source, struct gmt_sink *sink, struct gmt_completed *completed,
	struct gmt_error *error)
{
	uint8_t header[GMT_FILE_HEADER_BYTES];
	struct gmt_block block;
	enum gmt_status status;

	gmt_encode_file_header(header);
	status = gmt_sink_push(sink, header, sizeof(header), error);
	while (!status && !(status = gmt_source_next(source, &block, error))) {
		if (block.kind == GMT_RECORD_EVENT)
			completed->events += block.rows;
		status = copy_block(sink, &block, error);
	}
	completed->recovered = gmt_source_recovered(source);
	return status == GMT_END ? GMT_OK : status;
}

static enum gmt_status write_to(int fd, struct gmt_source *source, struct gmt_completed *completed, struct gmt_error *error)
{
	struct gmt_sink *sink;
	enum gmt_status status = gmt_sink_open(fd, GZIP_LEVEL, &sink, error), ended;

	if (status)
		return status;
	status = copy(source, sink, completed, error);
	ended = gmt_sink_close(sink, status ? NULL : error);
	status = status ? status : ended;
	if (!status && fsync(fd) && errno != EINVAL)
		status = gmt_error_set(error, GMT_WRITE, "%s", strerror(errno));
	return status;
}

/* Who might read the file, and who might not, still may or may not. */
static void keep_rights(int fd, const char *path)
{
	struct stat about;

	if (!stat(path, &about)) {
		/* Only root may give files away; then the rights of the group are not another group's. */
		if (fchown(fd, about.st_uid, about.st_gid))
			about.st_mode &= ~(mode_t)(S_IRWXG & ~S_IRGRP);
		fchmod(fd, about.st_mode & 0777);
	}
}

enum gmt_status gmt_complete(const char *path, struct gmt_leftover *leftover, const char *to,
	struct gmt_completed *ret_completed, struct gmt_error *error)
{
	char real[PATH_MAX], beside[PATH_MAX + 64];
	struct gmt_error why = { 0 };
	struct gmt_source *source;
	enum gmt_status status = gmt_source_open_with(path, leftover, &source, error);

	*ret_completed = (struct gmt_completed){ 0 };
	if (status)
		return status;
	/* A symbolic link goes on meaning the file. */
	if (!realpath(to, real))
		snprintf(real, sizeof(real), "%s", to);
	snprintf(beside, sizeof(beside), "%s.recovering-%d", real, (int)getpid());

	int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		status = gmt_error_set(error, GMT_WRITE, "%s: %s", beside, strerror(errno));
	} else {
		keep_rights(fd, path ? path : to);
		status = write_to(fd, source, ret_completed, &why);
		close(fd);
		if (status)
			gmt_error_set(error, status, "%s: %.512s", beside, why.text);
		else if (rename(beside, real))
			status = gmt_error_set(error, GMT_WRITE, "%s: %s", real, strerror(errno));
		if (status)
			unlink(beside);
	}
	gmt_source_close(source);
	return status;
}
