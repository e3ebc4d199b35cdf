/* SPDX-License-Identifier: MIT */
#include "analysis/history/history_steps.h"

#include "base/budget.h"

bool gmt_history_make_room(struct gmt_history_follower *follower, size_t sites, size_t accounts)
{
	return gmt_vec_grow_to(&follower->is_touched, sites) &&
		gmt_vec_grow_to(&follower->lows, sites) && gmt_vec_grow_to(&follower->accounts, accounts);
}

bool gmt_history_touch_first(struct gmt_history_follower *follower, uint32_t site,
	uint64_t before_bytes)
{
	uint32_t *slot = gmt_vec_push(&follower->touched);

	if (!slot)
		return false;
	*slot = site;
	follower->lows.items[site] = follower->has_end ? before_bytes : UINT64_MAX;
	follower->is_touched.items[site] = 1;
	return true;
}

static void begin_step(struct gmt_history_follower *follower,
	const struct gmt_accounting *accounting)
{
	follower->inside = true;
	for (size_t i = 0; i < follower->accounts.count; i++)
		follower->accounts.items[i] = (struct gmt_history_running){
			.peak_bytes = accounting->accounts.items[i].live_bytes,
		};
}

static void note_lows(struct gmt_history_follower *follower,
	const struct gmt_accounting *accounting)
{
	for (size_t i = 0; i < follower->touched.count; i++) {
		uint32_t site = follower->touched.items[i];
		uint64_t live_bytes = accounting->sites.items[site].live_bytes;

		if (live_bytes < follower->lows.items[site])
			follower->lows.items[site] = live_bytes;
	}
	follower->has_end = true;
}

static bool sample(struct gmt_history_follower *follower, const struct gmt_accounting *accounting)
{
	struct gmt_history_series *series = follower->series;

	for (size_t i = 0; i < follower->touched.count; i++) {
		uint32_t site = follower->touched.items[i];
		struct gmt_history_sample *slot = gmt_vec_push(&series->samples);
		uint32_t *owner = gmt_vec_push(&follower->sample_sites);

		if (!slot || !owner)
			return false;
		*slot = (struct gmt_history_sample){
			.sample = (uint32_t)series->sample_count,
			.live_bytes = accounting->sites.items[site].live_bytes,
			.low_bytes = follower->lows.items[site],
		};
		*owner = site;
		follower->is_touched.items[site] = 0;
	}
	follower->touched.count = 0;
	follower->has_end = false;
	series->sample_count++;
	return true;
}

/*
 * Limits the rows of steps by a budget. Machines with many GPUs have some tens of accounts, whose
 * rows cost little.
 */
static bool may_add_rows(size_t accounts)
{
	enum { FEW = 32 };

	return gmt_budget_spend_work(accounts > FEW ? accounts : accounts / 4, GMT_BUDGET_ROWS);
}

bool gmt_history_end_step(struct gmt_history_follower *follower,
	const struct gmt_accounting *accounting)
{
	struct gmt_history_series *series = follower->series;
	size_t *first = gmt_vec_push(&series->step_rows);

	if (!first)
		return false;
	if (!follower->inside)
		begin_step(follower, accounting);
	*first = series->steps.count;
	/*
	 * A file of N bytes can have N steps, with a row of each step for every account. When the
	 * budget is spent, a step has no rows and reads as if it held nothing.
	 */
	size_t count = may_add_rows(follower->accounts.count) ? follower->accounts.count : 0;
	for (size_t i = 0; i < count; i++) {
		struct gmt_history_step *row = gmt_vec_push(&series->steps);

		if (!row)
			return false;
		*row = (struct gmt_history_step){
			.peak_bytes = follower->accounts.items[i].peak_bytes,
			.end_live_bytes = accounting->accounts.items[i].live_bytes,
		};
	}
	note_lows(follower, accounting);
	if (follower->cursor % series->stride == 0 && !sample(follower, accounting))
		return false;
	follower->cursor++;
	follower->inside = false;
	series->step_count = follower->cursor;
	return true;
}

bool gmt_history_follow(struct gmt_history_follower *follower,
	const struct gmt_accounting *accounting, uint64_t stamp)
{
	const struct gmt_step_series *steps = follower->steps;

	while (follower->cursor < steps->steps.count &&
		steps->steps.items[follower->cursor].end < stamp)
		if (!gmt_history_end_step(follower, accounting))
			return false;
	if (!follower->inside && follower->cursor < steps->steps.count &&
		steps->steps.items[follower->cursor].begin < stamp)
		begin_step(follower, accounting);
	return true;
}

uint64_t gmt_history_next_stamp(const struct gmt_history_follower *follower)
{
	const struct gmt_step *step = gmt_vec_at(&follower->steps->steps, follower->cursor);

	if (follower->cursor >= follower->steps->steps.count)
		return UINT64_MAX;
	return !follower->inside && step->begin < step->end ? step->begin : step->end;
}

void gmt_history_set_compacted_step(struct gmt_history_follower *follower,
	const struct gmt_accounting *accounting, const struct gmt_past_step *compacted)
{
	struct gmt_history_series *series = follower->series;
	const struct gmt_step *steps = follower->steps->steps.items;
	uint32_t found, last;

	/* Steps are sorted by their ends, so steps that end at this stamp are contiguous. */
	gmt_series_find(follower->steps, compacted->stamp, &found);
	last = found;
	/* Inner steps of a merged step share its values. */
	while (found && last < follower->cursor && steps[last].end == compacted->stamp &&
		steps[found - 1].is_inner)
		found--;
	if (!gmt_budget_spend_work(last - found, GMT_BUDGET_ROWS))
		return;
	for (size_t i = found; i < follower->cursor && (i < last || steps[i].end == compacted->stamp);
		i++) {
		size_t first = series->step_rows.items[i];
		size_t end =
			i + 1 < follower->cursor ? series->step_rows.items[i + 1] : series->steps.count;

		for (size_t account = 0; account < end - first && account < accounting->accounts.count;
			account++)
			if (accounting->accounts.items[account].layer == compacted->layer &&
				accounting->accounts.items[account].device == compacted->device)
				series->steps.items[first + account] = (struct gmt_history_step){
					.peak_bytes = compacted->peak_bytes,
					.end_live_bytes = compacted->live_bytes,
				};
	}
}

bool gmt_history_sort_samples(struct gmt_history_follower *follower, struct gmt_history *history,
	size_t index)
{
	struct gmt_history_series *series = follower->series;
	GMT_VEC(struct gmt_history_sample) sorted = { 0 };
	size_t first = 0;

	if (!gmt_vec_reserve(&sorted, series->samples.count))
		return false;
	for (size_t i = 0; i < series->samples.count; i++)
		history->sites.items[follower->sample_sites.items[i]].sample_count[index]++;
	for (size_t i = 0; i < history->sites.count; i++) {
		struct gmt_history_site *site = &history->sites.items[i];

		site->first_sample[index] = first;
		first += site->sample_count[index];
		site->sample_count[index] = 0;
	}
	for (size_t i = 0; i < series->samples.count; i++) {
		struct gmt_history_site *site = &history->sites.items[follower->sample_sites.items[i]];

		sorted.items[site->first_sample[index] + site->sample_count[index]++] =
			series->samples.items[i];
	}
	gmt_vec_fini(&series->samples);
	series->samples.items = sorted.items;
	series->samples.count = first;
	series->samples.capacity = sorted.capacity;
	return true;
}

struct gmt_history_step gmt_history_step_of(const struct gmt_history_series *series, size_t step,
	size_t account)
{
	size_t row = series->step_rows.items[step] + account;

	return row < series->step_rows.items[step + 1] ? series->steps.items[row]
												   : (struct gmt_history_step){ 0 };
}

void gmt_history_follower_fini(struct gmt_history_follower *follower)
{
	gmt_vec_fini(&follower->accounts);
	gmt_vec_fini(&follower->touched);
	gmt_vec_fini(&follower->is_touched);
	gmt_vec_fini(&follower->lows);
	gmt_vec_fini(&follower->sample_sites);
}
