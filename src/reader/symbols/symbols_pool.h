/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_POOL_H
#define GMT_READER_SYMBOLS_SYMBOLS_POOL_H

/*
 * Files with symbols that stay open from one recording to the next: ranks of one program name the same
 * libraries, and reading a large symbol table costs more than replaying a recording. One thread. A file
 * that is replaced meanwhile is seen as it was.
 */

#include "reader/symbols/symbols_elf.h"

struct gmt_symbols_pool;

/* NULL when out of memory. */
struct gmt_symbols_pool *gmt_symbols_pool_open(void);

/*
 * As gmt_elf_open, but what the pool has is opened once. With a pool the file is the pool's; without one
 * (NULL) it is the caller's.
 */
struct gmt_elf *gmt_symbols_pool_get(struct gmt_symbols_pool *pool, const char *path);

/* The caller needs a file no more that gmt_symbols_pool_get gave; both may be NULL. */
void gmt_symbols_pool_put(struct gmt_symbols_pool *pool, struct gmt_elf *elf);

/* Closes its files; nothing that came from it may still be used. `pool` may be NULL. */
void gmt_symbols_pool_close(struct gmt_symbols_pool *pool);

#endif
