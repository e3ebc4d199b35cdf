/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_H
#define GMT_READER_SYMBOLS_SYMBOLS_H

/*
 * Native addresses to names. In the flow: snapshot (stacks, modules) -> symbols -> traces. A file is
 * used only when it is surely the one that was running: its build-id must be the recorded one. Files
 * are opened when the first of their addresses is asked for. One thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/load/snapshot.h"
#include "reader/symbols/symbols_pool.h"

struct gmt_symbols;
struct gmt_symbols_cache; /* reader/symbols/symbols_cache.h */

/* How it went with a module. */
enum gmt_symbols_state {
	GMT_SYMBOLS_UNUSED,       /* no address of it was asked for */
	GMT_SYMBOLS_FOUND,
	GMT_SYMBOLS_UNVERIFIED,   /* found, but it had no build-id to compare */
	GMT_SYMBOLS_NO_FILE,      /* not at its path, nor in a folder for symbols */
	GMT_SYMBOLS_OTHER_FILE,   /* at its path is a file with another build-id */
};

/* One frame; strings are good until the next call of gmt_symbols_find. */
struct gmt_symbols_frame {
	const char *function; /* mangled; NULL: not known */
	const char *file;     /* NULL: not known */
	uint32_t line;        /* 0: not known */
};

enum { GMT_SYMBOLS_MAX_FRAMES = 32 }; /* of one address: inlined functions */

struct gmt_symbols_answer {
	const struct gmt_module *module; /* NULL: the address lies in none */
	uint64_t file_address;           /* in the module's file; without one, the address itself */
	size_t count;                    /* at least 1 */
	struct gmt_symbols_frame frames[GMT_SYMBOLS_MAX_FRAMES]; /* innermost inlined function first */
};

/*
 * `snapshot`, `directories`, `pool` and `cache` (NULL: none) stay the caller's and must outlive the result. NULL: out
 * of memory.
 */
struct gmt_symbols *gmt_symbols_open(const struct gmt_snapshot *snapshot, const char *const *directories,
	size_t directory_count, struct gmt_symbols_pool *pool, struct gmt_symbols_cache *cache);

/*
 * Says that gmt_symbols_find will be asked for an address. Files are read with all of these in mind when the first is
 * asked for: others cost another reading.
 */
void gmt_symbols_expect(struct gmt_symbols *symbols, uint32_t generation, uint64_t address);

/* What is at return address `address` (so: at the call before it) of a stack of `generation`. */
void gmt_symbols_find(struct gmt_symbols *symbols, uint32_t generation, uint64_t address,
	struct gmt_symbols_answer *ret_answer);

/* Of module number `index` of the snapshot. Of modules with the same file, only the first one has a state. */
enum gmt_symbols_state gmt_symbols_state(const struct gmt_symbols *symbols, size_t index);

/* `symbols` may be NULL. */
void gmt_symbols_close(struct gmt_symbols *symbols);

#endif
