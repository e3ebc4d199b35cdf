/* SPDX-License-Identifier: MIT */
#ifndef GMT_CONTAINERS_ARENA_H
#define GMT_CONTAINERS_ARENA_H

/*
 * Memory with one lifetime: allocated piece by piece, freed together. A snapshot owns one; all that
 * is reached from it is borrowed. Zero-initialise to make one. One thread at a time.
 */

#include <stdarg.h>
#include <stddef.h>

struct gmt_arena_chunk;

struct gmt_arena {
	struct gmt_arena_chunk *newest;
	size_t used_bytes; /* in the newest chunk */
};

/* `bytes` of zeroed memory, aligned for anything; NULL when out of memory. Never freed alone. */
void *gmt_arena_alloc(struct gmt_arena *arena, size_t bytes);

/* A copy of `length` bytes with a NUL behind them; NULL when out of memory. */
char *gmt_arena_copy(struct gmt_arena *arena, const char *bytes, size_t length);

/* A line as vprintf writes it, of 1023 bytes at most; NULL when out of memory. */
char *gmt_arena_vprint(struct gmt_arena *arena, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* Frees everything that came from the arena and leaves it empty. */
void gmt_arena_fini(struct gmt_arena *arena);

#endif
