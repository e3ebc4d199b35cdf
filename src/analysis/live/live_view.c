/* SPDX-License-Identifier: MIT */
#include "analysis/live/live_view.h"

#include <stdlib.h>

#include "reader/load/clock.h"

static struct gmt_live_device *get_device(struct gmt_live_view *view, int16_t device)
{
	struct gmt_live_device *row;
	uint64_t index;

	if (gmt_map_find(&view->device_ids, (uint16_t)device, &index))
		return &view->devices.items[index];
	if (!gmt_map_put(&view->device_ids, (uint16_t)device, view->devices.count))
		return NULL;
	row = gmt_vec_push(&view->devices);
	if (row)
		*row = (struct gmt_live_device){ .device = device, .name = "" };
	return row;
}

static void add_account(struct gmt_live_device *row, const struct gmt_account *account,
	const struct gmt_follow_curve *curve)
{
	switch (account->layer) {
	case GMT_LAYER_CUDA:
		row->cuda_bytes = account->live_bytes;
		row->cuda_peak_bytes = account->peak_bytes;
		row->cuda_curve = curve;
		break;
	case GMT_LAYER_DRIVER:
		row->driver_bytes = account->live_bytes;
		break;
	case GMT_LAYER_TORCH:
		row->has_torch = true;
		row->allocated_bytes =
			account->has_totals ? account->reported_allocated_bytes : account->live_bytes;
		row->allocated_peak_bytes =
			account->has_totals ? account->reported_allocated_peak_bytes : account->peak_bytes;
		row->reserved_bytes = account->reported_reserved_bytes;
		row->reserved_peak_bytes = account->reported_reserved_peak_bytes;
		row->torch_curve = curve;
		break;
	}
}

static int by_ordinal(const void *left, const void *right)
{
	const struct gmt_live_device *a = left, *b = right;

	/* As unsigned numbers, the host's -1 comes last. */
	return ((uint16_t)a->device > (uint16_t)b->device) -
		((uint16_t)a->device < (uint16_t)b->device);
}

static bool add_devices(struct gmt_live_view *view, const struct gmt_follow *follow)
{
	for (size_t i = 0; i < follow->accounting.accounts.count; i++) {
		const struct gmt_account *account = &follow->accounting.accounts.items[i];
		struct gmt_live_device *row = get_device(view, account->device);

		if (!row)
			return false;
		add_account(row, account, i < follow->curves.count ? &follow->curves.items[i] : NULL);
	}
	for (size_t i = 0; i < follow->samples.count; i++) {
		const struct gmt_sample *sample = &follow->samples.items[i];
		struct gmt_live_device *row = get_device(view, (int16_t)sample->device);

		if (!row)
			return false;
		row->has_sample = sample->known & GMT_SAMPLE_DRIVER;
		if (!row->has_sample)
			continue;
		uint64_t used_bytes =
			sample->total_bytes > sample->free_bytes ? sample->total_bytes - sample->free_bytes : 0;
		uint64_t held_bytes = gmt_saturating_add_u64(row->cuda_bytes, row->driver_bytes);

		row->total_bytes = sample->total_bytes;
		row->free_bytes = sample->free_bytes;
		row->other_bytes = used_bytes > held_bytes ? used_bytes - held_bytes : 0;
	}
	for (size_t i = 0; i < view->devices.count; i++) {
		struct gmt_live_device *row = &view->devices.items[i];
		const struct gmt_device *device = row->device >= 0
			? gmt_recording_device(follow->recording, (uint32_t)row->device)
			: NULL;

		row->name = device ? device->name.text : "";
	}
	if (view->devices.count)
		qsort(view->devices.items, view->devices.count, sizeof(*view->devices.items), by_ordinal);
	return true;
}

static bool is_chosen(const struct gmt_account *account, const struct gmt_live_name *name,
	const struct gmt_live_choice *choice)
{
	if (choice->device != GMT_LIVE_EVERY_DEVICE && choice->device != account->device)
		return false;
	if (choice->layer)
		return account->layer == choice->layer;
	return account->layer == GMT_LAYER_TORCH ||
		(account->layer == GMT_LAYER_CUDA && !(name && name->is_segment));
}

/* Returns the line of a name in an account. All sites without a name share one line. */
static struct gmt_live_line *get_line(struct gmt_live_view *view,
	const struct gmt_live_names *names, const struct gmt_live_name *name,
	const struct gmt_account *account, uint32_t account_id)
{
	uint64_t key =
		(uint64_t)account_id << 32 | (name ? (uint64_t)(name - names->names.items) + 1 : 0);
	uint64_t index;
	struct gmt_live_line *line;

	if (gmt_map_find(&view->line_ids, key, &index))
		return &view->lines.items[index];
	if (!gmt_map_put(&view->line_ids, key, view->lines.count))
		return NULL;
	line = gmt_vec_push(&view->lines);
	if (line)
		*line = (struct gmt_live_line){
			.name = name, .layer = account->layer, .device = account->device
		};
	return line;
}

static bool add_lines(struct gmt_live_view *view, const struct gmt_follow *follow,
	const struct gmt_live_names *names, const struct gmt_live_choice *choice)
{
	for (size_t i = 0; i < follow->sites.count; i++) {
		const struct gmt_account_site *site = &follow->accounting.sites.items[i];
		const struct gmt_account *account = &follow->accounting.accounts.items[site->account];
		const struct gmt_live_name *name = gmt_live_names_find(names, follow->sites.items[i].trace);
		int64_t growth_bytes = gmt_follow_seconds_sum(&follow->sites.items[i].growth, view->second);
		struct gmt_live_line *line;

		if (!is_chosen(account, name, choice))
			continue;
		line = get_line(view, names, name, account, site->account);
		if (!line)
			return false;
		line->live_bytes += site->live_bytes;
		line->live_blocks += site->live_blocks;
		line->growth_bytes += growth_bytes;
		line->alloc_count += site->alloc_count;
		line->total_bytes = gmt_saturating_add_u64(line->total_bytes, site->total_bytes);
	}
	return true;
}

/* Removes the lines that hold nothing and have not changed. */
static void remove_idle_lines(struct gmt_live_view *view)
{
	size_t kept = 0;

	for (size_t i = 0; i < view->lines.count; i++) {
		const struct gmt_live_line *line = &view->lines.items[i];

		if (line->live_blocks || line->growth_bytes)
			view->lines.items[kept++] = *line;
	}
	view->lines.count = kept;
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static int by_live(const void *left, const void *right)
{
	const struct gmt_live_line *a = left, *b = right;

	return compare_u64(a->live_bytes, b->live_bytes);
}

static int by_growth(const void *left, const void *right)
{
	const struct gmt_live_line *a = left, *b = right;

	if (a->growth_bytes != b->growth_bytes)
		return a->growth_bytes > b->growth_bytes ? -1 : 1;
	return by_live(left, right);
}

static int by_allocs(const void *left, const void *right)
{
	const struct gmt_live_line *a = left, *b = right;

	return a->alloc_count != b->alloc_count ? compare_u64(a->alloc_count, b->alloc_count)
											: by_live(left, right);
}

static int by_total(const void *left, const void *right)
{
	const struct gmt_live_line *a = left, *b = right;

	return a->total_bytes != b->total_bytes ? compare_u64(a->total_bytes, b->total_bytes)
											: by_live(left, right);
}

static void sort_lines(struct gmt_live_view *view, enum gmt_live_order order)
{
	static int (*const comparisons[])(const void *, const void *) = {
		[GMT_LIVE_BY_LIVE] = by_live,
		[GMT_LIVE_BY_GROWTH] = by_growth,
		[GMT_LIVE_BY_ALLOCS] = by_allocs,
		[GMT_LIVE_BY_TOTAL] = by_total,
	};

	if (view->lines.count)
		qsort(view->lines.items, view->lines.count, sizeof(*view->lines.items), comparisons[order]);
}

/* Sets the numbers that are not of a device or a line. */
static void set_head(struct gmt_live_view *view, const struct gmt_follow *follow)
{
	uint64_t seconds = view->second < GMT_FOLLOW_SECONDS ? view->second : GMT_FOLLOW_SECONDS;

	view->events = follow->recording->seen_events;
	view->dropped_events = gmt_recording_dropped(follow->recording);
	view->refusals = follow->refusals;
	view->events_per_second = (double)gmt_follow_seconds_sum(&follow->event_counts, view->second) /
		(seconds ? (double)seconds : 1);
	view->steps = gmt_follow_marks_steps(&follow->marks);
	view->seconds_per_step = view->steps && view->steps->previous_stamp
		? (double)gmt_clock_span_ns(follow->recording,
			  view->steps->last_stamp - view->steps->previous_stamp) /
			1e9
		: 0;
	view->phase = gmt_follow_marks_phase(&follow->marks);
}

bool gmt_live_view_make(struct gmt_live_view *view, const struct gmt_follow *follow,
	const struct gmt_live_names *names, const struct gmt_live_choice *choice)
{
	view->time_ns = gmt_follow_now_ns(follow);
	view->second = (uint32_t)(view->time_ns / 1000000000);
	view->devices.count = view->lines.count = 0;
	gmt_map_fini(&view->line_ids);
	gmt_map_fini(&view->device_ids);
	set_head(view, follow);
	if (!add_devices(view, follow) || !add_lines(view, follow, names, choice))
		return false;
	if (choice->order == GMT_LIVE_BY_LIVE || choice->order == GMT_LIVE_BY_GROWTH)
		remove_idle_lines(view);
	sort_lines(view, choice->order);
	return true;
}

void gmt_live_view_fini(struct gmt_live_view *view)
{
	gmt_vec_fini(&view->devices);
	gmt_vec_fini(&view->lines);
	gmt_map_fini(&view->line_ids);
	gmt_map_fini(&view->device_ids);
}
