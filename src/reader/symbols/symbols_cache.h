/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_CACHE_H
#define GMT_READER_SYMBOLS_SYMBOLS_CACHE_H

/*
 * Stores results of symbol lookups on disk for the next run. Reading PyTorch's symbol tables and
 * lines costs more than all the rest of a small report. In the flow: files -> symbols -> results ->
 * cache.
 *
 * The folder is $XDG_CACHE_HOME/gpumemtrace/symbols, else ~/.cache/gpumemtrace/symbols. It has one
 * file for the results of a symbol file, or of a pair of files: functions and lines. The name holds
 * the build-id and a hash of the key. The key describes this program and the files it read, by size
 * and times. If any of them changes, the old results are not used.
 *
 * A new file is written under a temporary name and then renamed, so parallel readers never see half
 * a file. The least recently used files are deleted first. The folder and each file must belong to
 * the user alone. Otherwise, or if nothing can be written, the cache is silently off.
 *
 * For one thread.
 */

#include "reader/symbols/symbols_results.h"
#include "reader/symbols/symbols_elf.h"

struct gmt_symbols_cache;

/*
 * Opens the cache; creates nothing on disk yet. Returns NULL if there is no place for it, or when
 * out of memory.
 */
struct gmt_symbols_cache *gmt_symbols_cache_open(void);

/*
 * Returns the known results of `functions` and `lines`, to search and extend. `lines` may be the
 * same file, another file with the same build-id, or NULL. The cache owns the result until it is
 * closed. Returns NULL if results must not be stored: the files have no build-id, or refer to a
 * further file. `cache` may be NULL.
 */
struct gmt_symbols_results *gmt_symbols_cache_get(struct gmt_symbols_cache *cache,
	const struct gmt_symbols_elf *functions, const struct gmt_symbols_elf *lines);

/* Writes new results, and deletes old files if there are too many. `cache` may be NULL. */
void gmt_symbols_cache_close(struct gmt_symbols_cache *cache);

#endif
