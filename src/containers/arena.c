/* SPDX-License-Identifier: MIT */
#include "containers/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/pages.h"
#include "base/sanitizer.h"

enum { CHUNK_BYTES = GMT_WITH_ASAN ? 4 << 10 : 256 << 10, ALIGNMENT = 16 };

struct gmt_arena_chunk {
	struct gmt_arena_chunk *older;
	size_t size_bytes; /* including this header */
};

static size_t aligned(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

void *gmt_arena_alloc(struct gmt_arena *arena, size_t bytes)
{
	if (bytes > SIZE_MAX / 2)
		return NULL;

	/* With AddressSanitizer, leave a gap after each piece. */
	size_t need = aligned(bytes ? bytes : 1) + (GMT_WITH_ASAN ? ALIGNMENT : 0);

	if (!arena->newest || arena->newest->size_bytes - arena->used_bytes < need) {
		size_t header = aligned(sizeof(struct gmt_arena_chunk));
		size_t size = header + need > CHUNK_BYTES ? header + need : CHUNK_BYTES;
		struct gmt_arena_chunk *chunk = gmt_pages_grow(NULL, 0, size);

		if (!chunk)
			return NULL;
		chunk->older = arena->newest;
		chunk->size_bytes = size;
		arena->newest = chunk;
		arena->used_bytes = header;
		ASAN_POISON_MEMORY_REGION((char *)chunk + header, size - header);
	}

	void *piece = (char *)arena->newest + arena->used_bytes;
	arena->used_bytes += need;
	ASAN_UNPOISON_MEMORY_REGION(piece, bytes ? bytes : 1);
	return piece;
}

char *gmt_arena_copy(struct gmt_arena *arena, const char *bytes, size_t length)
{
	char *copy = gmt_arena_alloc(arena, length + 1);

	if (copy && length)
		memcpy(copy, bytes, length);
	return copy;
}

char *gmt_arena_vprint(struct gmt_arena *arena, const char *format, va_list arguments)
{
	char line[1024];

	vsnprintf(line, sizeof(line), format, arguments);
	return gmt_arena_copy(arena, line, strlen(line));
}

void gmt_arena_fini(struct gmt_arena *arena)
{
	while (arena->newest) {
		struct gmt_arena_chunk *older = arena->newest->older;

		ASAN_UNPOISON_MEMORY_REGION(arena->newest, arena->newest->size_bytes);
		gmt_pages_free(arena->newest, arena->newest->size_bytes);
		arena->newest = older;
	}
	arena->used_bytes = 0;
}
