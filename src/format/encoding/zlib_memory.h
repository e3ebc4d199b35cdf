/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_ZLIB_MEMORY_H
#define GMT_FORMAT_ENCODING_ZLIB_MEMORY_H

#include "containers/arena.h"

struct z_stream_s;

/*
 * Gives a zlib stream its memory from an arena, which must outlive it: zlib must not use the host's
 * malloc (base/pages.h). It allocates when it is set up only, so nothing is lost by freeing all of it
 * together. Before deflateInit2 or inflateInit2.
 */
void gmt_zlib_use_arena(struct z_stream_s *stream, struct gmt_arena *arena);

#endif
