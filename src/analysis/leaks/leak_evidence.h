/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_LEAKS_LEAK_EVIDENCE_H
#define GMT_ANALYSIS_LEAKS_LEAK_EVIDENCE_H

/*
 * What speaks for growth: what the sites of a group held at the ends of steps, what of that the program gave back later,
 * and how old the blocks are that are left. Part of analysis/leaks.
 */

#include "analysis/leaks/leak_groups.h"
#include "analysis/leaks/rise.h"

enum {
	GMT_LEAK_MIN_STEPS = 5, /* behind the warm-up; fewer say nothing */
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

/* Tensors that were joined behind the last step. */
struct gmt_leak_gather {
	uint32_t file; /* of the own line, as an id of traces' strings */
	uint64_t bytes;
};

/* What is known of a group in the series that is looked at; what is said of it stays from series to series. */
struct gmt_leak_group_state {
	enum gmt_category category; /* of its newest block at the end of the last step */
	uint64_t block_bytes;       /* the size of its blocks then; 0: they differ, or there are none */
	bool has_reason;            /* it is reported, or it rises for a reason, or it is judged elsewhere */
	bool is_looked_at;          /* in the account that no line explains */
	bool is_summed;             /* it is part of an unexplained growth that was found */
	bool is_noted;              /* in given_back or levels_off */
	size_t levels_off_plus_1;   /* where in levels_off; 0: not there */
};

/* The steepest part of a curve. */
struct gmt_leak_climb {
	size_t first, last; /* samples */
	uint64_t bytes;     /* by so much it rose between them */
};

/* What growth is looked for in: one series. */
struct gmt_leak_search {
	struct gmt_leak_maker *maker;
	struct gmt_leak_span span;
	enum gmt_history_moment horizon; /* what is given back before it, the program gave back itself */
	uint32_t only_site_plus_1;       /* of a group, only the blocks of this site are looked at; 0: all */
	uint64_t parameter_bytes;        /* at the end of the last step */
	bool parameters_grow;            /* a line that makes some was found to grow */
	GMT_VEC(struct gmt_leak_gather) gathers;
	bool has_gathers;
	GMT_VEC(struct gmt_leak_group_state) groups; /* by group */
	uint64_t pairs_left;             /* sites that may still be compared with groups that grow; a hostile file has too many */
	GMT_VEC(uint64_t) held, low;     /* by sample: what the sites held that were looked at last; the least */
};

/* A growth: of which sites, and how. */
struct gmt_leak_rising {
	struct gmt_leak_search *search;
	struct gmt_rise rise;
	bool replaced;        /* one block is replaced by the next; then all sites of the group count */
	bool of_survivors;    /* it is that of gmt_leak_rise_of_survivors */
	struct gmt_map sites; /* that hold more at the end of the rise */
};

/* Blocks of a group at the end of the last step. */
struct gmt_leak_ages {
	uint64_t all_bytes, inside_bytes; /* inside: made in steps of the series */
	size_t all_blocks, inside_blocks;
};

struct gmt_leak_span gmt_leak_span_of(const struct gmt_leak_maker *maker, uint32_t series);

bool gmt_leak_is_long_enough(const struct gmt_leak_span *span);

/*
 * Until when giving back counts: where most of what was there from the first steps on (a model) outlives the last
 * allocation, functions have returned there one by one, up to the end of the work. Else they all ended at once, which says
 * nothing: up to the last allocation.
 */
enum gmt_history_moment gmt_leak_horizon_of(const struct gmt_leak_maker *maker, const struct gmt_leak_span *span);

/* Whether a block of a group is looked at. */
static inline bool gmt_leak_is_looked_at(const struct gmt_leak_search *search, const struct gmt_history_block *block)
{
	return !search->only_site_plus_1 || block->site + 1 == search->only_site_plus_1;
}

/* What a group holds at the horizon; UINT64_MAX where the last step is the end. */
uint64_t gmt_leak_later_bytes(const struct gmt_leak_search *search, uint32_t group);

/*
 * Whether the program freed all of a rise behind its last allocation, and only then most of what it had made up to its
 * first step, such as the model. A function that kept it may have returned: the memory of one request. Or the program's
 * last function returned, and a list of its own went first. The recording does not tell which. Asked only where the steps
 * are told from loops and calls, which may all be of one request.
 */
bool gmt_leak_is_freed_first(const struct gmt_leak_rising *rising, uint32_t group);

/*
 * Whether what a group kept was joined to one tensor behind the last step, in the same file of the program, and dropped
 * before the end of the work: predictions or losses of one pass. Then it was gathered on purpose. Only blocks of the rise
 * count. False when out of memory.
 */
bool gmt_leak_is_gathered(const struct gmt_leak_rising *rising, uint32_t group, bool *ret_gathered);

/*
 * Whether the program has a reason to hold more from step to step, though what these sites of a group hold rises: `rising`
 * has the rise, and gets its sites. False when out of memory.
 */
bool gmt_leak_find_reason(struct gmt_leak_rising *rising, uint32_t group, const uint32_t *sites, size_t site_count,
	bool *ret_reason);

/*
 * Whether a group is gradients or optimizer state of parameters that are trained from a later step on: there are no more
 * of them than parameters, except for what an optimizer keeps several times. Where parameters grow too, they are found by
 * these.
 */
bool gmt_leak_is_of_parameters(const struct gmt_leak_search *search, uint32_t group);

/* Whether a block is of the rise; `context` is a gmt_leak_rising. See gmt_leak_fits. */
bool gmt_leak_is_of_rise(const void *context, const struct gmt_history_block *block);

/*
 * A curve in held and low: begins with zero, takes the sites one by one, and is judged. `later_bytes` as in gmt_rise_curve.
 * False when out of memory.
 */
bool gmt_leak_curve_begin(struct gmt_leak_search *search);
void gmt_leak_curve_add(struct gmt_leak_search *search, uint32_t site);
bool gmt_leak_curve_judge(const struct gmt_leak_search *search, uint64_t later_bytes, struct gmt_rise *ret_rise);

/* The most that the curve in held rises behind the warm-up. */
struct gmt_leak_climb gmt_leak_curve_climb(const struct gmt_leak_search *search);

/* The line of a group; its bytes are those that it rose by. */
struct gmt_leak_line gmt_leak_line_of(const struct gmt_leak_search *search, uint32_t group, const uint32_t *sites,
	size_t site_count, const struct gmt_leak_climb *climb);

/* How these sites of a group rise together. Fills held and low. False when out of memory. */
bool gmt_leak_rise_of(struct gmt_leak_search *search, uint32_t group, const uint32_t *sites, size_t site_count,
	struct gmt_rise *ret_rise);

/*
 * Likewise of what a group made until each sample and still holds at the horizon. What was given back does not hide it: so
 * a little that is kept shows among much that comes and goes. Only where most steps left something; a window would look
 * alike at its end.
 */
bool gmt_leak_rise_of_survivors(struct gmt_leak_search *search, uint32_t group, const uint32_t *sites, size_t site_count,
	struct gmt_rise *ret_rise);

struct gmt_leak_ages gmt_leak_ages_of(const struct gmt_leak_search *search, uint32_t group);

/* What a group holds at the end of the last step of what was made before the last rise, and before the last two steps. */
uint64_t gmt_leak_old_bytes(const struct gmt_leak_search *search, uint32_t group, const struct gmt_rise *rise);

/* What a group holds at the end of the last step of what was made before the last two steps. */
uint64_t gmt_leak_settled_bytes(const struct gmt_leak_search *search, uint32_t group);

/* The size of a group's blocks at the end of the last step; 0: they differ, or there are none. */
uint64_t gmt_leak_block_bytes(const struct gmt_leak_search *search, uint32_t group);

/* What a site held at a sample. */
uint64_t gmt_leak_held_by(const struct gmt_leak_search *search, uint32_t site, size_t sample);

/* Steps until the device is full, into the finding; the search is of its series. */
void gmt_leak_project(const struct gmt_leak_search *search, struct gmt_leak *leak);

/*
 * Definition unexplained, for one series, when all groups have been looked at. `sites` and `first_site` are the sites of
 * the groups, those of a group next to each other. False when out of memory.
 */
bool gmt_leak_find_unexplained(struct gmt_leak_search *search, const uint32_t *sites, const size_t *first_site);

/*
 * Takes out the findings of one series that only follow another one, and lists them there as its followers. A follower is a
 * block that is replaced by a larger one and that joins no tensors itself; it rises in proportion with a block that does.
 * Two buffers that are both appended to stay two findings. False when out of memory.
 */
bool gmt_leak_join_followers(struct gmt_leak_search *search, const uint32_t *sites, const size_t *first_site);

void gmt_leak_search_fini(struct gmt_leak_search *search);

#endif
