/* SPDX-License-Identifier: MIT */
#include "format/file/sink.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "containers/arena.h"
#include "system/file_identity.h"
#include "base/pages.h"
#include "format/encoding/little_endian.h"
#include "format/encoding/zlib_memory.h"

enum { OUT_BYTES = 64 << 10 };

struct gmt_sink {
	int fd;
	struct gmt_file_identity file; /* the file that `fd` refers to */
	bool has_name; /* whether the file had a name at first: a file in memory has no name */
	bool failed;
	bool (*wait)(void *context, int error_number);
	void *wait_context;
	uint64_t pushed_bytes;
	uint64_t written_bytes; /* size of the file */
	uint64_t member_begin;  /* file offset of the current member */
	gz_header header; /* header of the current member, if it describes the previous member */
	uint8_t extra[GMT_MEMBER_EXTRA_BYTES];
	z_stream stream;
	struct gmt_arena zlib_memory;
	uint8_t out[OUT_BYTES];
};

static void free_sink(struct gmt_sink *sink)
{
	gmt_arena_fini(&sink->zlib_memory);
	gmt_pages_free(sink, sizeof(*sink));
}

static bool has_name(int fd)
{
	struct stat status;

	return !fstat(fd, &status) && status.st_nlink;
}

enum gmt_status gmt_sink_open(int fd, int level, struct gmt_sink **ret_sink,
	struct gmt_error *error)
{
	struct gmt_sink *sink = gmt_pages_grow(NULL, 0, sizeof(*sink));

	*ret_sink = NULL;
	if (!sink)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	sink->fd = fd;
	if (!gmt_file_identity_of(fd, &sink->file)) {
		free_sink(sink);
		return gmt_error_set(error, GMT_WRITE, "%s", strerror(errno));
	}
	sink->has_name = has_name(fd);
	gmt_zlib_use_arena(&sink->stream, &sink->zlib_memory);
	/* 15 bits of window, + 16 for a gzip header. */
	if (deflateInit2(&sink->stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free_sink(sink);
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	sink->stream.next_out = sink->out;
	sink->stream.avail_out = OUT_BYTES;
	*ret_sink = sink;
	return GMT_OK;
}

/* Returns the reason why the sink must not write to the file any more, or NULL. */
static const char *why_not_writable(const struct gmt_sink *sink)
{
	struct stat status;

	if (fstat(sink->fd, &status) || status.st_dev != sink->file.device ||
		status.st_ino != sink->file.inode)
		return "the program closed the recorder's file descriptor";
	if (!S_ISREG(status.st_mode))
		return NULL;
	if (!status.st_nlink && sink->has_name)
		return "the file was removed";
	return (uint64_t)status.st_size < sink->written_bytes ? "the file was truncated" : NULL;
}

/* Returns whether a later write may succeed after this error. */
static bool is_temporary(int error_number)
{
	switch (error_number) {
	case EBADF: /* the program closed the descriptor */
	case EFAULT:
	case EFBIG:
	case EINVAL:
	case EPIPE:
		return false;
	}
	return true;
}

static enum gmt_status write_out(struct gmt_sink *sink, struct gmt_error *error)
{
	const uint8_t *at = sink->out;
	size_t left = OUT_BYTES - sink->stream.avail_out;
	bool is_stalled = false;

	while (left) {
		const char *why = at == sink->out || is_stalled ? why_not_writable(sink) : NULL;
		ssize_t written = why ? -1 : write(sink->fd, at, left);
		int error_number = written ? errno : ENOSPC;

		if (why) {
			sink->failed = true;
			return gmt_error_set(error, GMT_WRITE, "%s", why);
		}
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			is_stalled = true;
			if (sink->wait && is_temporary(error_number) &&
				sink->wait(sink->wait_context, error_number))
				continue;
			sink->failed = true;
			errno = error_number;
			return gmt_error_set(error, GMT_WRITE, "%s", strerror(error_number));
		}
		if (is_stalled)
			sink->wait(sink->wait_context, 0); /* reports the end of the stall */
		is_stalled = false;
		at += written;
		left -= (size_t)written;
		sink->written_bytes += (uint64_t)written;
	}
	sink->stream.next_out = sink->out;
	sink->stream.avail_out = OUT_BYTES;
	return GMT_OK;
}

/* Runs deflate until it has no more output for this flush mode. */
static enum gmt_status deflate_all(struct gmt_sink *sink, int flush, struct gmt_error *error)
{
	for (;;) {
		int answer = deflate(&sink->stream, flush);

		if (sink->stream.avail_out && (flush != Z_FINISH || answer == Z_STREAM_END))
			return GMT_OK;

		enum gmt_status status = write_out(sink, error);
		if (status)
			return status;
	}
}

void gmt_sink_on_stall(struct gmt_sink *sink, bool (*wait)(void *context, int error_number),
	void *context)
{
	sink->wait = wait;
	sink->wait_context = context;
}

enum gmt_status gmt_sink_push(struct gmt_sink *sink, const void *bytes, size_t length,
	struct gmt_error *error)
{
	sink->pushed_bytes += length;
	if (sink->failed)
		return GMT_OK;
	while (length) {
		uInt part = length < UINT_MAX ? (uInt)length : UINT_MAX;

		sink->stream.next_in = (Bytef *)(uintptr_t)bytes;
		sink->stream.avail_in = part;
		enum gmt_status status = deflate_all(sink, Z_NO_FLUSH, error);
		if (status)
			return status;
		bytes = (const uint8_t *)bytes + part;
		length -= part;
	}
	return GMT_OK;
}

enum gmt_status gmt_sink_sync(struct gmt_sink *sink, struct gmt_error *error)
{
	if (sink->failed)
		return GMT_OK;

	enum gmt_status status = deflate_all(sink, Z_SYNC_FLUSH, error);
	return status ? status : write_out(sink, error);
}

uint64_t gmt_sink_written_bytes(const struct gmt_sink *sink)
{
	return sink->written_bytes;
}

uint64_t gmt_sink_member_bytes(const struct gmt_sink *sink)
{
	return sink->written_bytes - sink->member_begin;
}

bool gmt_sink_tail(const struct gmt_sink *sink, uint8_t ret_tail[GMT_SINK_TAIL_BYTES])
{
	/* An empty last block, then the checksum and the length (RFC 1952). */
	gmt_put_u16(ret_tail, 3);
	gmt_put_u32(ret_tail + 2, (uint32_t)sink->stream.adler);
	gmt_put_u32(ret_tail + 6, (uint32_t)sink->stream.total_in);
	return !sink->failed;
}

uint64_t gmt_sink_pushed_bytes(const struct gmt_sink *sink)
{
	return sink->pushed_bytes;
}

enum gmt_status gmt_sink_end_member(struct gmt_sink *sink,
	const struct gmt_member_description *description, struct gmt_error *error)
{
	enum { UNIX = 3 }; /* the operating system, as gzip headers name it (RFC 1952) */

	if (sink->failed)
		return GMT_OK;

	enum gmt_status status = deflate_all(sink, Z_FINISH, error);
	if (!status)
		status = write_out(sink, error);

	struct gmt_member_identity identity = {
		.bytes = sink->written_bytes - sink->member_begin,
		.checksum = (uint32_t)sink->stream.adler,
		.length = (uint32_t)sink->stream.total_in,
	};

	/* The reset keeps the output buffer, next_out and avail_out. */
	deflateReset(&sink->stream);
	sink->member_begin = sink->written_bytes;
	if (description)
		gmt_member_description_write(description, &identity, sink->extra);
	sink->header =
		(gz_header){ .extra = sink->extra, .extra_len = sizeof(sink->extra), .os = UNIX };
	deflateSetHeader(&sink->stream, description ? &sink->header : NULL);
	return status;
}

bool gmt_sink_move(struct gmt_sink *sink, int fd, uint64_t written_bytes)
{
	struct gmt_file_identity file;

	if (!gmt_file_identity_of(fd, &file))
		return false;
	sink->fd = fd;
	sink->file = file;
	/*
	 * If the new file is shorter, member_begin may wrap below 0. Only its difference from
	 * written_bytes is used.
	 */
	sink->member_begin += written_bytes - sink->written_bytes;
	sink->written_bytes = written_bytes;
	return true;
}

enum gmt_status gmt_sink_close(struct gmt_sink *sink, struct gmt_error *error)
{
	enum gmt_status status = GMT_OK;

	if (!sink)
		return GMT_OK;
	if (!sink->failed)
		status = deflate_all(sink, Z_FINISH, error);
	if (!status && !sink->failed)
		status = write_out(sink, error);
	gmt_sink_abandon(sink);
	return status;
}

void gmt_sink_abandon(struct gmt_sink *sink)
{
	if (!sink)
		return;
	deflateEnd(&sink->stream);
	free_sink(sink);
}
