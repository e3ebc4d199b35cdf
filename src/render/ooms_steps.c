/* SPDX-License-Identifier: MIT */
#include "render/ooms.h"

static bool step_of_stamp(const void *user, uint64_t stamp, uint64_t *ret_step)
{
	const struct gmt_leaks_view *view = user;
	const struct gmt_step_series *series = &view->timeline->series[0];
	uint32_t step;

	if (!view->timeline->series_count)
		return false;
	/* Behind the last step that ended the next one has begun. */
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

/* A site grows with the line that it belongs to. */
static bool step_of_growth(const void *user, uint32_t site, uint64_t *ret_step)
{
	const struct gmt_leaks_view *view = user;
	const struct gmt_books *books = &view->replay->books;
	const struct gmt_books_account *account = &books->accounts.items[books->sites.items[site].account];
	uint32_t stack = view->replay->site_stacks.items[site];
	uint32_t place = own_place(view->traces, stack, gmt_traces_own_line(view->traces, stack));

	for (size_t i = 0; i < view->leaks->rows.count; i++) {
		const struct gmt_leak *leak = &view->leaks->rows.items[i];

		if (leak->definition != GMT_LEAK_GROWTH || leak->layer != account->layer ||
			leak->device != account->device ||
			own_place(view->traces, leak->stack, leak->own_line) != place)
			continue;
		*ret_step = leak->first_step;
		return true;
	}
	return false;
}

struct gmt_ooms_steps gmt_ooms_steps_of(const struct gmt_leaks_view *view)
{
	return (struct gmt_ooms_steps){ .of_stamp = step_of_stamp, .of_growth = step_of_growth, .user = view };
}
