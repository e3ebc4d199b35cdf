/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_POOL_H
#define GMT_READER_SYMBOLS_SYMBOLS_POOL_H

/*
 * Keeps symbol files open from one recording to the next. The ranks of one program use the same
 * libraries, and reading a large symbol table costs more than replaying a recording. If a file is
 * replaced meanwhile, the pool still shows the old contents.
 *
 * For one thread.
 */

#include "reader/symbols/symbols_elf.h"

struct gmt_symbols_pool;

/* Creates a pool. Returns NULL when out of memory. */
struct gmt_symbols_pool *gmt_symbols_pool_open(void);

/*
 * Does the same as gmt_elf_open, but opens each path only once. With a pool, the file belongs to
 * the pool. Without a pool (NULL), it belongs to the caller.
 */
struct gmt_elf *gmt_symbols_pool_get(struct gmt_symbols_pool *pool, const char *path);

/* Gives back a file from gmt_symbols_pool_get. Both arguments may be NULL. */
void gmt_symbols_pool_put(struct gmt_symbols_pool *pool, struct gmt_elf *elf);

/* Closes the pool and its files. Nothing from them may be used after this. `pool` may be NULL. */
void gmt_symbols_pool_close(struct gmt_symbols_pool *pool);

#endif
