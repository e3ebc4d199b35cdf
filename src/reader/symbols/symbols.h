/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_H
#define GMT_READER_SYMBOLS_SYMBOLS_H

/*
 * Resolves native addresses to names. In the flow: recording (stacks, modules) -> symbols ->
 * traces. A file is used only if its build-id equals the recorded build-id. So it is the file that
 * the program ran. Exception: neither has a build-id (GMT_SYMBOLS_UNVERIFIED). Files are opened on
 * the first query for one of their addresses.
 *
 * For one thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "reader/load/recording.h"

struct gmt_symbols;
struct gmt_symbols_cache; /* reader/symbols/symbols_cache.h */

/* The result of the search for a module's file. */
enum gmt_symbols_state {
	GMT_SYMBOLS_UNUSED,       /* no query for any of its addresses */
	GMT_SYMBOLS_FOUND,
	GMT_SYMBOLS_UNVERIFIED,   /* found, but the recording has no build-id to compare */
	GMT_SYMBOLS_NO_FILE,      /* neither at its path nor in a symbol folder */
	GMT_SYMBOLS_OTHER_FILE,   /* the file at its path has another build-id */
};

/* One frame. Strings are valid until the next call of gmt_symbols_find. */
struct gmt_symbols_frame {
	const char *function; /* mangled; NULL: unknown */
	const char *file;     /* NULL: unknown */
	uint32_t line;        /* 0: unknown */
};

enum { GMT_SYMBOLS_MAX_FRAMES = 32 }; /* for one address, including inlined functions */

struct gmt_symbols_result {
	const struct gmt_module *module; /* NULL: no module contains the address */
	/* in the module's file; without a module, the address itself */
	uint64_t file_address;
	size_t count;                    /* at least 1 */
	struct gmt_symbols_frame frames[GMT_SYMBOLS_MAX_FRAMES]; /* innermost inlined function first */
};

/*
 * Opens the symbols of a recording. `cache` may be NULL. All arguments are borrowed and
 * must outlive the result. Returns NULL when out of memory.
 */
struct gmt_symbols *gmt_symbols_open(const struct gmt_recording *recording,
	const char *const *directories, size_t directory_count, struct gmt_symbols_cache *cache);

/*
 * Announces a query of gmt_symbols_find for an address. The first query reads the files for all
 * announced addresses at once. An address that was not announced costs another read.
 */
void gmt_symbols_expect(struct gmt_symbols *symbols, uint32_t generation, uint64_t address);

/*
 * Resolves the return address `address` of a stack of `generation`, that is, the call instruction
 * before it.
 */
void gmt_symbols_find(struct gmt_symbols *symbols, uint32_t generation, uint64_t address,
	struct gmt_symbols_result *ret_result);

/*
 * Returns the state of module number `index` of the recording. Of modules with the same file, only
 * the first has a state.
 */
enum gmt_symbols_state gmt_symbols_state(const struct gmt_symbols *symbols, size_t index);

/* Closes the symbols. `symbols` may be NULL. */
void gmt_symbols_close(struct gmt_symbols *symbols);

#endif
