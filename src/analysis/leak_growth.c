/* SPDX-License-Identifier: MIT */
/*
 * Definition growth. The evidence is what is left: at the end of the last step, how much of what lives
 * was made by each step. A leak leaves something in all of them; what warms up leaves it in the first
 * ones, what is kept for a while (a prefetched batch, a window of losses) in the last ones, and shows by
 * what ends there.
 */
#include "analysis/leak_evidence.h"
#include "analysis/slope.h"
#include "model/landmarks.h"

enum {
	BIRTHS = 16,    /* stretches that a finding lists */
	MIN_TAIL = 10,  /* steps at the end that make a leak which began late */
};

/* Stretches that must have left something, of all: three quarters. */
static bool are_enough(size_t filled, size_t windows)
{
	return filled * 4 >= windows * 3;
}

static void project(const struct gmt_leak_maker *maker, const struct gmt_leak_span *span, struct gmt_leak *leak)
{
	const struct gmt_history_capture *capture = &maker->history->captures[span->moment];
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

/*
 * Which blocks a finding is about: those of stacks that left something behind the warm-up and before the
 * last steps, for what these made may be in use. All, where one block is replaced by the next.
 */
struct settled {
	const struct gmt_leak_search *search;
	struct gmt_map sites;
};

static bool is_settled(void *context, const struct gmt_history_block *block)
{
	const struct settled *settled = context;
	uint64_t unused;

	return !settled->sites.count || gmt_map_find(&settled->sites, block->site, &unused);
}

static bool find_settled(struct settled *settled, uint32_t group)
{
	const struct gmt_leak_maker *maker = settled->search->maker;
	const struct gmt_leak_span *span = &settled->search->span;
	const struct gmt_step *steps = maker->timeline->series[span->series].steps.items;
	size_t count;
	const struct gmt_history_block *blocks = gmt_leak_blocks(maker, span->moment, group, &count);

	for (size_t i = 0; i < count && blocks[i].stamp <= steps[span->steps - span->margin].begin; i++)
		if (blocks[i].stamp > steps[span->warmup].begin && !gmt_leak_turns_over(settled->search, blocks[i].site) &&
			!gmt_map_put(&settled->sites, blocks[i].site, 0))
			return false;
	return true;
}

static bool list_births(const struct gmt_leak_maker *maker, const struct gmt_leak_span *span, uint32_t group,
	struct settled *settled, struct gmt_leak *leak)
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

		if (!is_settled(settled, &blocks[i]) || !gmt_series_find(series, blocks[i].stamp, &step) ||
			step >= span->steps)
			continue;
		for (b = step * stretches / span->steps; leak->births.items[b].last_step < step; b++)
			;
		leak->births.items[b].bytes += blocks[i].size_bytes;
		leak->births.items[b].blocks++;
	}
	return true;
}

/* What is said of a growth. */
struct growth {
	double per_step, confidence;
	bool replaced;
};

static bool report(struct gmt_leak_search *search, uint32_t group, const struct growth *growth)
{
	struct gmt_leak_maker *maker = search->maker;
	const struct gmt_leak_span *span = &search->span;
	struct settled settled = { .search = search };
	struct gmt_leak *leak = NULL;
	size_t count;
	const struct gmt_history_block *blocks = gmt_leak_blocks(maker, span->moment, group, &count);
	bool done = (growth->replaced || find_settled(&settled, group)) &&
		gmt_leak_add(maker, group, GMT_LEAK_GROWTH, blocks, count, is_settled, &settled, &leak);

	if (!done || !leak)
		goto out;
	leak->bytes_per_step = growth->per_step;
	leak->confidence = growth->confidence;
	leak->replaced = growth->replaced;
	leak->series = span->series;
	leak->first_step = search->left.first_step;
	leak->steps = (uint32_t)(span->steps - span->warmup);
	project(maker, span, leak);
	done = list_births(maker, span, group, &settled, leak);
out:
	gmt_map_fini(&settled.sites);
	return done;
}

/*
 * How fast a curve of what is left rises from `first` on, a sample in each `stride` steps. Where nearly each
 * step left something, and about as much, what it rose in all is exact; the last samples may hold what is
 * in use.
 */
static bool rate_of(const struct gmt_leak_span *span, const struct gmt_leak_left *left, size_t first, struct gmt_slope *ret_slope)
{
	size_t last = (span->steps - span->margin - 1) / span->stride;
	double mean;

	if (!gmt_slope_of(left->curve.items + first, span->samples - first, ret_slope))
		return false;
	if (last > first) {
		mean = (double)(left->curve.items[last] - left->curve.items[first]) / (double)(last - first);
		if (left->tail * 10 >= (span->steps - span->margin - first * span->stride) * 9 &&
			mean > 0.75 * ret_slope->per_step && mean < 1.33 * ret_slope->per_step)
			ret_slope->per_step = mean;
	}
	ret_slope->per_step /= (double)span->stride;
	return true;
}

/* Blocks are left, from most of the steps or from nearly all of the last ones. */
static bool judge_left(struct gmt_leak_search *search, uint32_t group, bool *ret_fits)
{
	const struct gmt_leak_span *span = &search->span;
	const struct gmt_leak_left *left = &search->left;
	struct gmt_leak_stretches stretches = gmt_leak_fill_of(search);
	size_t looked_at = span->steps - span->warmup - span->margin, first = span->first_sample;
	double share = (double)stretches.filled / (double)(stretches.count ? stretches.count : 1);
	struct gmt_slope slope;

	*ret_fits = are_enough(stretches.filled, stretches.count) && stretches.last_filled;
	if (!*ret_fits) {
		*ret_fits = left->tail >= MIN_TAIL && left->tail * 4 >= looked_at;
		share = (double)left->tail / (double)looked_at;
		first = (span->steps - span->margin - left->tail + span->stride - 1) / span->stride;
	}
	if (!*ret_fits || first >= span->samples)
		return true;
	if (!rate_of(span, left, first, &slope))
		return false;
	return slope.per_step <= 0 || report(search, group,
		&(struct growth){ .per_step = slope.per_step, .confidence = slope.confidence * share });
}

/*
 * One block that grows: what comes from joining tensors, or from the driver. In the call of a module that is
 * how caches of generated text work.
 */
static bool may_be_replaced(const struct gmt_leak_search *search, uint32_t group)
{
	const struct gmt_leak_group *row = &search->maker->groups.items[group];

	return !row->is_torch || (row->landmarks & GMT_LANDMARK_BIT(CAT) &&
		!(row->landmarks & GMT_LANDMARK_BIT(MODULE_CALL)));
}

static bool judge_replaced(struct gmt_leak_search *search, uint32_t group)
{
	const struct gmt_leak_span *span = &search->span;
	const struct gmt_leak_left *left = &search->left;
	struct gmt_slope slope;

	if (!may_be_replaced(search, group) || !gmt_leak_rises_all_the_time(search))
		return true;
	if (!gmt_slope_of(left->live.items + span->first_sample, span->samples - span->first_sample, &slope))
		return false;
	return slope.per_step <= 0 || slope.confidence < 0.99 || report(search, group, &(struct growth){
		.per_step = slope.per_step / (double)span->stride, .confidence = slope.confidence, .replaced = true });
}

/* Evaluation's own counter is the one for what is made in it: nine tenths or more, of blocks and of bytes. */
static bool belongs_to(const struct gmt_leak_span *span, const struct gmt_leak_left *left)
{
	return !span->series || (left->inside_bytes >= left->all_bytes - left->all_bytes / 10 &&
		left->inside_blocks * 10 >= left->all_blocks * 9);
}

static bool look_at_group(struct gmt_leak_search *search, uint32_t group, const uint32_t *sites, size_t site_count)
{
	bool fits;

	if (!gmt_leak_look_at_blocks(search, group))
		return false;
	if (search->left.all_bytes && !belongs_to(&search->span, &search->left))
		return true;
	if (!judge_left(search, group, &fits))
		return false;
	if (fits)
		return true;
	for (size_t i = 0; i < site_count; i++)
		gmt_leak_add_live(search, sites[i]);
	return judge_replaced(search, group);
}

static bool look_at_series(struct gmt_leak_search *search, const uint32_t *sites, const size_t *first_site)
{
	const struct gmt_leak_maker *maker = search->maker;

	if (!gmt_leak_find_new_bytes(search))
		return false;
	for (uint32_t group = 0; group < maker->groups.count; group++) {
		size_t count;

		gmt_leak_blocks(maker, search->span.moment, group, &count);
		if (!count || maker->is_reported.items[group] ||
			!gmt_leak_is_judged(maker, group, GMT_LEAK_GROWTH))
			continue;
		if (!look_at_group(search, group, sites + first_site[group],
				first_site[group + 1] - first_site[group]))
			return false;
	}
	return true;
}

bool gmt_leak_find_growth(struct gmt_leak_maker *maker)
{
	struct gmt_leak_search search = { .maker = maker };
	GMT_VEC(uint32_t) sites = { 0 };
	GMT_VEC(size_t) first = { 0 };
	size_t site_count = maker->history->sites.count, groups = maker->groups.count;
	bool done = gmt_vec_reserve(&sites, site_count + 1) && gmt_vec_reserve(&first, groups + 2);
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
