/* SPDX-License-Identifier: MIT */
#include "format/encoding/inflate.h"

#include <zlib.h>

#include "format/encoding/zlib_memory.h"

enum { WINDOW_BITS = 15, GZIP_ONLY = 16 };

/* No close function is needed: all of zlib's memory is in the arena. */
void *gmt_inflate_open(struct gmt_arena *memory)
{
	z_stream *stream = gmt_arena_alloc(memory, sizeof(*stream));

	if (!stream)
		return NULL;
	gmt_zlib_use_arena(stream, memory);
	return inflateInit2(stream, WINDOW_BITS + GZIP_ONLY) == Z_OK ? stream : NULL;
}

void gmt_inflate_begin(void *state)
{
	inflateReset(state);
}

enum gmt_inflate_answer gmt_inflate_run(void *state, struct gmt_inflate_bytes *bytes)
{
	z_stream *stream = state;
	int answer;

	stream->next_in = (Bytef *)(uintptr_t)bytes->in; /* zlib only reads the input */
	stream->avail_in = (uInt)bytes->in_bytes;
	stream->next_out = bytes->out;
	stream->avail_out = (uInt)bytes->out_bytes;
	answer = inflate(stream, Z_NO_FLUSH);
	*bytes = (struct gmt_inflate_bytes){ stream->next_in, stream->avail_in, stream->next_out,
		stream->avail_out };
	if (answer == Z_STREAM_END)
		return GMT_INFLATE_ENDED;
	/* If `out` is full, zlib reports the error again when there is room. */
	return answer == Z_OK || answer == Z_BUF_ERROR || !stream->avail_out ? GMT_INFLATE_MORE
																		 : GMT_INFLATE_DAMAGED;
}

uint32_t gmt_checksum(uint32_t crc, const void *bytes, size_t size)
{
	return (uint32_t)crc32_z(crc, bytes, size);
}
