/* SPDX-License-Identifier: MIT */
#include "format/encoding/zlib_memory.h"

#include <zlib.h>

static voidpf allocate(voidpf arena, uInt items, uInt size)
{
	return gmt_arena_alloc(arena, (size_t)items * size);
}

static void ignore_free(voidpf arena, voidpf block)
{
	(void)arena;
	(void)block;
}

void gmt_zlib_use_arena(struct z_stream_s *stream, struct gmt_arena *arena)
{
	stream->zalloc = allocate;
	stream->zfree = ignore_free;
	stream->opaque = arena;
}
