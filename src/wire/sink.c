/* SPDX-License-Identifier: MIT */
#include "wire/sink.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/file_identity.h"
#include "base/pages.h"
#include "wire/zlib_memory.h"

enum { OUT_BYTES = 64 << 10 };

struct gmt_sink {
	int fd;
	struct gmt_file_identity file; /* what `fd` means */
	bool failed;
	uint64_t pushed_bytes;
	uint64_t written_bytes;
	z_stream stream;
	struct gmt_arena zlib_memory;
	uint8_t out[OUT_BYTES];
};

static void free_sink(struct gmt_sink *sink)
{
	gmt_arena_fini(&sink->zlib_memory);
	gmt_pages_free(sink, sizeof(*sink));
}

enum gmt_status gmt_sink_open(int fd, int level, struct gmt_sink **ret_sink, struct gmt_error *error)
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
	gmt_zlib_use_arena(&sink->stream, &sink->zlib_memory);
	/* 15 bits of window, + 16: a gzip header. */
	if (deflateInit2(&sink->stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free_sink(sink);
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	sink->stream.next_out = sink->out;
	sink->stream.avail_out = OUT_BYTES;
	*ret_sink = sink;
	return GMT_OK;
}

static enum gmt_status write_out(struct gmt_sink *sink, struct gmt_error *error)
{
	const uint8_t *at = sink->out;
	size_t left = OUT_BYTES - sink->stream.avail_out;

	if (left && !gmt_file_identity_holds(sink->fd, &sink->file)) {
		sink->failed = true;
		return gmt_error_set(error, GMT_WRITE, "the program has closed its descriptor");
	}
	while (left) {
		ssize_t written = write(sink->fd, at, left);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			sink->failed = true;
			return gmt_error_set(error, GMT_WRITE, "%s", strerror(written ? errno : ENOSPC));
		}
		at += written;
		left -= (size_t)written;
		sink->written_bytes += (uint64_t)written;
	}
	sink->stream.next_out = sink->out;
	sink->stream.avail_out = OUT_BYTES;
	return GMT_OK;
}

/* Runs deflate until it has no more to say for this flush mode. */
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

bool gmt_sink_tail(const struct gmt_sink *sink, uint8_t ret_tail[GMT_SINK_TAIL_BYTES])
{
	uint32_t words[] = { (uint32_t)sink->stream.adler, (uint32_t)sink->stream.total_in };

	/* A last block that has nothing; then, by RFC 1952, the checksum and the length. */
	ret_tail[0] = 3;
	ret_tail[1] = 0;
	for (unsigned i = 0; i < 8; i++)
		ret_tail[2 + i] = (uint8_t)(words[i / 4] >> (i % 4 * 8));
	return !sink->failed;
}

uint64_t gmt_sink_pushed_bytes(const struct gmt_sink *sink)
{
	return sink->pushed_bytes;
}

enum gmt_status gmt_sink_end_member(struct gmt_sink *sink, struct gmt_error *error)
{
	if (sink->failed)
		return GMT_OK;

	enum gmt_status status = deflate_all(sink, Z_FINISH, error);
	if (!status)
		status = write_out(sink, error);
	/* The output stays where it is. */
	deflateReset(&sink->stream);
	return status;
}

bool gmt_sink_move(struct gmt_sink *sink, int fd, uint64_t written_bytes)
{
	struct gmt_file_identity file;

	if (!gmt_file_identity_of(fd, &file))
		return false;
	sink->fd = fd;
	sink->file = file;
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
