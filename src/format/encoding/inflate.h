/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_INFLATE_H
#define GMT_FORMAT_ENCODING_INFLATE_H

/*
 * A gzip member to bytes, and the checksum of those. In the flow: file -> inflate -> source. There are two ways: zlib, which
 * is linked in and always there, and Intel's ISA-L, which is faster, where the machine has it. They give the same of
 * a whole member, and all that is before the damage of a damaged one; before it says so, ISA-L may make some bytes more that
 * mean nothing, which a block's checksum finds. One thread for each state.
 */

#include <stddef.h>
#include <stdint.h>

#include "containers/arena.h"
#include "format/encoding/block.h"

/* What goes in and what comes out; moved on by what was taken and made. The memory is the caller's. */
struct gmt_inflate_bytes {
	const uint8_t *in;
	size_t in_bytes;
	uint8_t *out;
	size_t out_bytes;
};

enum gmt_inflate_answer {
	GMT_INFLATE_MORE,    /* `out` is full; or `in` is used up, and nothing comes without more of it */
	GMT_INFLATE_ENDED,   /* the member, and its checksum is right; `in` stands behind it */
	GMT_INFLATE_DAMAGED, /* all before it was made, for there is room left in `out`; the answer until the next member begins */
};

struct gmt_inflater {
	const char *name;
	/* A state in memory of the arena, which lives as long; NULL when out of memory. */
	void *(*open)(struct gmt_arena *memory);
	/* Before each member, the first too. */
	void (*begin)(void *state);
	enum gmt_inflate_answer (*run)(void *state, struct gmt_inflate_bytes *bytes);
	gmt_checksum_function *checksum;
};

extern const struct gmt_inflater gmt_inflater_zlib;

/* NULL where it was not built in, or this machine has no such library. Any thread. */
const struct gmt_inflater *gmt_inflater_isal(void);

#endif
