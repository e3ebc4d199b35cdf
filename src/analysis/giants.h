/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_GIANTS_H
#define GMT_ANALYSIS_GIANTS_H

/*
 * Short-lived giants: single blocks that are large next to their account's peak and are freed again
 * almost at once, as a broadcast's intermediate result is. In the flow: replay -> giants -> renderers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/replay.h"

enum {
	GMT_GIANT_PERCENT = 10,     /* of the account's peak, at least */
	GMT_GIANT_ALLOCATIONS = 16, /* in the account until it is freed, at most */
};

struct gmt_giant {
	uint32_t site;
	uint64_t count, bytes, largest_bytes;
	uint64_t at_peak_bytes; /* of those that lived when the account peaked */
};

/* One that lives. */
struct gmt_giant_block {
	uint64_t address, stamp, allocs;
	uint8_t layer;
};

struct gmt_giants {
	struct gmt_replay_observer observer; /* for the replay */
	const struct gmt_books_account *peaks; /* of the whole recording, by account */
	size_t peak_count;
	GMT_VEC(struct gmt_giant_block) live;
	GMT_VEC(struct gmt_giant) rows;   /* by site that has some; largest first once finished */
};

/* `giants` is zeroed; `peaks` are the accounts at the end of a replay of the same events. */
void gmt_giants_init(struct gmt_giants *giants, const struct gmt_books_account *peaks, size_t peak_count);
void gmt_giants_fini(struct gmt_giants *giants);

#endif
