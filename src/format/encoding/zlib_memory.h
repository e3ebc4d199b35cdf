/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_ZLIB_MEMORY_H
#define GMT_FORMAT_ENCODING_ZLIB_MEMORY_H

#include "containers/arena.h"

struct z_stream_s;

/*
 * Makes a zlib stream take its memory from an arena, which must outlive the stream. zlib must not
 * use the host's malloc (base/pages.h). zlib allocates only at setup, so it is enough to free all
 * of its memory together. Call this before deflateInit2 or inflateInit2.
 */
void gmt_zlib_use_arena(struct z_stream_s *stream, struct gmt_arena *arena);

#endif
