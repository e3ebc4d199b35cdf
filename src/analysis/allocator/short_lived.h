/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_ALLOCATOR_SHORT_LIVED_H
#define GMT_ANALYSIS_ALLOCATOR_SHORT_LIVED_H

/*
 * Short-lived giants: single blocks that are large next to their account's peak and are freed again
 * almost at once, as a broadcast's intermediate result is: soon by the count of allocations, and soon next to how long
 * the recording is, so that what lives as long as the program does is none. In the flow: replay -> giants -> renderers.
 *
 * What is large is known at the end only. Until then all are kept that are large next to the peak so far, by site
 * and size. Where that is too many (a program with hardly a block at a time, all of different sizes), a second replay,
 * which knows the peaks, needs to tell none apart.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/intern.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"

enum {
	GMT_SHORT_LIVED_PERCENT = 10,     /* of the account's peak, at least */
	GMT_SHORT_LIVED_ALLOCATIONS = 16, /* in the account until it is freed, at most */
	GMT_SHORT_LIVED_LIFE_PERCENT = 10, /* of the recording's time, at most, on average over those of one site and size */
};

struct gmt_short_lived_row {
	uint32_t site;
	uint64_t count, bytes, largest_bytes;
	uint64_t at_peak_bytes; /* of those that lived when the account peaked */
};

/* One that lives. */
struct gmt_short_lived_block {
	uint64_t address, size_bytes, stamp, allocs;
	uint32_t account;
	uint8_t layer;
};

/* Those of one site and size that were large next to the peak when they ended. */
struct gmt_short_lived_size {
	uint32_t site;
	uint64_t size_bytes; /* of the largest one; when the peaks are known, of all sizes */
	uint64_t count, bytes;
	uint64_t life; /* of all, in the clock's ticks; stops at the largest number */
	uint64_t at_peak_bytes, at_peak_stamp; /* that lived when the account peaked, if that was its last peak */
};

struct gmt_short_lived {
	struct gmt_replay_observer observer; /* for the replay */
	const struct gmt_account *peaks; /* of the whole recording, by account; NULL: not known */
	size_t peak_count;
	bool are_too_many; /* the rows say nothing: the peaks must be known */
	uint64_t first_stamp, last_stamp; /* of the blocks' events; 0: none yet */
	size_t most_live;  /* of `live` until those are looked through that are large no longer */
	GMT_VEC(struct gmt_short_lived_block) live;
	GMT_VEC(struct gmt_short_lived_size) sizes;
	struct gmt_intern size_ids;       /* of site and size; ids are indices in sizes */
	GMT_VEC(struct gmt_short_lived_row) rows;   /* by site that has some, once finished; largest first */
};

/* `giants` is zeroed; `peaks` are the accounts at the end of a replay of the same events, or NULL. */
void gmt_short_lived_init(struct gmt_short_lived *short_lived, const struct gmt_account *peaks, size_t peak_count);
void gmt_short_lived_fini(struct gmt_short_lived *short_lived);

#endif
