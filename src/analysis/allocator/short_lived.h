/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_ALLOCATOR_SHORT_LIVED_H
#define GMT_ANALYSIS_ALLOCATOR_SHORT_LIVED_H

/*
 * Short-lived allocations: single blocks that are large compared with their account's peak and are
 * freed almost at once, such as the intermediate result of a broadcast. Few other allocations
 * happen before the free. Their lifetime is short compared with the recording, which excludes
 * blocks that live as long as the program. In the flow: replay -> short-lived allocations ->
 * renderers.
 *
 * Whether a block is large depends on the account's final peak, which is known only at the end. So
 * the first replay collects all blocks that are large compared with the peak so far, by site and
 * size. If there are too many pairs of site and size (a program with few blocks at a time, all of
 * different sizes), a second replay runs. It knows the final peaks, so one row per site is enough.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/intern.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"

enum {
	GMT_SHORT_LIVED_PERCENT = 10,     /* minimum size, in percent of the account's peak */
	/* maximum number of allocations in the account until the free */
	GMT_SHORT_LIVED_ALLOCATIONS = 16,
	/* maximum average lifetime of one site and size, in percent of the recording's time */
	GMT_SHORT_LIVED_LIFE_PERCENT = 10,
};

struct gmt_short_lived_row {
	uint32_t site;
	uint64_t count, bytes, largest_bytes;
	uint64_t at_peak_bytes; /* bytes of the blocks that were live at the account's peak */
};

/* A large block that is live. */
struct gmt_short_lived_block {
	uint64_t address, size_bytes, stamp;
	uint64_t allocs; /* the account's alloc_count when the block began */
	uint32_t account;
	uint8_t layer;
};

/* The blocks of one site and size that were large compared with the peak when they ended. */
struct gmt_short_lived_size {
	uint32_t site;
	/* of the largest block; if the peaks are known, a row holds all sizes of the site */
	uint64_t size_bytes;
	uint64_t count, bytes;
	uint64_t life_ticks; /* sum of the lifetimes; saturates at UINT64_MAX */
	/*
	 * Bytes of the blocks that were live at the account's peak with stamp at_peak_stamp. Valid only
	 * if the account had no higher peak later.
	 */
	uint64_t at_peak_bytes, at_peak_stamp;
};

struct gmt_short_lived {
	struct gmt_replay_observer observer; /* for the replay */
	/* accounts at the end of the recording, by id; NULL in the first replay */
	const struct gmt_account *peaks;
	size_t peak_count;
	bool are_too_many; /* too many sizes: no rows, a second replay with known peaks is needed */
	uint64_t first_stamp,
		last_stamp; /* of the first and last event of any block; 0: no event yet */
	/* limit for `live`; when it is reached, blocks that are no longer large are removed */
	size_t max_live;
	GMT_VEC(struct gmt_short_lived_block) live;
	GMT_VEC(struct gmt_short_lived_size) sizes;
	struct gmt_intern size_ids; /* key: site and size; ids are indices in sizes */
	/* one row per site with short-lived allocations, once finished; largest first */
	GMT_VEC(struct gmt_short_lived_row) rows;
};

/*
 * Prepares `short_lived`, which is zeroed. `peaks` are the accounts at the end of a replay of the
 * same events, or NULL.
 */
void gmt_short_lived_init(struct gmt_short_lived *short_lived, const struct gmt_account *peaks,
	size_t peak_count);
void gmt_short_lived_fini(struct gmt_short_lived *short_lived);

#endif
