/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_ANSWERS_H
#define GMT_READER_SYMBOLS_SYMBOLS_ANSWERS_H

/*
 * What was found at addresses of one file with symbols: kept as bytes from one run to the next, looked up, added to.
 * In the flow: symbols_cache (which keeps the bytes) -> answers -> symbols. Bytes may come from anybody: what is not
 * whole, or of another key, is no answer to anything. One thread.
 *
 *	header | addresses, in order | frames | texts, of which the first is the key
 *
 * All as this machine holds it in memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/intern.h"
#include "containers/map.h"
#include "containers/vec.h"
#include "reader/symbols/symbols.h"

enum { GMT_SYMBOLS_ANSWERS_MAX_BYTES = 16 << 20 }; /* with more, only those of the last run are kept */

/* As in the bytes. */
struct gmt_symbols_answers_address {
	uint64_t address;
	uint32_t first; /* of its frames */
	uint32_t count; /* 1 to GMT_SYMBOLS_MAX_FRAMES */
};

struct gmt_symbols_answers_frame {
	uint32_t function; /* where its text starts; 0: not known */
	uint32_t file;     /* likewise */
	uint32_t line;
};

/* Addresses with their frames. */
struct gmt_symbols_answers_table {
	const struct gmt_symbols_answers_address *addresses;
	const struct gmt_symbols_answers_frame *frames;
	const char *texts;
	uint32_t address_count, frame_count, text_bytes;
};

/* Zero-initialise to make one. */
struct gmt_symbols_answers {
	struct gmt_symbols_answers_table kept; /* from former runs, in order of addresses */
	/* Of this run. Texts are ids here: of `texts`, plus 1. */
	GMT_VEC(struct gmt_symbols_answers_address) addresses;
	GMT_VEC(struct gmt_symbols_answers_frame) frames;
	struct gmt_intern texts;
	struct gmt_map places; /* address to index in `addresses` */
};

/*
 * Takes what gmt_symbols_answers_make made for `key`, into an empty one; the bytes stay the caller's, and good until
 * gmt_symbols_answers_fini. They start at an address that is a multiple of 8. False, and nothing taken, when they are
 * not whole or not of this key.
 */
bool gmt_symbols_answers_take(struct gmt_symbols_answers *answers, const void *bytes, size_t size, const char *key);

/*
 * What was found at `address`: how many frames, which stand in ret_frames; 0 when nobody asked yet. Strings are good
 * until gmt_symbols_answers_fini.
 */
size_t gmt_symbols_answers_find(const struct gmt_symbols_answers *answers, uint64_t address,
	struct gmt_symbols_frame ret_frames[GMT_SYMBOLS_MAX_FRAMES]);

/* Adds what was found at an address that gmt_symbols_answers_find does not know. False when out of memory. */
bool gmt_symbols_answers_add(struct gmt_symbols_answers *answers, uint64_t address,
	const struct gmt_symbols_frame *frames, size_t count);

/* Whether anything was added. */
bool gmt_symbols_answers_is_new(const struct gmt_symbols_answers *answers);

typedef GMT_VEC(uint8_t) gmt_symbols_answers_bytes;

/*
 * All of it as bytes, for `key`; where that is more than GMT_SYMBOLS_ANSWERS_MAX_BYTES, only what was added. False when
 * that is too much as well, or memory is out. `ret_bytes` (zeroed) is to be ended with gmt_vec_fini in both cases.
 */
bool gmt_symbols_answers_make(const struct gmt_symbols_answers *answers, const char *key,
	gmt_symbols_answers_bytes *ret_bytes);

void gmt_symbols_answers_fini(struct gmt_symbols_answers *answers);

#endif
