/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_HISTORY_STEPS_H
#define GMT_ANALYSIS_HISTORY_HISTORY_STEPS_H

/*
 * One series of steps while a replay goes along it: what accounts do in the step that is going on, and which sites
 * changed since the last sample. Part of analysis/history. One thread; false means out of memory.
 */

#include "analysis/history/history.h"

/* What an account does in the step that is going on. */
struct gmt_history_running {
	uint64_t peak_bytes;
};

/* A series while it is followed. */
struct gmt_history_follower {
	const struct gmt_step_series *steps;
	struct gmt_history_series *series;
	size_t cursor;  /* the step that is going on, or the next one */
	bool inside;    /* it has begun */
	GMT_VEC(struct gmt_history_running) accounts;
	GMT_VEC(uint32_t) touched;    /* sites that changed since the last sample */
	GMT_VEC(uint8_t) is_touched;  /* by site */
	GMT_VEC(uint64_t) lows;       /* by touched site: least that it held at the end of a step since then */
	bool has_end; /* a step has ended since the last sample */
	GMT_VEC(uint32_t) log_sites;  /* by row of series->samples, until they are sorted */
};

/* Makes rows for so many sites and accounts; those that are new are zero. */
bool gmt_history_make_room(struct gmt_history_follower *follower, size_t sites, size_t accounts);

/* For gmt_history_touch: the site's first change since the last sample. */
bool gmt_history_touch_first(struct gmt_history_follower *follower, uint32_t site, uint64_t before_bytes);

/* A site came to hold something else than `before_bytes`. */
static inline bool gmt_history_touch(struct gmt_history_follower *follower, uint32_t site, uint64_t before_bytes)
{
	return follower->is_touched.items[site] || gmt_history_touch_first(follower, site, before_bytes);
}

/* Goes on to the step in which `stamp` lies. */
bool gmt_history_follow(struct gmt_history_follower *follower, const struct gmt_accounting *accounting, uint64_t stamp);

/* Up to this stamp it has nothing to go on to. */
uint64_t gmt_history_next(const struct gmt_history_follower *follower);

/* Ends the step that is going on, or the next one. */
bool gmt_history_end_step(struct gmt_history_follower *follower, const struct gmt_accounting *accounting);

/* Steps of what was folded had the peaks that the fold says: events of most of their blocks are gone. */
void gmt_history_set_past_step(struct gmt_history_follower *follower, const struct gmt_accounting *accounting,
	const struct gmt_past_step *compacted);

/* Behind the last event: puts the samples of each site next to each other. `index` is the series' number in `history`. */
bool gmt_history_sort_samples(struct gmt_history_follower *follower, struct gmt_history *history, size_t index);

/* Gives back all but the series. */
void gmt_history_follower_fini(struct gmt_history_follower *follower);

#endif
