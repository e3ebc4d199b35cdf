/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_HISTORY_STEPS_H
#define GMT_ANALYSIS_HISTORY_HISTORY_STEPS_H

/*
 * Follows one series of steps during a replay. It keeps the peak of each account in the current
 * step, and the sites that changed since the last sample. Part of analysis/history. One thread.
 * Functions of type bool return false when out of memory.
 */

#include "analysis/history/history.h"

/* State of an account in the current step. */
struct gmt_history_running {
	uint64_t peak_bytes;
};

/* Follows one series. */
struct gmt_history_follower {
	const struct gmt_step_series *steps;
	struct gmt_history_series *series;
	size_t cursor;  /* current step, or the next step if `inside` is false */
	bool inside;    /* the step at `cursor` has begun */
	GMT_VEC(struct gmt_history_running) accounts;
	GMT_VEC(uint32_t) touched;    /* sites that changed since the last sample */
	GMT_VEC(uint8_t) is_touched;  /* by site */
	/* by touched site: least bytes at the ends of steps since the last sample */
	GMT_VEC(uint64_t) lows;
	bool has_end; /* a step has ended since the last sample */
	/* by row of series->samples: its site; until the samples are sorted */
	GMT_VEC(uint32_t) sample_sites;
};

/* Makes rows for this many sites and accounts. New rows are zero. */
bool gmt_history_make_room(struct gmt_history_follower *follower, size_t sites, size_t accounts);

/* Records the first change of a site since the last sample. Called by gmt_history_touch. */
bool gmt_history_touch_first(struct gmt_history_follower *follower, uint32_t site,
	uint64_t before_bytes);

/* Records that a site now holds another number of bytes than `before_bytes`. */
static inline bool gmt_history_touch(struct gmt_history_follower *follower, uint32_t site,
	uint64_t before_bytes)
{
	return follower->is_touched.items[site] ||
		gmt_history_touch_first(follower, site, before_bytes);
}

/* Advances to the step that contains `stamp`. */
bool gmt_history_follow(struct gmt_history_follower *follower,
	const struct gmt_accounting *accounting, uint64_t stamp);

/* Returns the stamp at which the next step begins or the current step ends, or UINT64_MAX. */
uint64_t gmt_history_next_stamp(const struct gmt_history_follower *follower);

/* Ends the current step. If no step is current, begins and ends the next step. */
bool gmt_history_end_step(struct gmt_history_follower *follower,
	const struct gmt_accounting *accounting);

/*
 * Sets the peaks of a compacted step from the compacted prefix, because the events of most of its
 * blocks are gone.
 */
void gmt_history_set_compacted_step(struct gmt_history_follower *follower,
	const struct gmt_accounting *accounting, const struct gmt_past_step *compacted);

/*
 * Sorts the samples by site. Called after the last event. `index` is the number of the series in
 * `history`.
 */
bool gmt_history_sort_samples(struct gmt_history_follower *follower, struct gmt_history *history,
	size_t index);

/* Frees everything except the series. */
void gmt_history_follower_fini(struct gmt_history_follower *follower);

#endif
