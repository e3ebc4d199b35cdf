/* SPDX-License-Identifier: MIT */
#ifndef GMT_WIRE_ZLIB_MEMORY_H
#define GMT_WIRE_ZLIB_MEMORY_H

/*
 * Gives a zlib stream its memory from an arena: zlib must not use the host's malloc (base/pages.h). It
 * allocates when it is set up only, so nothing is lost by freeing all of it together.
 */

#include <zlib.h>

#include "base/arena.h"

static inline voidpf gmt_zlib_alloc(voidpf arena, uInt items, uInt size)
{
	return gmt_arena_alloc(arena, (size_t)items * size);
}

static inline void gmt_zlib_free(voidpf arena, voidpf block)
{
	(void)arena;
	(void)block;
}

/* Before deflateInit2 or inflateInit2; `arena` must outlive the stream. */
static inline void gmt_zlib_use_arena(z_stream *stream, struct gmt_arena *arena)
{
	stream->zalloc = gmt_zlib_alloc;
	stream->zfree = gmt_zlib_free;
	stream->opaque = arena;
}

#endif
