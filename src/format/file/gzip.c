/* SPDX-License-Identifier: MIT */
#include "format/file/gzip.h"

#include <stdint.h>

#include <zlib.h>

#include "containers/arena.h"
#include "format/encoding/zlib_memory.h"

enum {
	GZIP_WINDOW = 15 + 16, /* 15: the largest window; + 16: a gzip header */
	MEMORY_LEVEL = 8,
	MAX_WRITE = 1 << 30,
};

struct gmt_gzip {
	struct gmt_arena arena; /* holds this structure too */
	z_stream stream;
	gmt_gzip_receive *receive;
	void *user;
	bool has_failed;
	unsigned char output[1 << 14];
};

struct gmt_gzip *gmt_gzip_open(int level, gmt_gzip_receive *receive, void *user)
{
	struct gmt_arena arena = { 0 };
	struct gmt_gzip *gzip = gmt_arena_alloc(&arena, sizeof(*gzip));

	if (!gzip)
		return NULL;
	gzip->arena = arena;
	gzip->receive = receive;
	gzip->user = user;
	gmt_zlib_use_arena(&gzip->stream, &gzip->arena);
	if (deflateInit2(&gzip->stream, level, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
			Z_DEFAULT_STRATEGY) != Z_OK) {
		arena = gzip->arena;
		gmt_arena_fini(&arena);
		return NULL;
	}
	return gzip;
}

/* Compresses the pending input. Z_FINISH also ends the stream. */
static void compress_input(struct gmt_gzip *gzip, int flush)
{
	do {
		gzip->stream.next_out = gzip->output;
		gzip->stream.avail_out = sizeof(gzip->output);
		deflate(&gzip->stream, flush);

		size_t length = sizeof(gzip->output) - gzip->stream.avail_out;
		if (length && !gzip->has_failed)
			gzip->has_failed = !gzip->receive(gzip->user, gzip->output, length);
	} while (!gzip->stream.avail_out);
}

bool gmt_gzip_write(struct gmt_gzip *gzip, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;

	while (length && !gzip->has_failed) {
		unsigned part = length < MAX_WRITE ? (unsigned)length : MAX_WRITE;

		/* zlib does not change its input, but its type lacks the const. */
		gzip->stream.next_in = (unsigned char *)(uintptr_t)at;
		gzip->stream.avail_in = part;
		compress_input(gzip, Z_NO_FLUSH);
		at += part;
		length -= part;
	}
	return !gzip->has_failed;
}

bool gmt_gzip_close(struct gmt_gzip *gzip)
{
	struct gmt_arena arena;
	bool done;

	compress_input(gzip, Z_FINISH);
	done = !gzip->has_failed;
	deflateEnd(&gzip->stream);
	arena = gzip->arena;
	gmt_arena_fini(&arena);
	return done;
}
