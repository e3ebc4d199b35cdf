/* SPDX-License-Identifier: MIT */
/* Why a program may hold more from step to step without leaking. */
#include "analysis/leaks/leak_evidence.h"
#include "reader/stacks/frame_kinds.h"

enum {
	OPTIMIZER_TENSORS = 3, /* of a parameter's size, that an optimizer keeps for each: Adam with amsgrad has three */
};

bool gmt_leak_is_of_rise(const void *context, const struct gmt_history_block *block)
{
	const struct gmt_leak_rising *rising = context;
	uint64_t unused;

	return !rising->sites.count || gmt_map_find(&rising->sites, block->site, &unused);
}

/* Sites that held more at the end of the rise than at its beginning. */
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
 * One block that grows: what comes from joining tensors, from a buffer that doubles, or from the driver. In the call of a
 * module that is how caches of generated text work; and a model that takes the place of another one may be larger.
 */
static bool may_be_replaced(const struct gmt_leak_rising *rising, uint32_t group)
{
	const struct gmt_leak_group *row = &rising->search->maker->groups.items[group];
	bool is_of_module = row->frame_kinds & GMT_FRAME_KIND_BIT(MODULE_CALL);
	bool may_be_text = is_of_module &&
		gmt_steps_are_told(rising->search->maker->timeline->series[rising->search->span.series].source);
	bool is_joined = row->frame_kinds & GMT_FRAME_KIND_BIT(CAT) && !may_be_text;

	/* It doubled a while ago, and is no batch that was made larger. */
	bool is_doubled = rising->rise.is_geometric && !is_of_module &&
		gmt_leak_settled_bytes(rising->search, group) >= rising->rise.bytes / 2;

	return !row->is_torch || ((is_joined || is_doubled) &&
		rising->search->groups.items[group].category != GMT_CATEGORY_PARAMETERS);
}

bool gmt_leak_is_of_parameters(const struct gmt_leak_search *search, uint32_t group)
{
	enum gmt_category category = search->groups.items[group].category;
	uint64_t times = category == GMT_CATEGORY_OPTIMIZER ? OPTIMIZER_TENSORS :
		category == GMT_CATEGORY_GRADIENTS || category == GMT_CATEGORY_TEMPORARIES;

	return times && !search->parameters_grow &&
		gmt_leak_ages_of(search, group).all_bytes <= times * search->parameter_bytes;
}

/* Few rises of what the program made in phases that it marked: definition phase says more of them. */
static bool is_of_phases(const struct gmt_leak_rising *rising, uint32_t group)
{
	const struct gmt_leak_maker *maker = rising->search->maker;
	size_t count, inside = 0;
	const struct gmt_history_block *blocks = gmt_leak_blocks(maker, rising->search->span.moment, group, &count);

	if (!rising->rise.are_few || !gmt_leak_is_judged(maker, group, GMT_LEAK_PHASE))
		return false;
	for (size_t i = 0; i < count; i++)
		inside += gmt_timeline_phase(maker->timeline, blocks[i].stamp, true) != NULL;
	return inside == count;
}

/*
 * Whether another line came to hold as much less in blocks of that size, or another stack of the line: a pool whose places
 * are filled by one, and from then on by another one.
 */
static bool has_moved(const struct gmt_leak_rising *rising, uint32_t group)
{
	struct gmt_leak_search *search = rising->search;
	const struct gmt_leak_maker *maker = search->maker;
	const struct gmt_leak_group *row = &maker->groups.items[group];
	const struct gmt_rise *rise = &rising->rise;
	uint64_t size_bytes = search->groups.items[group].block_bytes, fallen = 0;

	for (uint32_t site = 0; site < maker->history->sites.count && search->pairs_left; site++) {
		uint32_t other_plus_1 = maker->group_of.items[site];
		const struct gmt_leak_group *other = other_plus_1 ? &maker->groups.items[other_plus_1 - 1] : NULL;
		uint64_t before, after;

		if (!other || (other_plus_1 == group + 1 ? !search->only_site_plus_1 || site + 1 == search->only_site_plus_1 :
			!size_bytes || other->layer != row->layer || other->device != row->device ||
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
 * Calls of modules outside of the program's steps count themselves: where each call leaves something, because a cache did
 * not have it yet, it looks like growth, however seldom it comes to a call. So what grows from call to call must not fill
 * up from step to step.
 */
static bool fills_by_steps(const struct gmt_leak_search *search, uint32_t group, const uint32_t *sites, size_t site_count,
	bool *ret_fills)
{
	struct gmt_leak_search main = { .maker = search->maker, .only_site_plus_1 = search->only_site_plus_1 };
	struct gmt_rise rise = { 0 };
	bool done = true;

	if (search->span.series) {
		main.span = gmt_leak_span_of(search->maker, 0);
		main.horizon = search->horizon;
		done = !gmt_leak_is_long_enough(&main.span) || gmt_leak_rise_of(&main, group, sites, site_count, &rise);
	}
	*ret_fills = rise.kind == GMT_RISE_FILLS;
	gmt_leak_search_fini(&main);
	return done;
}

/* Whether the program has a reason to hold more from step to step, though what these sites of a group hold grows. */
bool gmt_leak_find_reason(struct gmt_leak_rising *rising, uint32_t group, const uint32_t *sites, size_t site_count,
	bool *ret_reason)
{
	struct gmt_leak_search *search = rising->search;

	if (!rising->replaced && !find_rising(rising, sites, site_count))
		return false;
	*ret_reason = (rising->replaced && !may_be_replaced(rising, group)) ||
		gmt_leak_is_of_parameters(search, group) ||
		is_of_phases(rising, group) || has_moved(rising, group);
	return *ret_reason || (gmt_leak_is_gathered(rising, group, ret_reason) &&
		(*ret_reason || fills_by_steps(search, group, sites, site_count, ret_reason)));
}

