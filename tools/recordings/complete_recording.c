/* SPDX-License-Identifier: MIT */
#include "tools/recordings/complete_recording.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "format/encoding/encode_rows.h"
#include "format/file/sink.h"

enum { GZIP_LEVEL = 6 };

static enum gmt_status copy_block(struct gmt_sink *sink, const struct gmt_block *block,
	struct gmt_error *error)
{
	uint8_t header[GMT_BLOCK_HEADER_BYTES];
	enum gmt_status status;

	gmt_block_make_header(block, header);
	status = gmt_sink_push(sink, header, sizeof(header), error);
	return status ? status : gmt_sink_push(sink, block->payload, block->size_bytes, error);
}

static enum gmt_status copy(struct gmt_source *source, struct gmt_sink *sink,
	struct gmt_completed *completed, struct gmt_error *error)
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

static enum gmt_status write_to(int fd, struct gmt_source *source, struct gmt_completed *completed,
	struct gmt_error *error)
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

/* Sets the error of a failed write, with the file name that the user knows. */
static enum gmt_status failed(const struct gmt_replaceable_file *to, struct gmt_error *error)
{
	return gmt_error_set(error, GMT_WRITE, "%s: %s", to->path,
		errno == EEXIST ? "another file has replaced it" : strerror(errno));
}

static enum gmt_status write_new(struct gmt_source *source, const struct gmt_replaceable_file *to,
	int like, struct gmt_completed *completed, struct gmt_error *error)
{
	struct gmt_replacement new;
	struct gmt_error why = { 0 };
	enum gmt_status status;

	if (!gmt_replacement_begin(to, like, &new))
		return failed(to, error);
	status = write_to(new.fd, source, completed, &why);
	if (status)
		gmt_error_set(error, status, "%s: %.512s", to->path, why.text);
	else if (!gmt_replacement_commit(to, &new))
		status = failed(to, error);
	gmt_replacement_end(to, &new);
	return status;
}

/* Counts the events that would be written. */
static enum gmt_status count(struct gmt_source *source, struct gmt_completed *completed,
	struct gmt_error *error)
{
	struct gmt_block block;
	enum gmt_status status;

	while (!(status = gmt_source_next(source, &block, error)))
		if (block.kind == GMT_RECORD_EVENT)
			completed->events += block.rows;
	completed->recovered = gmt_source_recovered(source);
	return status == GMT_END ? GMT_OK : status;
}

enum gmt_status gmt_complete_recording(const struct gmt_replaceable_file *from,
	struct gmt_shared_recording *shared_recording, const struct gmt_replaceable_file *to,
	struct gmt_completed *ret_completed, struct gmt_error *error)
{
	struct gmt_source *source;
	int fd = from ? from->fd : -1;
	enum gmt_status status =
		gmt_source_open_descriptor(fd, from ? from->path : NULL, shared_recording, &source, error);

	*ret_completed = (struct gmt_completed){ 0 };
	if (status)
		return status;
	status =
		to ? write_new(source, to, fd, ret_completed, error) : count(source, ret_completed, error);
	gmt_source_close(source);
	return status;
}
