/* SPDX-License-Identifier: MIT */
#include "analysis/page/page_phases.h"

#include <stdlib.h>

struct length {
	double ticks;
	uint32_t name; /* id in the attribution's phase_names */
};

static int by_length(const void *left, const void *right)
{
	const struct length *a = left, *b = right;

	if (a->ticks != b->ticks)
		return a->ticks > b->ticks ? -1 : 1;
	return (a->name > b->name) - (a->name < b->name);
}

bool gmt_page_phases_choose(struct gmt_page *page, const struct gmt_timeline *timeline)
{
	size_t names = page->attribution->origin.phase_names.entries.count;
	GMT_VEC(struct length) lengths = { 0 };
	bool done = gmt_vec_reserve(&lengths, names + 1) &&
		gmt_vec_reserve(&page->phase_of_name, names + 1) &&
		gmt_vec_reserve(&page->phase_names, GMT_PAGE_PHASES);

	if (!done) {
		gmt_vec_fini(&lengths);
		return false;
	}
	lengths.count = page->phase_of_name.count = names;
	for (size_t i = 0; i < names; i++)
		lengths.items[i].name = (uint32_t)i;
	for (size_t i = 0; i < timeline->phases.count; i++) {
		const struct gmt_phase *phase = &timeline->phases.items[i];

		lengths.items[page->attribution->origin.phase_ids.items[i]].ticks +=
			(double)(phase->end - phase->begin);
	}
	if (names)
		qsort(lengths.items, names, sizeof(*lengths.items), by_length);
	page->has_other_phases = names > GMT_PAGE_PHASES - 1;

	/* The last number is for all others. */
	const size_t own = page->has_other_phases ? GMT_PAGE_PHASES - 2 : names;
	for (size_t i = 0; i < names; i++) {
		if (i < own)
			*gmt_vec_push(&page->phase_names) = lengths.items[i].name;
		page->phase_of_name.items[lengths.items[i].name] =
			(uint8_t)(i < own ? i + 1 : GMT_PAGE_PHASES - 1);
	}
	gmt_vec_fini(&lengths);
	return true;
}
