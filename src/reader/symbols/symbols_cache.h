/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_CACHE_H
#define GMT_READER_SYMBOLS_SYMBOLS_CACHE_H

/*
 * What was found in files with symbols, kept on disk for the next run: reading PyTorch's symbol tables and lines
 * costs more than all the rest of a small report. In the flow: files -> symbols -> answers -> cache.
 *
 * One file in $XDG_CACHE_HOME/gpumemtrace/symbols (else ~/.cache/...) for what was found in a file with symbols, or in
 * two: functions and lines. It is named after the build-id and a number of its key, and the key says which reader
 * looked, and into which files, by size and times: whatever of them changes, the old answers are no answers. Written
 * beside and renamed, so readers that run at once never see a half. What was not used for longest goes first. The folder
 * must be the user's alone, and so must each file; else, and where nothing can be written, there is no cache and nobody
 * is told. One thread.
 */

#include "reader/symbols/symbols_answers.h"
#include "reader/symbols/symbols_elf.h"

struct gmt_symbols_cache;

/* NULL where there is no place for one, or no memory. Nothing is made on disk yet. */
struct gmt_symbols_cache *gmt_symbols_cache_open(void);

/*
 * What is known of `functions` and `lines` (the same file, another one of the same build-id, or NULL), to be asked and
 * added to. The cache's, until it is closed. NULL where nothing may be kept of them: without a build-id, or when they
 * refer to a further file. `cache` may be NULL.
 */
struct gmt_symbols_answers *gmt_symbols_cache_get(struct gmt_symbols_cache *cache, const struct gmt_elf *functions,
	const struct gmt_elf *lines);

/* Writes what is new, and makes room where there is too much. `cache` may be NULL. */
void gmt_symbols_cache_close(struct gmt_symbols_cache *cache);

#endif
