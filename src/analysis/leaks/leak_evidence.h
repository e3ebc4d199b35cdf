/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_LEAKS_LEAK_EVIDENCE_H
#define GMT_ANALYSIS_LEAKS_LEAK_EVIDENCE_H

/*
 * The evidence for growth of a group. It has three parts: what the sites of the group held at the
 * ends of steps, what the program freed of it later, and how old the remaining blocks are. Part of
 * analysis/leaks.
 */

#include "analysis/leaks/leak_groups.h"
#include "analysis/leaks/rise.h"

enum {
	/* Least number of steps after the warm-up; with fewer steps, growth is not judged. */
	GMT_LEAK_MIN_STEPS = 5,
};

/* The steps of one series that a search judges. */
struct gmt_leak_span {
	uint32_t series;
	enum gmt_history_moment moment; /* the end of the last step of the series */
	size_t steps;   /* all steps of the series */
	size_t warmup;  /* steps at the start that are left out */
	/* Steps at the end that are left out: blocks that they made may still be in use. */
	size_t margin;
	size_t stride;  /* steps from one sample to the next */
	size_t samples;
	size_t first_sample; /* first sample after the warm-up */
};

/* An allocation that joins tensors (torch.cat) after the last step. */
struct gmt_leak_gather {
	uint32_t file; /* file of the stack's own line: id in the strings of gmt_traces */
	uint64_t bytes;
};

/*
 * The state of a group in the series that the search judges. The fields about the finding
 * (is_listed, is_summed, levels_off_plus_1) persist from series to series.
 */
struct gmt_leak_group_state {
	enum gmt_category category; /* category of the newest block at the end of the last step */
	/* Size of the blocks at that moment. 0: the sizes differ, or the group has no blocks. */
	uint64_t block_bytes;
	/* The group is reported, rises for a benign cause, or is judged in another series. */
	bool is_explained;
	/* The search for unexplained growth has judged the account of the group. */
	bool is_account_judged;
	bool is_summed; /* the group is part of an unexplained growth that was reported */
	bool is_listed; /* the group is listed in given_back or levels_off */
	size_t levels_off_plus_1; /* index in levels_off, + 1; 0: not in it */
};

/* The largest rise of a curve. */
struct gmt_leak_climb {
	size_t first, last; /* sample numbers: where the rise begins and ends */
	uint64_t bytes; /* size of the rise */
};

/* A search for growth in one series. */
struct gmt_leak_search {
	struct gmt_leak_builder *builder;
	struct gmt_leak_span span;
	/* If a rise is freed before this moment, the program freed it itself. */
	enum gmt_history_moment freed_by_moment;
	/* If set, the search uses only the blocks of this site of a group. 0: all sites. */
	uint32_t only_site_plus_1;
	uint64_t parameter_bytes; /* bytes of parameters at the end of the last step */
	bool parameters_grow; /* some line that makes parameters was found to grow */
	GMT_VEC(struct gmt_leak_gather) gathers;
	bool has_gathers;
	GMT_VEC(struct gmt_leak_group_state) groups; /* by group */
	/*
	 * Comparisons between sites and growing groups that are still allowed. A hostile file has too
	 * many sites.
	 */
	uint64_t pairs_left;
	/* By sample: bytes that the sites of the current curve held, and their minimum. */
	GMT_VEC(uint64_t) held, low;
};

/* A growth: its curve and its sites. */
struct gmt_leak_rising {
	struct gmt_leak_search *search;
	struct gmt_rise rise;
	/* A larger block replaces the previous block each time. Then all sites of the group count. */
	bool replaced;
	bool of_leftovers; /* gmt_leak_rise_of_leftovers found the rise. */
	struct gmt_map sites; /* sites that hold more at the end of the rise than at its beginning */
};

/* Sums over the blocks of a group that live at the end of the last step. */
struct gmt_leak_ages {
	uint64_t all_bytes, inside_bytes; /* `inside`: made in steps of the series. */
	size_t all_blocks, inside_blocks;
};

/* Returns the range of steps that a search in this series judges. */
struct gmt_leak_span gmt_leak_span_of(const struct gmt_leak_builder *builder, uint32_t series);

/* Returns whether the range has enough steps and samples for a verdict. */
bool gmt_leak_is_long_enough(const struct gmt_leak_span *span);

/*
 * Returns the moment up to which a free counts as done by the program itself. The blocks of the
 * first step, such as a model, decide. If at least half of their bytes outlive the work, functions
 * returned one by one. Then frees count up to the end of the work. Otherwise all blocks ended at
 * once, which proves nothing. Then frees count only up to the last allocation.
 */
enum gmt_history_moment gmt_leak_freed_by_moment_of(const struct gmt_leak_builder *builder,
	const struct gmt_leak_span *span);

static inline bool gmt_leak_uses_block(const struct gmt_leak_search *search,
	const struct gmt_history_block *block)
{
	return !search->only_site_plus_1 || block->site + 1 == search->only_site_plus_1;
}

/*
 * Returns the bytes that a group holds at the moment `freed_by_moment`. Returns UINT64_MAX if that
 * moment is not later than the last step.
 */
uint64_t gmt_leak_bytes_held_later(const struct gmt_leak_search *search, uint32_t group);

/*
 * Returns whether the program freed the whole rise after its last allocation, and only then freed
 * most of its early blocks. Early blocks, such as the model, were made up to the end of the first
 * step. There are two explanations. A function that kept the rise may have returned: then it was
 * the memory of one request. Or the last function of the program returned, and it freed its own
 * list first. The recording does not show which. Used only if steps are inferred from loops and
 * calls, because all of them may belong to one request.
 */
bool gmt_leak_is_freed_first(const struct gmt_leak_rising *rising, uint32_t group);

/*
 * Sets *ret_gathered if the program gathered the blocks of the rise on purpose. Then it joined them
 * to one tensor after the last step, and dropped them before the end of the work. An example is the
 * predictions or losses of one pass. The join must be in the same file of the program. Only blocks
 * of the rise count. False when out of memory.
 */
bool gmt_leak_is_gathered(const struct gmt_leak_rising *rising, uint32_t group, bool *ret_gathered);

/*
 * Sets *ret_benign if what these sites of a group hold rises for a known cause that is no leak
 * (leak_benign_growth.c). `rising` has the rise; the function adds its sites. False when out of
 * memory.
 */
bool gmt_leak_is_benign(struct gmt_leak_rising *rising, uint32_t group, const uint32_t *sites,
	size_t site_count, bool *ret_benign);

/*
 * Returns whether a group is gradients or optimizer state of parameters that are trained from a
 * later step on. The bytes of gradients are at most those of the parameters. The bytes of optimizer
 * state are at most a few times as many. False if parameters grow too: then the findings about the
 * parameters show it.
 */
bool gmt_leak_is_of_parameters(const struct gmt_leak_search *search, uint32_t group);

/*
 * Returns whether a block belongs to the rise. `context` is a gmt_leak_rising. See gmt_leak_filter.
 */
static inline bool gmt_leak_belongs_to_rise(const void *context,
	const struct gmt_history_block *block)
{
	const struct gmt_leak_rising *rising = context;
	uint64_t unused;

	return !rising->sites.count || gmt_map_find(&rising->sites, block->site, &unused);
}

/*
 * Build and judge a curve in `held` and `low`. `begin` sets the curve to zero, `add` adds one site,
 * `judge` judges the sum. `later_bytes` as in gmt_rise_curve. `begin` and `judge` return false when
 * out of memory.
 */
bool gmt_leak_curve_begin(struct gmt_leak_search *search);
void gmt_leak_curve_add(struct gmt_leak_search *search, uint32_t site);
bool gmt_leak_curve_judge(const struct gmt_leak_search *search, uint64_t later_bytes,
	struct gmt_rise *ret_rise);

/* Returns the largest rise of the curve in `held` after the warm-up. */
struct gmt_leak_climb gmt_leak_curve_climb(const struct gmt_leak_search *search);

/* Returns the line of a group. Its `bytes` are those by which it rose within `climb`. */
struct gmt_leak_line gmt_leak_line_of(const struct gmt_leak_search *search, uint32_t group,
	const uint32_t *sites, size_t site_count, const struct gmt_leak_climb *climb);

/*
 * Judges how these sites of a group rise together. Fills `held` and `low`. False when out of
 * memory.
 */
bool gmt_leak_judge_rise(struct gmt_leak_search *search, uint32_t group, const uint32_t *sites,
	size_t site_count, struct gmt_rise *ret_rise);

/*
 * Same as above, for blocks of a group that still live at the moment `freed_by_moment`, by the step
 * that made them. Blocks that were freed do not hide this rise, so it shows the few blocks that are
 * kept among many short-lived ones. Reports a rise only if most steps left something. Otherwise the
 * end of a sliding window would look the same.
 */
bool gmt_leak_rise_of_leftovers(struct gmt_leak_search *search, uint32_t group,
	const uint32_t *sites, size_t site_count, struct gmt_rise *ret_rise);

/* Returns the sums over a group's blocks that live at the end of the last step. */
struct gmt_leak_ages gmt_leak_ages_of(const struct gmt_leak_search *search, uint32_t group);

/*
 * Returns the bytes that a group holds at the end of the last step in old blocks. A block is old if
 * it was made before the last rise and before the last two steps.
 */
uint64_t gmt_leak_old_bytes(const struct gmt_leak_search *search, uint32_t group,
	const struct gmt_rise *rise);

/*
 * Returns the bytes that a group holds at the end of the last step in blocks made before the last
 * two steps.
 */
uint64_t gmt_leak_settled_bytes(const struct gmt_leak_search *search, uint32_t group);

/*
 * Returns the size of a group's blocks at the end of the last step. 0: the sizes differ, or there
 * are no blocks.
 */
uint64_t gmt_leak_block_bytes(const struct gmt_leak_search *search, uint32_t group);

uint64_t gmt_leak_held_by(const struct gmt_leak_search *search, uint32_t site, size_t sample);

/*
 * Writes into the finding how many steps remain until the device is full. The search must be for
 * the finding's series.
 */
void gmt_leak_set_steps_to_oom(const struct gmt_leak_search *search, struct gmt_leak *leak);

/*
 * Finds growth by definition `unexplained` in one series, after all groups were judged. `sites`
 * holds the sites of all groups, sorted by group; `first_site` holds the index of the first site of
 * each group. False when out of memory.
 */
bool gmt_leak_find_unexplained(struct gmt_leak_search *search, const uint32_t *sites,
	const size_t *first_site);

/*
 * Removes findings of one series that only follow another finding, and adds them to the followers
 * of that finding. A follower is a block that is replaced by a larger block and does not join
 * tensors itself. It rises in proportion with a block that joins tensors. Two buffers that the
 * program appends to remain two findings. False when out of memory.
 */
bool gmt_leak_join_followers(struct gmt_leak_search *search, const uint32_t *sites,
	const size_t *first_site);

void gmt_leak_search_fini(struct gmt_leak_search *search);

#endif
