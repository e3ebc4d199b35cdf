/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_PAGE_PAGE_CLOCK_H
#define GMT_ANALYSIS_PAGE_PAGE_CLOCK_H

/*
 * Divides a recording into intervals, before its replay. An interval ends after 1/B of the time or
 * 1/B of the events, whichever comes first. Intervals begin at whole nanoseconds: the events of an
 * interval are those at or after its beginning and before the beginning of the next interval.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/vec.h"
#include "reader/load/recording.h"

enum {
	GMT_PAGE_PARTS = 4096, /* parts of the time, and parts of the events */
	GMT_PAGE_FINE = 8, /* parts of an interval for the finer curve */
};

struct gmt_page_interval {
	uint64_t begin_ns;
	uint64_t begin_stamp; /* the first stamp at or after begin_ns */
	/* number of the first event in it; set during the replay; until then the number of events */
	uint64_t begin_event;
};

struct gmt_page_clock {
	GMT_VEC(struct gmt_page_interval) intervals; /* at least one */
	size_t current; /* index of the interval in which the replay is */
	uint64_t end_stamp; /* the last stamp of the replay */
	uint64_t end_ns;
	/* a stamp for gmt_replay_observer.next_needed_stamp: the one before the next interval */
	uint64_t next_needed_stamp;
	bool has_prefix; /* interval 0 is the compacted prefix */
};

/*
 * Makes the intervals of a replay until `until_ns`. `ret_clock` is zeroed. False when out of
 * memory.
 */
bool gmt_page_clock_init(struct gmt_page_clock *ret_clock, const struct gmt_recording *recording,
	uint64_t until_ns);

/* Moves to the interval of event number `index`, which has this stamp. */
void gmt_page_clock_reach(struct gmt_page_clock *clock, uint64_t stamp, uint64_t index);

/* Leaves out every second interval that the replay has not reached. */
void gmt_page_clock_halve_intervals(struct gmt_page_clock *clock);

/* Returns the stamp at which interval `index` ends: the first stamp after it. */
uint64_t gmt_page_clock_end(const struct gmt_page_clock *clock, size_t index);

void gmt_page_clock_fini(struct gmt_page_clock *clock);

/*
 * The beginnings of all intervals that a clock had at first. From them, the replay knows which
 * events the clock may need, while the worker thread changes the clock.
 */
struct gmt_page_bounds {
	GMT_VEC(uint64_t) stamps; /* of all intervals except the first */
	size_t next;
	uint64_t next_needed_stamp; /* for gmt_replay_observer.next_needed_stamp */
};

/* Copies the beginnings of a clock. `ret_bounds` is zeroed. False when out of memory. */
bool gmt_page_bounds_init(struct gmt_page_bounds *ret_bounds, const struct gmt_page_clock *clock);

/* Moves to the interval of an event with this stamp. */
void gmt_page_bounds_reach(struct gmt_page_bounds *bounds, uint64_t stamp);

void gmt_page_bounds_fini(struct gmt_page_bounds *bounds);

#endif
