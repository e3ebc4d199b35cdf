/* SPDX-License-Identifier: MIT */
/*
 * Definition growth. The evidence is the curve of what a line holds at the ends of steps: what it never gives back (rise.h). Steps after
 * the last one count too: what the program gave back while it still worked is the growth of a phase, and none of the program.
 */
#include "analysis/leak_evidence.h"
#include "model/landmarks.h"

enum {
	BIRTHS = 16, /* stretches that a finding lists */
	SURE_GAPS = 2, /* between blocks, that say how long others may be */
	MOST_PAIRS = 2000000,
	MOST_SITES = 64, /* of a line, that are looked at alone */
	OPTIMIZER_TENSORS = 3, /* of a parameter's size, that an optimizer keeps for each: Adam with amsgrad has three */
};

void gmt_leak_project(const struct gmt_leak_search *search, struct gmt_leak *leak)
{
	const struct gmt_leak_maker *maker = search->maker;
	const struct gmt_history_capture *capture = &maker->history->captures[search->span.moment];
	const struct gmt_device *device = leak->device >= 0 ?
		gmt_snapshot_device(maker->snapshot, (uint32_t)leak->device) : NULL;
	uint64_t held = 0, cached = 0;
	double steps;

	/* What is free on the device is not free in a heap. */
	if (!device || leak->bytes_per_step <= 0 || leak->layer == GMT_LAYER_CUSTOM)
		return;
	for (size_t i = 0; i < capture->accounts.count; i++) {
		const struct gmt_books_account *account = &capture->accounts.items[i];

		if (account->device != leak->device)
			continue;
		if (account->layer == GMT_LAYER_CUDA)
			held = account->live_bytes;
		else if (account->told_reserved_bytes > account->told_allocated_bytes)
			cached = account->told_reserved_bytes - account->told_allocated_bytes;
	}
	if (held > device->total_bytes)
		return;
	steps = ((double)(device->total_bytes - held) + (double)cached) / leak->bytes_per_step;
	if (steps < 1e18) /* more than a number of the JSON, and never */
		leak->steps_to_oom = (uint64_t)steps;
}

/* A growth: of which sites, and how. All sites count where one block is replaced by the next. */
struct rising {
	struct gmt_leak_search *search;
	struct gmt_rise rise;
	bool replaced;
	struct gmt_map sites;
};

static bool is_of_rise(const struct rising *rising, const struct gmt_history_block *block)
{
	uint64_t unused;

	return !rising->sites.count || gmt_map_find(&rising->sites, block->site, &unused);
}

static bool is_rising(void *context, const struct gmt_history_block *block)
{
	return is_of_rise(context, block);
}

/* Sites that held more at the end of the rise than at its beginning. */
static bool find_rising(struct rising *rising, const uint32_t *sites, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (gmt_leak_held_by(rising->search, sites[i], rising->rise.last) >
				gmt_leak_held_by(rising->search, sites[i], rising->rise.first) &&
			!gmt_map_put(&rising->sites, sites[i], 0))
			return false;
	return true;
}

static bool list_births(const struct gmt_leak_maker *maker, const struct gmt_leak_span *span, uint32_t group,
	struct rising *rising, struct gmt_leak *leak)
{
	const struct gmt_step_series *series = &maker->timeline->series[span->series];
	size_t count, stretches = span->steps < BIRTHS ? span->steps : BIRTHS;
	const struct gmt_history_block *blocks = gmt_leak_blocks(maker, span->moment, group, &count);
	uint32_t step;

	if (!gmt_vec_reserve(&leak->births, stretches))
		return false;
	leak->births.count = stretches;
	for (size_t b = 0; b < stretches; b++)
		leak->births.items[b] = (struct gmt_leak_birth){
			.first_step = (uint32_t)(span->steps * b / stretches),
			.last_step = (uint32_t)(span->steps * (b + 1) / stretches - 1),
		};
	for (size_t i = 0; i < count; i++) {
		size_t b;

		if (!is_rising(rising, &blocks[i]) || !gmt_series_find(series, blocks[i].stamp, &step) ||
			step >= span->steps)
			continue;
		for (b = step * stretches / span->steps; leak->births.items[b].last_step < step; b++)
			;
		leak->births.items[b].bytes += blocks[i].size_bytes;
		leak->births.items[b].blocks++;
	}
	return true;
}

/*
 * The first step that left something: from the newest block of the rise back to older ones, as long as none came much longer after the one
 * before it than others did. A line may have left something else long before.
 */
static uint32_t first_step_of(const struct rising *rising, uint32_t group)
{
	const struct gmt_leak_search *search = rising->search;
	const struct gmt_leak_span *span = &search->span;
	const struct gmt_step_series *series = &search->maker->timeline->series[span->series];
	const struct gmt_rise *rise = &rising->rise;
	bool is_late = rise->first > span->first_sample && !rise->is_geometric;
	uint32_t first = UINT32_MAX, curve = (uint32_t)((is_late ? rise->first + 1 : rise->onset) * span->stride), step, longest = 0, gaps = 0;
	size_t count;
	const struct gmt_history_block *blocks = gmt_leak_blocks(search->maker, span->moment, group, &count);

	for (size_t i = count; i-- > 0;) {
		if (!is_of_rise(rising, &blocks[i]) || !gmt_series_find(series, blocks[i].stamp, &step) || step >= first)
			continue;
		if (first != UINT32_MAX) {
			if (gaps >= SURE_GAPS && first - step > 2 * longest)
				break;
			longest = first - step > longest ? first - step : longest;
			gaps++;
		}
		first = step;
	}
	/* Where older blocks are replaced or given away, the curve alone tells. */
	return first < curve || (is_late && gaps >= SURE_GAPS) ? first : curve;
}

static bool report(struct rising *rising, uint32_t group)
{
	struct gmt_leak_search *search = rising->search;
	struct gmt_leak_maker *maker = search->maker;
	const struct gmt_leak_span *span = &search->span;
	struct gmt_leak *leak = NULL;
	size_t count;
	const struct gmt_history_block *blocks = gmt_leak_blocks(maker, span->moment, group, &count);

	if (!gmt_leak_add(maker, group, GMT_LEAK_GROWTH, blocks, count, is_rising, rising, &leak))
		return false;
	if (!leak)
		return true;
	leak->bytes_per_step = rising->rise.per_sample / (double)span->stride;
	leak->confidence = rising->rise.confidence;
	search->groups.items[group].has_reason = true;
	leak->replaced = rising->replaced;
	leak->series = span->series;
	leak->first_step = first_step_of(rising, group);
	leak->steps = (uint32_t)(span->steps - span->warmup);
	gmt_leak_project(search, leak);
	return list_births(maker, span, group, rising, leak);
}

/* By its first site with blocks. */
static enum gmt_category category_of(const struct gmt_leak_search *search, uint32_t group)
{
	const struct gmt_leak_maker *maker = search->maker;
	size_t count;
	const struct gmt_history_block *blocks = gmt_leak_blocks(maker, search->span.moment, group, &count);

	return count && maker->groups.items[group].is_torch ?
		gmt_category_of(maker->replay, maker->traces, maker->history, blocks[count - 1].site) : GMT_CATEGORY_OTHER;
}

/*
 * One block that grows: what comes from joining tensors, from a buffer that doubles, or from the driver. In the call of a module
 * that is how caches of generated text work; and a model that takes the place of another one may be larger.
 */
static bool may_be_replaced(const struct rising *rising, uint32_t group)
{
	const struct gmt_leak_group *row = &rising->search->maker->groups.items[group];
	bool is_of_module = row->landmarks & GMT_LANDMARK_BIT(MODULE_CALL);
	bool may_be_text = is_of_module &&
		rising->search->maker->timeline->series[rising->search->span.series].source == GMT_STEPS_FORWARD;
	bool is_joined = row->landmarks & GMT_LANDMARK_BIT(CAT) && !may_be_text;

	/* It doubled a while ago, and is no batch that was made larger. */
	bool is_doubled = rising->rise.is_geometric && !is_of_module &&
		gmt_leak_settled_bytes(rising->search, group) >= rising->rise.bytes / 2;

	return !row->is_torch || ((is_joined || is_doubled) &&
		category_of(rising->search, group) != GMT_CATEGORY_PARAMETERS);
}

bool gmt_leak_is_of_parameters(const struct gmt_leak_search *search, uint32_t group)
{
	enum gmt_category category = category_of(search, group);
	uint64_t times = category == GMT_CATEGORY_OPTIMIZER ? OPTIMIZER_TENSORS : category == GMT_CATEGORY_GRADIENTS;

	return times && !search->parameters_grow &&
		gmt_leak_ages_of(search, group).all_bytes <= times * search->parameter_bytes;
}

/* Evaluation's own counter is the one for what is made in it: nine tenths or more, of blocks and of bytes. */
static bool belongs_to(const struct gmt_leak_span *span, const struct gmt_leak_ages *ages)
{
	return !span->series || (ages->inside_bytes >= ages->all_bytes - ages->all_bytes / 10 &&
		ages->inside_blocks * 10 >= ages->all_blocks * 9);
}

/* Few rises of what the program made in phases that it marked: definition phase says more of them. */
static bool is_of_phases(const struct rising *rising, uint32_t group)
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
 * Whether another line came to hold as much less in blocks of that size, or another stack of the line: a pool whose places are filled by one,
 * and from then on by another one.
 */
static bool has_moved(const struct rising *rising, uint32_t group)
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

/* Notes a line that rises and does not grow, once. */
static bool note_line(struct gmt_leak_search *search, uint32_t group, const uint32_t *sites, size_t site_count,
	enum gmt_rise_kind kind)
{
	struct gmt_leaks *leaks = search->maker->leaks;
	struct gmt_leak_climb climb = gmt_leak_curve_climb(search);
	struct gmt_leak_line *line;

	if (search->groups.items[group].is_noted || !climb.bytes)
		return true;
	line = kind == GMT_RISE_ENDS ? gmt_vec_push(&leaks->given_back) : gmt_vec_push(&leaks->levels_off);
	if (line)
		*line = gmt_leak_line_of(search, group, sites, site_count, &climb);
	search->groups.items[group].is_noted = true;
	search->groups.items[group].levels_off_plus_1 = kind == GMT_RISE_FILLS ? leaks->levels_off.count : 0;
	return line;
}

/*
 * Calls of modules outside of the program's steps count themselves: where each call leaves something, because a cache did not have it yet,
 * it looks like growth, however seldom it comes to a call. So what grows from call to call must not fill up from step to step.
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
static bool find_reason(struct rising *rising, uint32_t group, const uint32_t *sites, size_t site_count, bool *ret_reason)
{
	struct gmt_leak_search *search = rising->search;

	if (!rising->replaced && !find_rising(rising, sites, site_count))
		return false;
	*ret_reason = (rising->replaced && !may_be_replaced(rising, group)) ||
		gmt_leak_is_of_parameters(search, group) ||
		is_of_phases(rising, group) || has_moved(rising, group);
	return *ret_reason || (gmt_leak_is_gathered(search, group, is_rising, rising, ret_reason) &&
		(*ret_reason || fills_by_steps(search, group, sites, site_count, ret_reason)));
}

/* Whether these sites of a group grow, or one of them alone (search->only_site_plus_1). */
static bool judge_sites(struct rising *rising, uint32_t group, const uint32_t *sites, size_t site_count, bool *ret_grows)
{
	struct gmt_leak_search *search = rising->search;
	struct gmt_leak_ages ages = gmt_leak_ages_of(search, group);
	struct gmt_leak_account_state *state = &search->groups.items[group];
	bool is_alone = search->only_site_plus_1, has_reason;

	*ret_grows = false;
	if (!ages.all_blocks)
		return true;
	if (!belongs_to(&search->span, &ages)) {
		state->has_reason |= !is_alone;
		return true;
	}
	if (!gmt_leak_rise_of(search, group, sites, site_count, &rising->rise))
		return false;
	if (!is_alone && (rising->rise.kind == GMT_RISE_ENDS || rising->rise.kind == GMT_RISE_FILLS)) {
		/* A few rises that are not even: they may be part of what many lines leave. */
		state->has_reason = rising->rise.kind == GMT_RISE_ENDS || !rising->rise.are_few;
		return note_line(search, group, sites, site_count, rising->rise.kind);
	}
	if (rising->rise.kind == GMT_RISE_NONE && !is_alone && 
		!gmt_leak_rise_of_survivors(search, group, sites, site_count, &rising->rise))
		return false;
	if (rising->rise.kind != GMT_RISE_GROWS)
		return true;
	/* What was made in the last two steps is in use, however much it is: longer sequences, larger batches. */
	rising->replaced = gmt_leak_old_bytes(search, group, &rising->rise) < rising->rise.bytes / 2;
	if (!find_reason(rising, group, sites, site_count, &has_reason))
		return false;
	*ret_grows = !has_reason;
	state->has_reason |= has_reason && !is_alone;
	return true;
}

/* A line whose stacks hold more and less from step to step, beside one that grows: each is looked at alone. */
static bool look_at_sites(struct gmt_leak_search *search, uint32_t group, const uint32_t *sites, size_t site_count)
{
	struct rising found = { .search = search };
	bool done = true;

	for (size_t i = 0; done && i < site_count && i < MOST_SITES; i++) {
		struct rising one = { .search = search };
		bool grows;

		search->only_site_plus_1 = sites[i] + 1;
		done = judge_sites(&one, group, &sites[i], 1, &grows);
		gmt_map_fini(&one.sites);
		if (!done || !grows || one.replaced)
			continue;
		done = gmt_map_put(&found.sites, sites[i], 0);
		one.rise.per_sample += found.rise.per_sample;
		if (found.rise.bytes > one.rise.bytes)
			found.rise.per_sample = one.rise.per_sample;
		else
			found.rise = one.rise;
	}
	search->only_site_plus_1 = 0;
	done = done && (!found.sites.count || report(&found, group));
	gmt_map_fini(&found.sites);
	return done;
}

static bool look_at_group(struct gmt_leak_search *search, uint32_t group, const uint32_t *sites, size_t site_count)
{
	struct rising rising = { .search = search };
	bool grows, done;

	done = judge_sites(&rising, group, sites, site_count, &grows);
	if (done && grows) {
		search->parameters_grow |= category_of(search, group) == GMT_CATEGORY_PARAMETERS;
		done = report(&rising, group);
	} else if (done && rising.rise.kind == GMT_RISE_NONE && site_count > 1) {
		done = look_at_sites(search, group, sites, site_count);
	}
	gmt_map_fini(&rising.sites);
	return done;
}

/* Bytes of parameters that are there at the end of the last step. */
static uint64_t parameter_bytes(const struct gmt_leak_search *search)
{
	uint64_t bytes = 0;

	for (uint32_t group = 0; group < search->maker->groups.count; group++)
		if (category_of(search, group) == GMT_CATEGORY_PARAMETERS)
			bytes += gmt_leak_ages_of(search, group).all_bytes;
	return bytes;
}

static bool is_wanted(const struct gmt_leak_search *search, uint32_t group)
{
	size_t count;

	gmt_leak_blocks(search->maker, search->span.moment, group, &count);
	return count && !search->maker->is_reported.items[group] &&
		gmt_leak_is_judged(search->maker, group, GMT_LEAK_GROWTH);
}

/* Parameters first: whether they grow is asked of their gradients. */
static bool look_at_series(struct gmt_leak_search *search, const uint32_t *sites, const size_t *first_site)
{
	for (uint32_t group = 0; group < search->maker->groups.count; group++)
		search->groups.items[group].has_reason = search->maker->is_reported.items[group];
	for (uint32_t group = 0; group < search->maker->groups.count; group++)
		search->groups.items[group].block_bytes = gmt_leak_block_bytes(search, group);
	search->pairs_left = MOST_PAIRS;
	search->parameters_grow = false;
	search->parameter_bytes = parameter_bytes(search);
	for (int others = 0; others < 2; others++)
		for (uint32_t group = 0; group < search->maker->groups.count; group++)
			if (is_wanted(search, group) && (category_of(search, group) != GMT_CATEGORY_PARAMETERS) == others &&
				!look_at_group(search, group, sites + first_site[group], first_site[group + 1] - first_site[group]))
				return false;
	return gmt_leak_find_unexplained(search, sites, first_site);
}

bool gmt_leak_find_growth(struct gmt_leak_maker *maker)
{
	struct gmt_leak_search search = { .maker = maker };
	GMT_VEC(uint32_t) sites = { 0 };
	GMT_VEC(size_t) first = { 0 };
	size_t site_count = maker->history->sites.count, groups = maker->groups.count;
	bool done = gmt_vec_reserve(&sites, site_count + 1) && gmt_vec_reserve(&first, groups + 2) &&
		gmt_vec_reserve(&search.groups, groups + 1);
	bool any = false;

	/* The sites of each group next to each other; as in sort_capture of leak_groups.c. */
	for (size_t i = 0; done && i < site_count; i++)
		first.items[maker->group_of.items[i] + 1] += maker->group_of.items[i] != 0;
	for (size_t g = 1; done && g < groups + 2; g++)
		first.items[g] += first.items[g - 1];
	for (size_t i = 0; done && i < site_count; i++)
		if (maker->group_of.items[i])
			sites.items[first.items[maker->group_of.items[i]]++] = (uint32_t)i;

	/* Evaluation first: what grows in it is its own, whatever other steps see of it. */
	for (uint32_t s = (uint32_t)maker->timeline->series_count; done && s-- > 0;) {
		search.span = gmt_leak_span_of(maker, s);
		if (!gmt_leak_is_long_enough(&search.span))
			continue;
		any = true;
		search.horizon = gmt_leak_horizon_of(maker, &search.span);
		search.gathers.count = 0;
		search.has_gathers = false;
		done = look_at_series(&search, sites.items, first.items);
	}
	if (!maker->timeline->series_count)
		maker->leaks->no_growth = maker->timeline->why_none;
	else if (!any)
		maker->leaks->no_growth = "there are too few steps behind the warm-up to say what grows";
	gmt_leak_search_fini(&search);
	gmt_vec_fini(&sites);
	gmt_vec_fini(&first);
	return done;
}
