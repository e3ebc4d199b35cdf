/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_LEAK_EVIDENCE_H
#define GMT_ANALYSIS_LEAK_EVIDENCE_H

/*
 * What speaks for growth: which steps the blocks are from that are left at the end of the last one, and what
 * a group held all the time. Part of analysis/leaks.
 */

#include "analysis/leak_groups.h"

enum {
	GMT_LEAK_MIN_STEPS = 5, /* behind the warm-up; fewer say nothing */
	GMT_LEAK_WINDOWS = 8,   /* the steps are looked at in so many stretches */
};

/* Steps of one series as they are looked at. */
struct gmt_leak_span {
	uint32_t series;
	enum gmt_history_moment moment; /* the end of its last step */
	size_t steps;   /* in all */
	size_t warmup;  /* that are left out at the start */
	size_t margin;  /* and at the end: what they made may be in use */
	size_t stride;  /* steps from sample to sample */
	size_t samples;
	size_t first_sample; /* the first one behind the warm-up */
};

/* What one group left. */
struct gmt_leak_left {
	GMT_VEC(uint64_t) curve;   /* at the samples: made until then and still there */
	GMT_VEC(uint64_t) live;    /* likewise: what the group held ... */
	GMT_VEC(uint64_t) low;     /* ... and the least that it held since the sample before */
	bool is_filled[GMT_LEAK_WINDOWS];   /* stretches that left something */
	uint32_t first_step;       /* that left something */
	size_t tail;               /* steps at the end, nearly all of which left something */
	uint64_t inside_bytes;     /* made in steps */
	uint64_t all_bytes;
	size_t inside_blocks, all_blocks;
};

/*
 * What a growth is looked for in: one series, and the stacks whose blocks are left in it. Others turn over:
 * in the last quarter as much of what they had kept ended as was left.
 */
struct gmt_leak_search {
	struct gmt_leak_maker *maker;
	struct gmt_leak_span span;
	struct gmt_leak_left left;
	GMT_VEC(uint64_t) new_bytes; /* by site: left from the last quarter */
};

struct gmt_leak_stretches {
	size_t count, filled;
	bool last_filled; /* one of the last two */
};

struct gmt_leak_span gmt_leak_span_of(const struct gmt_leak_maker *maker, uint32_t series);

bool gmt_leak_is_long_enough(const struct gmt_leak_span *span);

/* Once for each series: which stacks turn over. False when out of memory. */
bool gmt_leak_find_new_bytes(struct gmt_leak_search *search);

bool gmt_leak_turns_over(const struct gmt_leak_search *search, uint32_t site);

/* Fills search->left, but for live and low, for a group. False when out of memory. */
bool gmt_leak_look_at_blocks(struct gmt_leak_search *search, uint32_t group);

/* Adds what a site held at the samples to live and low. */
void gmt_leak_add_live(struct gmt_leak_search *search, uint32_t site);

/* The stretches behind the warm-up; how many of them left something. */
struct gmt_leak_stretches gmt_leak_fill_of(const struct gmt_leak_search *search);

/*
 * Whether the least that was held in each stretch lies above the one before: one block that grows. What
 * is made anew in each step, however large, is not held all the time.
 */
bool gmt_leak_rises_all_the_time(const struct gmt_leak_search *search);

void gmt_leak_search_fini(struct gmt_leak_search *search);

#endif
