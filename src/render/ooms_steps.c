/* SPDX-License-Identifier: MIT */
#include "render/ooms.h"

static bool step_of_stamp(const void *user, uint64_t stamp, uint64_t *ret_step)
{
	const struct gmt_leaks_view *view = user;
	const struct gmt_step_series *series = &view->timeline->series[0];
	uint32_t step;

	if (!view->timeline->series_count)
		return false;
	/* After the end of the last step, the next step has begun. */
	gmt_series_find(series, stamp, &step);
	*ret_step = step;
	return true;
}

static uint32_t own_place(const struct gmt_traces *traces, uint32_t stack, uint32_t own_line)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);

	return count ? places[own_line] : UINT32_MAX;
}

enum { MIN_RISES = 3 }; /* fewer rises are a container that was filled once */

/*
 * Returns whether a site of a growing line grows itself: its memory rose at the end of several
 * steps.
 */
static bool rises(const struct gmt_leaks_view *view, uint32_t site, const struct gmt_leak *leak)
{
	const struct gmt_history *history = view->history;
	const struct gmt_history_site *row = gmt_vec_at(&history->sites, site);
	const struct gmt_history_sample *samples;
	uint32_t rises = 0;

	if (site >= history->sites.count)
		return false;
	samples = gmt_vec_at(&history->series[leak->series].samples, row->first_sample[leak->series]);
	for (uint32_t i = 0; i < row->sample_count[leak->series]; i++)
		rises += samples[i].live_bytes > (i ? samples[i - 1].live_bytes : 0);
	return rises >= MIN_RISES;
}

/* A site grows with the line that it belongs to, if its own memory rises. */
static bool step_of_growth(const void *user, uint32_t site, uint64_t *ret_step)
{
	const struct gmt_leaks_view *view = user;
	const struct gmt_accounting *accounting = &view->replay->accounting;
	const struct gmt_account *account =
		&accounting->accounts.items[accounting->sites.items[site].account];
	uint32_t stack = view->replay->site_stacks.items[site];
	uint32_t place = own_place(view->traces, stack, gmt_traces_own_line(view->traces, stack));

	for (size_t i = 0; i < view->leaks->rows.count; i++) {
		const struct gmt_leak *leak = &view->leaks->rows.items[i];

		if (leak->definition != GMT_LEAK_GROWTH || leak->layer != account->layer ||
			leak->device != account->device ||
			own_place(view->traces, leak->stack, leak->own_line) != place ||
			!rises(view, site, leak))
			continue;
		*ret_step = leak->first_step;
		return true;
	}
	return false;
}

struct gmt_ooms_steps gmt_ooms_steps_of(const struct gmt_leaks_view *view)
{
	return (struct gmt_ooms_steps){
		.of_stamp = step_of_stamp, .of_growth = step_of_growth, .user = view
	};
}
