/* SPDX-License-Identifier: MIT */
#ifndef GMT_CONTAINERS_ARENA_H
#define GMT_CONTAINERS_ARENA_H

/*
 * Memory with one lifetime: allocated in pieces, freed together. A recording owns an arena, and
 * everything that is reached from the recording is borrowed. Zero-initialise before use. One thread
 * at a time.
 */

#include <stdarg.h>
#include <stddef.h>

struct gmt_arena_chunk;

struct gmt_arena {
	struct gmt_arena_chunk *newest;
	size_t used_bytes; /* bytes used in the newest chunk */
};

/*
 * Returns `bytes` of zeroed memory, aligned for any type; NULL when out of memory. A piece cannot
 * be freed alone.
 */
void *gmt_arena_alloc(struct gmt_arena *arena, size_t bytes);

/* Returns a copy of `length` bytes followed by a NUL; NULL when out of memory. */
char *gmt_arena_copy(struct gmt_arena *arena, const char *bytes, size_t length);

/* Returns a line formatted like vprintf, at most 1023 bytes; NULL when out of memory. */
char *gmt_arena_vprint(struct gmt_arena *arena, const char *format, va_list arguments)
	__attribute__((format(printf, 2, 0)));

/* Frees everything that came from the arena and leaves it empty. */
void gmt_arena_fini(struct gmt_arena *arena);

#endif
