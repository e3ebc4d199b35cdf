/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_RESULTS_H
#define GMT_READER_SYMBOLS_SYMBOLS_RESULTS_H

/*
 * Results of symbol lookups in one file. They are stored as bytes between runs, searched, and
 * extended. In the flow: symbols_cache (which stores the bytes) -> results -> symbols. The bytes
 * are not trusted: incomplete bytes, and bytes of another key, give no results.
 *
 *	header | addresses, in order | frames | texts; the first text is the key
 *
 * All numbers are in this machine's representation.
 *
 * For one thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/intern.h"
#include "containers/map.h"
#include "containers/vec.h"
#include "reader/symbols/symbols.h"

/* beyond this size, only the results of this run are stored */
enum { GMT_SYMBOLS_RESULTS_MAX_BYTES = 16 << 20 };

/* As in the bytes. */
struct gmt_symbols_results_address {
	uint64_t address;
	uint32_t first; /* index of its first frame */
	uint32_t count; /* 1 to GMT_SYMBOLS_MAX_FRAMES */
};

struct gmt_symbols_results_frame {
	uint32_t function; /* offset of its text; 0: unknown */
	uint32_t file;     /* offset of its text; 0: unknown */
	uint32_t line;
};

/* Addresses with their frames. */
struct gmt_symbols_results_table {
	const struct gmt_symbols_results_address *addresses;
	const struct gmt_symbols_results_frame *frames;
	const char *texts;
	uint32_t address_count, frame_count, text_bytes;
};

/* Initialize with zeros. */
struct gmt_symbols_results {
	struct gmt_symbols_results_table earlier; /* from earlier runs, in order of addresses */
	/* Added in this run. Here a text is its id in `texts` plus 1. */
	GMT_VEC(struct gmt_symbols_results_address) addresses;
	GMT_VEC(struct gmt_symbols_results_frame) frames;
	struct gmt_intern texts;
	struct gmt_map places; /* from address to index in `addresses` */
};

/*
 * Loads bytes that gmt_symbols_results_encode made for `key`. `results` must be empty. `bytes` must
 * be aligned to 8, is borrowed, and must stay valid until gmt_symbols_results_fini. Returns false,
 * and loads nothing, if the bytes are incomplete or of another key.
 */
bool gmt_symbols_results_load(struct gmt_symbols_results *results, const void *bytes, size_t size,
	const char *key);

/*
 * Finds the result for `address`: fills ret_frames and returns the number of frames. Returns 0 if
 * the address has no result yet. Strings are valid until gmt_symbols_results_fini.
 */
size_t gmt_symbols_results_find(const struct gmt_symbols_results *results, uint64_t address,
	struct gmt_symbols_frame ret_frames[GMT_SYMBOLS_MAX_FRAMES]);

/*
 * Adds the result for an address that has no result yet. Returns false when
 * out of memory.
 */
bool gmt_symbols_results_add(struct gmt_symbols_results *results, uint64_t address,
	const struct gmt_symbols_frame *frames, size_t count);

/* Returns whether results were added in this run. */
bool gmt_symbols_results_is_new(const struct gmt_symbols_results *results);

typedef GMT_VEC(uint8_t) gmt_symbols_results_bytes;

/*
 * Makes the bytes of all results, for `key`. If they exceed GMT_SYMBOLS_RESULTS_MAX_BYTES, uses
 * only the results added in this run. Returns false if these are too many as well, or when out of
 * memory. The caller frees `ret_bytes` (zeroed) with gmt_vec_fini in both cases.
 */
bool gmt_symbols_results_encode(const struct gmt_symbols_results *results, const char *key,
	gmt_symbols_results_bytes *ret_bytes);

void gmt_symbols_results_fini(struct gmt_symbols_results *results);

#endif
