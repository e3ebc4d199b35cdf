/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_INFLATE_H
#define GMT_FORMAT_ENCODING_INFLATE_H

/*
 * Decompresses a gzip member and computes checksums. In the flow: file -> inflate -> source. One
 * thread per state.
 */

#include <stddef.h>
#include <stdint.h>

#include "containers/arena.h"

/*
 * Input and output. A call advances both by what it consumed and produced. The caller owns the
 * memory.
 */
struct gmt_inflate_bytes {
	const uint8_t *in;
	size_t in_bytes;
	uint8_t *out;
	size_t out_bytes;
};

enum gmt_inflate_answer {
	/* `out` is full, or `in` is used up and no output comes without more input */
	GMT_INFLATE_MORE,
	GMT_INFLATE_ENDED,   /* the member has ended with a correct checksum; `in` points after it */
	/*
	 * the member is damaged. All output before the damage was produced, because `out` has room
	 * left. Further calls return the same until gmt_inflate_begin.
	 */
	GMT_INFLATE_DAMAGED,
};

/* Returns a state in the arena's memory, valid as long as the arena; NULL when out of memory. */
void *gmt_inflate_open(struct gmt_arena *memory);

/* Call it before each member, including the first. */
void gmt_inflate_begin(void *state);

enum gmt_inflate_answer gmt_inflate_run(void *state, struct gmt_inflate_bytes *bytes);

/* Returns the CRC-32 of the data with checksum `crc` (0: no data) followed by these bytes. */
uint32_t gmt_checksum(uint32_t crc, const void *bytes, size_t size);

#endif
