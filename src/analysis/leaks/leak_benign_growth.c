/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a rise is benign: the program may hold more from step to step without a leak, for
 * example because it gathers results, or because another line holds less.
 */
#include "analysis/leaks/leak_evidence.h"

enum {
	/*
	 * Most tensors of a parameter's size that an optimizer keeps for each parameter: Adam with
	 * amsgrad keeps three.
	 */
	OPTIMIZER_TENSORS = 3,
};

/* Adds to rising->sites the sites that held more at the end of the rise than at its beginning. */
static bool find_rising(struct gmt_leak_rising *rising, const uint32_t *sites, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (gmt_leak_held_by(rising->search, sites[i], rising->rise.last) >
				gmt_leak_held_by(rising->search, sites[i], rising->rise.first) &&
			!gmt_map_put(&rising->sites, sites[i], 0))
			return false;
	return true;
}

/*
 * Returns whether one growing block may be a leak: its memory comes from joining tensors, from a
 * doubling buffer, or from the driver. Within the call of a module this is normal: caches of
 * generated text grow the same way. A model that replaces another model may also be larger.
 */
static bool may_be_replaced(const struct gmt_leak_rising *rising, uint32_t group)
{
	const struct gmt_leak_group *row = &rising->search->builder->groups.items[group];
	bool is_of_module = row->frame_kinds & GMT_FRAME_KIND_BIT(MODULE_CALL);
	bool may_be_text = is_of_module &&
		gmt_steps_are_inferred(
			rising->search->builder->timeline->series[rising->search->span.series].source);
	bool is_joined = row->frame_kinds & GMT_FRAME_KIND_BIT(CAT) && !may_be_text;

	/* The buffer doubled before the last two steps, so it is not a batch that became larger. */
	bool is_doubled = rising->rise.is_geometric && !is_of_module &&
		gmt_leak_settled_bytes(rising->search, group) >= rising->rise.bytes / 2;

	return !row->is_torch ||
		((is_joined || is_doubled) &&
			rising->search->groups.items[group].category != GMT_CATEGORY_PARAMETERS);
}

bool gmt_leak_is_of_parameters(const struct gmt_leak_search *search, uint32_t group)
{
	enum gmt_category category = search->groups.items[group].category;
	uint64_t times = category == GMT_CATEGORY_OPTIMIZER
		? OPTIMIZER_TENSORS
		: category == GMT_CATEGORY_GRADIENTS || category == GMT_CATEGORY_TEMPORARIES;

	return times && !search->parameters_grow &&
		gmt_leak_ages_of(search, group).all_bytes <= times * search->parameter_bytes;
}

/*
 * Returns whether the rise consists of few blocks that the program made in phases that it marked.
 * Definition phase describes these better.
 */
static bool is_of_phases(const struct gmt_leak_rising *rising, uint32_t group)
{
	const struct gmt_leak_builder *builder = rising->search->builder;
	size_t count, inside = 0;
	const struct gmt_history_block *blocks =
		gmt_leak_blocks(builder, rising->search->span.moment, group, &count);

	if (!rising->rise.are_few || !gmt_leak_is_judged(builder, group, GMT_LEAK_PHASE))
		return false;
	for (size_t i = 0; i < count; i++)
		inside += gmt_timeline_phase(builder->timeline, blocks[i].stamp, true) != NULL;
	return inside == count;
}

/*
 * Returns whether another line, or another stack of this line, lost about as many bytes in blocks
 * of the same size. In an example, one line replaced the blocks
 * of a set until then, and another line replaces them from then on.
 */
static bool has_moved(const struct gmt_leak_rising *rising, uint32_t group)
{
	struct gmt_leak_search *search = rising->search;
	const struct gmt_leak_builder *builder = search->builder;
	const struct gmt_leak_group *row = &builder->groups.items[group];
	const struct gmt_rise *rise = &rising->rise;
	uint64_t size_bytes = search->groups.items[group].block_bytes, fallen = 0;

	for (uint32_t site = 0; site < builder->history->sites.count && search->pairs_left; site++) {
		uint32_t other_plus_1 = builder->group_plus_1_of.items[site];
		const struct gmt_leak_group *other =
			other_plus_1 ? &builder->groups.items[other_plus_1 - 1] : NULL;
		uint64_t before, after;

		if (!other ||
			(other_plus_1 == group + 1
					? !search->only_site_plus_1 || site + 1 == search->only_site_plus_1
					: !size_bytes || other->layer != row->layer || other->device != row->device ||
						search->groups.items[other_plus_1 - 1].block_bytes != size_bytes))
			continue;
		search->pairs_left--;
		before = gmt_leak_held_by(search, site, rise->first);
		after = gmt_leak_held_by(search, site, rise->last);
		fallen += before > after ? before - after : 0;
	}
	return fallen >= rise->bytes - rise->bytes / 4;
}

/*
 * Sets *ret_fills if the rise in the second series fills up when it is judged by the program's
 * steps. The second series counts calls of modules outside of these steps. If each call adds an
 * entry to a cache, memory grows from call to call, even if calls are rare. Therefore growth in the
 * second series must not fill up from step to step.
 */
static bool fills_by_steps(const struct gmt_leak_search *search, uint32_t group,
	const uint32_t *sites, size_t site_count, bool *ret_fills)
{
	struct gmt_leak_search main = { .builder = search->builder,
		.only_site_plus_1 = search->only_site_plus_1 };
	struct gmt_rise rise = { 0 };
	bool done = true;

	if (search->span.series) {
		main.span = gmt_leak_span_of(search->builder, 0);
		main.freed_by_moment = search->freed_by_moment;
		done = !gmt_leak_is_long_enough(&main.span) ||
			gmt_leak_judge_rise(&main, group, sites, site_count, &rise);
	}
	*ret_fills = rise.kind == GMT_RISE_FILLS;
	gmt_leak_search_fini(&main);
	return done;
}

bool gmt_leak_is_benign(struct gmt_leak_rising *rising, uint32_t group, const uint32_t *sites,
	size_t site_count, bool *ret_benign)
{
	struct gmt_leak_search *search = rising->search;

	if (!rising->replaced && !find_rising(rising, sites, site_count))
		return false;
	*ret_benign = (rising->replaced && !may_be_replaced(rising, group)) ||
		gmt_leak_is_of_parameters(search, group) || is_of_phases(rising, group) ||
		has_moved(rising, group);
	return *ret_benign ||
		(gmt_leak_is_gathered(rising, group, ret_benign) &&
			(*ret_benign || fills_by_steps(search, group, sites, site_count, ret_benign)));
}
