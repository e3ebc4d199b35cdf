/* SPDX-License-Identifier: MIT */
/*
 * Definition growth: a line holds more and more at the ends of steps, and never frees it (rise.h).
 * Frees after the last step count too. If the program frees the rise while it still works, the line
 * does not grow.
 */
#include "analysis/leaks/leak_evidence.h"

enum {
	ATTRIBUTION = 16, /* maximum number of ranges of steps that a finding lists */
	/* `steady` means that at least three quarters of the steps left more. */
	STEADY = 3,
	STEADY_OF = 4,
	SURE_GAPS = 2, /* so many gaps between blocks suffice to estimate how long a gap may be */
	MAX_PAIRS = 2000000,
	MAX_SITES = 64, /* maximum number of sites of a line that are judged one by one */
};

static bool list_attribution(const struct gmt_leak_builder *builder,
	const struct gmt_leak_span *span, uint32_t group, struct gmt_leak_rising *rising,
	struct gmt_leak *leak)
{
	const struct gmt_step_series *series = &builder->timeline->series[span->series];
	size_t count, stretches = span->steps < ATTRIBUTION ? span->steps : ATTRIBUTION;
	const struct gmt_history_block *blocks = gmt_leak_blocks(builder, span->moment, group, &count);
	uint32_t step;

	if (!gmt_vec_reserve(&leak->attribution, stretches))
		return false;
	leak->attribution.count = stretches;
	for (size_t b = 0; b < stretches; b++)
		leak->attribution.items[b] = (struct gmt_leak_attribution){
			.first_step = (uint32_t)(span->steps * b / stretches),
			.last_step = (uint32_t)(span->steps * (b + 1) / stretches - 1),
		};
	for (size_t i = 0; i < count; i++) {
		size_t b;

		if (!gmt_leak_belongs_to_rise(rising, &blocks[i]) ||
			!gmt_series_find(series, blocks[i].stamp, &step) || step >= span->steps)
			continue;
		for (b = step * stretches / span->steps; leak->attribution.items[b].last_step < step; b++)
			;
		leak->attribution.items[b].bytes += blocks[i].size_bytes;
		leak->attribution.items[b].blocks++;
	}
	return true;
}

/*
 * Returns the first step that left something. Goes from the newest block of the rise back to older
 * blocks. Stops at a gap that is much longer than the gaps seen so far: the line may have left
 * something else long before.
 */
static uint32_t first_step_of(const struct gmt_leak_rising *rising, uint32_t group)
{
	const struct gmt_leak_search *search = rising->search;
	const struct gmt_leak_span *span = &search->span;
	const struct gmt_step_series *series = &search->builder->timeline->series[span->series];
	const struct gmt_rise *rise = &rising->rise;
	bool is_late = rise->first > span->first_sample && !rise->is_geometric;
	uint32_t first_of_curve = (uint32_t)((is_late ? rise->first + 1 : rise->onset) * span->stride);
	uint32_t first = UINT32_MAX, step, longest = 0, gaps = 0;
	size_t count;
	const struct gmt_history_block *blocks =
		gmt_leak_blocks(search->builder, span->moment, group, &count);

	for (size_t i = count; i-- > 0;) {
		if (!gmt_leak_belongs_to_rise(rising, &blocks[i]) ||
			!gmt_series_find(series, blocks[i].stamp, &step) || step >= first)
			continue;
		if (first != UINT32_MAX) {
			if (gaps >= SURE_GAPS && first - step > 2 * longest)
				break;
			longest = first - step > longest ? first - step : longest;
			gaps++;
		}
		first = step;
	}
	/* If older blocks are replaced or freed, only the curve shows the first step. */
	return first < first_of_curve || (is_late && gaps >= SURE_GAPS) ? first : first_of_curve;
}

static enum gmt_leak_reason reason_of(const struct gmt_leak_rising *rising, uint32_t group)
{
	const struct gmt_rise *rise = &rising->rise;

	if (rising->replaced)
		return GMT_LEAK_REASON_REPLACED;
	if (!rise->are_few && gmt_leak_is_freed_first(rising, group))
		return GMT_LEAK_REASON_FREED_FIRST;
	if (rising->of_leftovers)
		return GMT_LEAK_REASON_LEFTOVERS;
	if (rise->are_few)
		return GMT_LEAK_REASON_FEW;
	return rise->rises * STEADY_OF >= (rise->last - rise->first) * STEADY
		? GMT_LEAK_REASON_STEADY
		: GMT_LEAK_REASON_FREQUENT;
}

static bool report(struct gmt_leak_rising *rising, uint32_t group)
{
	struct gmt_leak_search *search = rising->search;
	struct gmt_leak_builder *builder = search->builder;
	const struct gmt_leak_span *span = &search->span;
	struct gmt_leak *leak = NULL;
	size_t count;
	const struct gmt_history_block *blocks = gmt_leak_blocks(builder, span->moment, group, &count);

	if (!gmt_leak_add(builder, group, GMT_LEAK_GROWTH, blocks, count, gmt_leak_belongs_to_rise,
			rising, &leak))
		return false;
	if (!leak)
		return true;
	leak->bytes_per_step = rising->rise.per_sample / (double)span->stride;
	leak->reason = reason_of(rising, group);
	leak->confidence = gmt_leak_reason_confidence(leak->reason);
	leak->replaced = rising->replaced;
	leak->series = span->series;
	leak->first_step = first_step_of(rising, group);
	leak->steps = (uint32_t)(span->steps - span->warmup);
	gmt_leak_set_steps_to_oom(search, leak);
	search->groups.items[group].is_explained = true;
	return list_attribution(builder, span, group, rising, leak);
}

/*
 * Returns whether the series of the search counts for a group. The series of evaluation counts if
 * at least nine tenths of the blocks and of the bytes were made in it.
 */
static bool belongs_to(const struct gmt_leak_span *span, const struct gmt_leak_ages *ages)
{
	return !span->series ||
		(ages->inside_bytes >= ages->all_bytes - ages->all_bytes / 10 &&
			ages->inside_blocks * 10 >= ages->all_blocks * 9);
}

/* Adds a line that rises but does not grow to its list, once. */
static bool list_line(struct gmt_leak_search *search, uint32_t group, const uint32_t *sites,
	size_t site_count, enum gmt_rise_kind kind)
{
	struct gmt_leaks *leaks = search->builder->leaks;
	struct gmt_leak_climb climb = gmt_leak_curve_climb(search);
	struct gmt_leak_line *line;

	if (search->groups.items[group].is_listed || !climb.bytes)
		return true;
	line =
		kind == GMT_RISE_ENDS ? gmt_vec_push(&leaks->given_back) : gmt_vec_push(&leaks->levels_off);
	if (line)
		*line = gmt_leak_line_of(search, group, sites, site_count, &climb);
	search->groups.items[group].is_listed = true;
	search->groups.items[group].levels_off_plus_1 =
		kind == GMT_RISE_FILLS ? leaks->levels_off.count : 0;
	return line;
}

/*
 * Judges whether these sites of a group grow together. With search->only_site_plus_1, judges that
 * site alone.
 */
static bool judge_sites(struct gmt_leak_rising *rising, uint32_t group, const uint32_t *sites,
	size_t site_count, bool *ret_grows)
{
	struct gmt_leak_search *search = rising->search;
	struct gmt_leak_ages ages = gmt_leak_ages_of(search, group);
	struct gmt_leak_group_state *state = &search->groups.items[group];
	bool is_alone = search->only_site_plus_1, is_benign;

	*ret_grows = false;
	if (!ages.all_blocks)
		return true;
	if (!belongs_to(&search->span, &ages)) {
		state->is_explained |= !is_alone;
		return true;
	}
	if (!gmt_leak_judge_rise(search, group, sites, site_count, &rising->rise))
		return false;
	if (!is_alone && (rising->rise.kind == GMT_RISE_ENDS || rising->rise.kind == GMT_RISE_FILLS)) {
		/* Few uneven rises explain nothing: they may be part of a growth of many lines. */
		state->is_explained = rising->rise.kind == GMT_RISE_ENDS || !rising->rise.are_few;
		return list_line(search, group, sites, site_count, rising->rise.kind);
	}
	rising->of_leftovers = rising->rise.kind == GMT_RISE_NONE && !is_alone;
	if (rising->of_leftovers &&
		!gmt_leak_rise_of_leftovers(search, group, sites, site_count, &rising->rise))
		return false;
	if (rising->rise.kind != GMT_RISE_GROWS)
		return true;
	/*
	 * Blocks of the last two steps are in use, however large they are: sequences may be longer, or
	 * batches larger.
	 */
	rising->replaced = gmt_leak_old_bytes(search, group, &rising->rise) < rising->rise.bytes / 2;
	if (!gmt_leak_is_benign(rising, group, sites, site_count, &is_benign))
		return false;
	*ret_grows = !is_benign;
	state->is_explained |= is_benign && !is_alone;
	return true;
}

/*
 * Judges each stack of a line alone. The sum can hide a stack that grows if other stacks of the
 * line hold more and less from step to step.
 */
static bool judge_each_site(struct gmt_leak_search *search, uint32_t group, const uint32_t *sites,
	size_t site_count)
{
	struct gmt_leak_rising found = { .search = search };
	bool done = true;

	for (size_t i = 0; done && i < site_count && i < MAX_SITES; i++) {
		struct gmt_leak_rising alone = { .search = search };
		bool grows;

		search->only_site_plus_1 = sites[i] + 1;
		done = judge_sites(&alone, group, &sites[i], 1, &grows);
		gmt_map_fini(&alone.sites);
		if (!done || !grows || alone.replaced)
			continue;
		done = gmt_map_put(&found.sites, sites[i], 0);
		alone.rise.per_sample += found.rise.per_sample;
		if (found.rise.bytes > alone.rise.bytes)
			found.rise.per_sample = alone.rise.per_sample;
		else
			found.rise = alone.rise;
	}
	search->only_site_plus_1 = 0;
	done = done && (!found.sites.count || report(&found, group));
	gmt_map_fini(&found.sites);
	return done;
}

static bool judge_group(struct gmt_leak_search *search, uint32_t group, const uint32_t *sites,
	size_t site_count)
{
	struct gmt_leak_rising rising = { .search = search };
	bool grows, done;

	done = judge_sites(&rising, group, sites, site_count, &grows);
	if (done && grows) {
		search->parameters_grow |= search->groups.items[group].category == GMT_CATEGORY_PARAMETERS;
		done = report(&rising, group);
	} else if (done && rising.rise.kind == GMT_RISE_NONE && site_count > 1) {
		done = judge_each_site(search, group, sites, site_count);
	}
	gmt_map_fini(&rising.sites);
	return done;
}

/* Returns the category of the group's newest block. */
static enum gmt_category category_of(const struct gmt_leak_search *search, uint32_t group)
{
	const struct gmt_leak_builder *builder = search->builder;
	size_t count;
	const struct gmt_history_block *blocks =
		gmt_leak_blocks(builder, search->span.moment, group, &count);

	return count && builder->groups.items[group].is_torch
		? gmt_category_of(builder->replay, builder->traces, builder->history,
			  blocks[count - 1].site)
		: GMT_CATEGORY_OTHER;
}

/* Initializes the states of the groups, and sums the parameters, at the end of the last step. */
static void begin_series(struct gmt_leak_search *search)
{
	search->pairs_left = MAX_PAIRS;
	search->parameters_grow = false;
	search->parameter_bytes = 0;
	for (uint32_t group = 0; group < search->builder->groups.count; group++) {
		struct gmt_leak_group_state *state = &search->groups.items[group];

		state->category = category_of(search, group);
		state->block_bytes = gmt_leak_block_bytes(search, group);
		state->is_explained = search->builder->is_reported.items[group];
		state->is_account_judged = false;
		if (state->category == GMT_CATEGORY_PARAMETERS)
			search->parameter_bytes += gmt_leak_ages_of(search, group).all_bytes;
	}
}

static bool is_wanted(const struct gmt_leak_search *search, uint32_t group)
{
	size_t count;

	gmt_leak_blocks(search->builder, search->span.moment, group, &count);
	return count && !search->builder->is_reported.items[group] &&
		gmt_leak_is_judged(search->builder, group, GMT_LEAK_GROWTH);
}

/* Parameters come first: the verdict on their gradients depends on whether they grow. */
static bool judge_series(struct gmt_leak_search *search, const uint32_t *sites,
	const size_t *first_site)
{
	begin_series(search);
	for (int others = 0; others < 2; others++)
		for (uint32_t group = 0; group < search->builder->groups.count; group++)
			if (is_wanted(search, group) &&
				(search->groups.items[group].category != GMT_CATEGORY_PARAMETERS) == others &&
				!judge_group(search, group, sites + first_site[group],
					first_site[group + 1] - first_site[group]))
				return false;
	return gmt_leak_join_followers(search, sites, first_site) &&
		gmt_leak_find_unexplained(search, sites, first_site);
}

bool gmt_leak_find_growth(struct gmt_leak_builder *builder)
{
	struct gmt_leak_search search = { .builder = builder };
	GMT_VEC(uint32_t) sites = { 0 };
	GMT_VEC(size_t) first = { 0 };
	size_t site_count = builder->history->sites.count, groups = builder->groups.count;
	bool done = gmt_vec_reserve(&sites, site_count + 1) && gmt_vec_reserve(&first, groups + 2) &&
		gmt_vec_reserve(&search.groups, groups + 1);
	const char *no_events = NULL, *why;
	bool any = false;

	/* Sorts the sites by group, the same way as sort_capture in leak_groups.c. */
	for (size_t i = 0; done && i < site_count; i++)
		first.items[builder->group_plus_1_of.items[i] + 1] +=
			builder->group_plus_1_of.items[i] != 0;
	for (size_t g = 1; done && g < groups + 2; g++)
		first.items[g] += first.items[g - 1];
	for (size_t i = 0; done && i < site_count; i++)
		if (builder->group_plus_1_of.items[i])
			sites.items[first.items[builder->group_plus_1_of.items[i]]++] = (uint32_t)i;

	/* Evaluation comes first: its growth is its own, even if it is visible in other steps. */
	for (uint32_t s = (uint32_t)builder->timeline->series_count; done && s-- > 0;) {
		search.span = gmt_leak_span_of(builder, s);
		/* If the past is missing, the number of steps is unknown too. */
		if (!gmt_leak_is_long_enough(&search.span) &&
			!builder->history->series[s].lacks_compacted_samples)
			continue;
		why = gmt_leak_why_growth_not_judged(builder, s);
		any = !why || (any && s);
		if (why) {
			no_events = why;
			continue;
		}
		search.freed_by_moment = gmt_leak_freed_by_moment_of(builder, &search.span);
		search.gathers.count = 0;
		search.has_gathers = false;
		done = judge_series(&search, sites.items, first.items);
	}
	if (!builder->timeline->series_count)
		builder->leaks->why_growth_not_judged = builder->timeline->why_no_steps;
	builder->leaks->is_compacted_away = !any && (no_events || builder->timeline->may_be_compacted);
	if (!any && builder->timeline->series_count)
		builder->leaks->why_growth_not_judged =
			no_events ? no_events : "there are too few steps after the warm-up";
	gmt_leak_search_fini(&search);
	gmt_vec_fini(&sites);
	gmt_vec_fini(&first);
	return done;
}
