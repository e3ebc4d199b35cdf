/* SPDX-License-Identifier: MIT */
#include "analysis/allocator/temporaries.h"

#include <stdlib.h>

/* Adds the amounts to the row of the site's layer, device and own line. */
static bool add(struct gmt_temporary_rows *rows, struct gmt_map *ids,
	const struct gmt_traces *traces, const struct gmt_site *site,
	const struct gmt_temporary *amounts)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, site->stack, &count);
	uint64_t key = (uint64_t)(count ? places[site->own_line] + 1 : 0) << 24 |
		(uint64_t)site->layer << 16 | (uint16_t)site->device,
			 index;
	struct gmt_temporary *row;

	if (!gmt_map_find(ids, key, &index)) {
		row = gmt_vec_push(rows);
		index = rows->count - 1;
		if (!row || !gmt_map_put(ids, key, index))
			return false;
		*row = (struct gmt_temporary){ .layer = site->layer, .device = site->device };
	}
	row = &rows->items[index];
	if (amounts->bytes >= row->site_bytes) {
		row->site_bytes = amounts->bytes;
		row->stack = site->stack;
		row->own_line = site->own_line;
	}
	row->count += amounts->count;
	row->bytes = gmt_saturating_add_i64(row->bytes, amounts->bytes);
	row->at_peak_bytes += amounts->at_peak_bytes;
	if (amounts->largest_bytes > row->largest_bytes)
		row->largest_bytes = amounts->largest_bytes;
	return true;
}

static bool add_in_step(struct gmt_temporaries *temporaries, const struct gmt_traces *traces,
	const struct gmt_history *history, const struct gmt_sites *sites)
{
	struct gmt_map ids = { 0 };
	bool done = true;

	for (size_t i = 0; done && i < sites->rows.count; i++) {
		const struct gmt_site *site = &sites->rows.items[i];
		const struct gmt_history_site *of = &history->sites.items[site->id];

		if (site->id < history->sites.count && of->brief_count)
			done = add(&temporaries->in_step, &ids, traces, site,
				&(struct gmt_temporary){ .count = of->brief_count,
					.bytes = of->brief_bytes,
					.largest_bytes = of->brief_largest_bytes });
	}
	gmt_map_fini(&ids);
	return done;
}

static bool add_short_lived(struct gmt_temporaries *temporaries, const struct gmt_traces *traces,
	const struct gmt_sites *sites, const struct gmt_short_lived *short_lived)
{
	struct gmt_map ids = { 0 }, of_site = { 0 };
	uint64_t index;
	bool done = true;

	for (size_t i = 0; done && short_lived->rows.count && i < sites->rows.count; i++)
		done = gmt_map_put(&of_site, sites->rows.items[i].id, i);
	for (size_t i = 0; done && i < short_lived->rows.count; i++) {
		const struct gmt_short_lived_row *short_lived_row = &short_lived->rows.items[i];

		if (gmt_map_find(&of_site, short_lived_row->site, &index))
			done = add(&temporaries->short_lived, &ids, traces, &sites->rows.items[index],
				&(struct gmt_temporary){ .count = short_lived_row->count,
					.bytes = short_lived_row->bytes,
					.largest_bytes = short_lived_row->largest_bytes,
					.at_peak_bytes = short_lived_row->at_peak_bytes });
	}
	gmt_map_fini(&ids);
	gmt_map_fini(&of_site);
	return done;
}

static int compare(const struct gmt_temporary *a, const struct gmt_temporary *b, bool largest)
{
	uint64_t left = largest ? a->largest_bytes : a->bytes,
			 right = largest ? b->largest_bytes : b->bytes;

	if (a->layer != b->layer)
		return a->layer > b->layer ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (left != right)
		return left > right ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

static int by_bytes(const void *left, const void *right)
{
	return compare(left, right, false);
}

static int by_largest(const void *left, const void *right)
{
	return compare(left, right, true);
}

enum gmt_status gmt_temporaries_compute(struct gmt_temporaries *ret_temporaries,
	const struct gmt_traces *traces, const struct gmt_timeline *timeline,
	const struct gmt_history *history, const struct gmt_sites *sites,
	const struct gmt_short_lived *short_lived, struct gmt_error *error)
{
	bool has_steps = history && timeline->series_count && timeline->series[0].steps.count;

	if (!has_steps)
		ret_temporaries->why_no_steps =
			timeline->why_no_steps ? timeline->why_no_steps : "no steps were found";
	if ((has_steps && !add_in_step(ret_temporaries, traces, history, sites)) ||
		!add_short_lived(ret_temporaries, traces, sites, short_lived)) {
		gmt_temporaries_fini(ret_temporaries);
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	if (ret_temporaries->in_step.count)
		qsort(ret_temporaries->in_step.items, ret_temporaries->in_step.count,
			sizeof(*ret_temporaries->in_step.items), by_bytes);
	if (ret_temporaries->short_lived.count)
		qsort(ret_temporaries->short_lived.items, ret_temporaries->short_lived.count,
			sizeof(*ret_temporaries->short_lived.items), by_largest);
	return GMT_OK;
}

void gmt_temporaries_fini(struct gmt_temporaries *temporaries)
{
	gmt_vec_fini(&temporaries->in_step);
	gmt_vec_fini(&temporaries->short_lived);
}
