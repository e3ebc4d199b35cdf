/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_INFLATE_H
#define GMT_FORMAT_ENCODING_INFLATE_H

/*
 * Decompresses a gzip member and computes checksums. In the flow: file -> inflate -> source. There
 * are two implementations. zlib is linked in and always available. Intel's ISA-L is faster and is
 * used where the machine has it.
 *
 * Both produce the same bytes from a complete member, and the same bytes before the damage in a
 * damaged member. ISA-L may produce some more, meaningless bytes before it reports the damage. A
 * block's checksum detects them. One thread per state.
 */

#include <stddef.h>
#include <stdint.h>

#include "containers/arena.h"
#include "format/encoding/block.h"

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
	 * left. Further calls return the same until `begin`.
	 */
	GMT_INFLATE_DAMAGED,
};

struct gmt_inflater {
	const char *name;
	/*
	 * Returns a state in the arena's memory, valid as long as the arena; NULL when out of memory.
	 */
	void *(*open)(struct gmt_arena *memory);
	/* Call it before each member, including the first. */
	void (*begin)(void *state);
	enum gmt_inflate_answer (*run)(void *state, struct gmt_inflate_bytes *bytes);
	gmt_checksum_function *checksum;
};

extern const struct gmt_inflater gmt_inflater_zlib;

/*
 * Returns NULL if ISA-L was not built in, or if this machine has no such library. Any thread may
 * call it.
 */
const struct gmt_inflater *gmt_inflater_isal(void);

#endif
