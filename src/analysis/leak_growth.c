/* SPDX-License-Identifier: MIT */
/*
 * Definition growth. The evidence is what is left: at the end of the last step, how much of what lives
 * was made by each step. A leak leaves something in all of them; what warms up leaves it in the first
 * ones, what is kept for a while (a prefetched batch, a window of losses) in the last ones.
 */
#include <string.h>

#include "analysis/leak_groups.h"
#include "analysis/slope.h"

enum {
	MIN_STEPS = 5,  /* behind the warm-up; fewer say nothing */
	WINDOWS = 8,    /* the steps are looked at in so many stretches */
	MAX_WARMUP = 10,
	BIRTHS = 16,    /* stretches that a finding lists */
};

/* Stretches that must have left something, of all: three quarters. */
static bool are_enough(size_t filled, size_t windows)
{
	return filled * 4 >= windows * 3;
}

/* Steps of one series as they are looked at. */
struct span {
	uint32_t series;
	enum gmt_history_moment moment; /* the end of its last step */
	size_t steps;   /* in all */
	size_t warmup;  /* that are left out at the start */
	size_t margin;  /* and at the end: what they made may be in use */
	size_t stride;  /* steps from sample to sample */
	size_t samples;
	size_t first_sample; /* the first one behind the warm-up */
};

/* What one group left. */
struct left {
	GMT_VEC(uint64_t) curve;   /* at the samples: made until then and still there */
	GMT_VEC(uint64_t) live;    /* likewise: what the group held ... */
	GMT_VEC(uint64_t) low;     /* ... and the least that it held since the sample before */
	bool is_filled[WINDOWS];   /* stretches that left something */
	uint32_t first_step;       /* that left something */
	uint64_t inside_bytes;     /* made in steps */
	uint64_t all_bytes;
};

static struct span span_of(const struct gmt_leak_maker *maker, uint32_t series)
{
	const struct gmt_history_series *history = &maker->history->series[series];
	struct span span = {
		.series = series,
		.moment = series ? GMT_MOMENT_LAST_STEP_2 : GMT_MOMENT_LAST_STEP,
		.steps = history->step_count, .stride = history->stride, .samples = history->sample_count,
	};

	span.warmup = span.steps / 5 < MAX_WARMUP ? span.steps / 5 : MAX_WARMUP;
	span.warmup += !span.warmup;
	if (maker->options->warmup_steps != UINT32_MAX)
		span.warmup = maker->options->warmup_steps;
	span.first_sample = (span.warmup + span.stride - 1) / span.stride;
	if (span.steps > span.warmup)
		span.margin = 1 + (span.steps - span.warmup) / 16;
	return span;
}

static bool is_long_enough(const struct span *span)
{
	return span->steps >= span->warmup + MIN_STEPS && span->samples > span->first_sample + 2;
}

static bool prepare(struct left *left, const struct span *span)
{
	left->curve.count = left->live.count = left->low.count = 0;
	if (!gmt_vec_reserve(&left->curve, span->samples) || !gmt_vec_reserve(&left->live, span->samples) ||
		!gmt_vec_reserve(&left->low, span->samples))
		return false;
	left->curve.count = left->live.count = left->low.count = span->samples;
	memset(left->curve.items, 0, span->samples * sizeof(*left->curve.items));
	memset(left->live.items, 0, span->samples * sizeof(*left->live.items));
	memset(left->low.items, 0, span->samples * sizeof(*left->low.items));
	memset(left->is_filled, 0, sizeof(left->is_filled));
	left->first_step = (uint32_t)(span->steps - 1);
	left->inside_bytes = left->all_bytes = 0;
	return true;
}

/* The steps behind the warm-up, the margin left out, are looked at in so many stretches. */
static size_t stretch_count(const struct span *span)
{
	size_t steps = span->steps - span->margin - span->warmup;

	return steps < WINDOWS ? steps : WINDOWS;
}

static void fill_stretch(const struct span *span, uint32_t step, struct left *left)
{
	size_t steps = span->steps - span->margin - span->warmup, count = stretch_count(span), stretch;

	if (step < span->warmup || step - span->warmup >= steps)
		return;
	/* Stretch w goes up to step steps * (w + 1) / count. */
	stretch = (step - span->warmup) * count / steps;
	while (steps * (stretch + 1) / count <= step - span->warmup)
		stretch++;
	left->is_filled[stretch] = true;
}

/*
 * Notes what the blocks of a group say of its steps. There may be many more steps than blocks, and many
 * groups: nothing here is done for each step.
 */
static void look_at_blocks(const struct gmt_leak_maker *maker, const struct span *span, uint32_t group,
	struct left *left)
{
	const struct gmt_step_series *series = &maker->timeline->series[span->series];
	size_t count;
	const struct gmt_history_block *blocks = gmt_leak_blocks(maker, span->moment, group, &count);
	uint32_t step;

	for (size_t i = 0; i < count; i++) {
		size_t sample = 0;

		left->all_bytes += blocks[i].size_bytes;
		if (gmt_series_find(series, blocks[i].stamp, &step) && step < span->steps) {
			left->inside_bytes += blocks[i].size_bytes;
			left->first_step = step < left->first_step ? step : left->first_step;
			fill_stretch(span, step, left);
			sample = (step + span->stride - 1) / span->stride;
		}
		if (sample < span->samples)
			left->curve.items[sample] += blocks[i].size_bytes;
	}
	for (size_t sample = 1; sample < span->samples; sample++)
		left->curve.items[sample] += left->curve.items[sample - 1];
}

/* Adds what a site held at the samples to `live` and `low`; what did not change is not in the history. */
static void add_live(const struct gmt_leak_maker *maker, const struct span *span, uint32_t site, struct left *left)
{
	const struct gmt_history_site *row = &maker->history->sites.items[site];
	const struct gmt_history_sample *samples =
		maker->history->series[span->series].samples.items + row->first_sample[span->series];
	uint32_t count = row->sample_count[span->series];

	for (uint32_t i = 0; i < count; i++) {
		size_t end = i + 1 < count ? samples[i + 1].sample : span->samples;

		for (size_t at = samples[i].sample; at < end; at++) {
			left->live.items[at] += samples[i].live_bytes;
			left->low.items[at] += at == samples[i].sample ? samples[i].low_bytes :
				samples[i].live_bytes;
		}
	}
}

/* The stretches behind the warm-up; how many of them left something. */
struct stretches {
	size_t count, filled;
	bool last_filled;
};

static struct stretches fill_of(const struct span *span, const struct left *left)
{
	struct stretches stretches = { .count = stretch_count(span) };

	for (size_t w = 0; w < stretches.count; w++) {
		stretches.filled += left->is_filled[w];
		if (w + 2 >= stretches.count)
			stretches.last_filled |= left->is_filled[w];
	}
	return stretches;
}

/*
 * Whether the least that was held in each stretch lies above the one before: one block that grows. What
 * is made anew in each step, however large, is not held all the time.
 */
static bool rises_all_the_time(const struct span *span, const struct left *left)
{
	size_t count = span->samples - span->first_sample;
	size_t windows = count < WINDOWS ? count : WINDOWS;
	uint64_t before = 0;

	for (size_t w = 0; w < windows; w++) {
		const uint64_t *from = left->low.items + span->first_sample + count * w / windows;
		size_t length = count * (w + 1) / windows - count * w / windows;
		uint64_t low = UINT64_MAX;

		for (size_t i = 0; i < length; i++)
			low = from[i] < low ? from[i] : low;
		if (w && low <= before)
			return false;
		before = low;
	}
	return true;
}

static void project(const struct gmt_leak_maker *maker, const struct span *span, struct gmt_leak *leak)
{
	const struct gmt_history_capture *capture = &maker->history->captures[span->moment];
	const struct gmt_device *device = leak->device >= 0 ?
		gmt_snapshot_device(maker->snapshot, (uint32_t)leak->device) : NULL;
	uint64_t held = 0, cached = 0;
	double steps;

	if (!device || leak->bytes_per_step <= 0)
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
 * Which blocks a finding is about. What was made in the last steps may be in use: it counts where older
 * blocks of the same stack are left too, or where there are no older ones at all.
 */
struct settled {
	uint64_t stamp; /* where the last steps begin */
	struct gmt_map sites; /* that have older blocks */
};

static bool is_settled(void *context, const struct gmt_history_block *block)
{
	const struct settled *settled = context;
	uint64_t unused;

	return !settled->sites.count || gmt_map_find(&settled->sites, block->site, &unused);
}

static bool find_settled(const struct gmt_leak_maker *maker, const struct span *span, uint32_t group,
	struct settled *settled)
{
	size_t count;
	const struct gmt_history_block *blocks = gmt_leak_blocks(maker, span->moment, group, &count);

	settled->stamp = maker->timeline->series[span->series].steps.items[span->steps - span->margin].begin;
	for (size_t i = 0; i < count && blocks[i].stamp <= settled->stamp; i++)
		if (!gmt_map_put(&settled->sites, blocks[i].site, 0))
			return false;
	return true;
}

static bool list_births(const struct gmt_leak_maker *maker, const struct span *span, uint32_t group,
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

static bool report(struct gmt_leak_maker *maker, const struct span *span, uint32_t group,
	const struct left *left, const struct gmt_slope *slope, double confidence)
{
	struct settled settled = { 0 };
	struct gmt_leak *leak = NULL;
	size_t count;
	const struct gmt_history_block *blocks = gmt_leak_blocks(maker, span->moment, group, &count);
	bool done = find_settled(maker, span, group, &settled) &&
		gmt_leak_add(maker, group, GMT_LEAK_GROWTH, blocks, count, is_settled, &settled, &leak);

	if (!done || !leak)
		goto out;
	leak->bytes_per_step = slope->per_step / (double)span->stride;
	leak->confidence = confidence;
	leak->series = span->series;
	leak->first_step = left->first_step;
	leak->steps = (uint32_t)(span->steps - span->warmup);
	project(maker, span, leak);
	done = list_births(maker, span, group, &settled, leak);
out:
	gmt_map_fini(&settled.sites);
	return done;
}

static bool judge(struct gmt_leak_maker *maker, const struct span *span, uint32_t group, struct left *left)
{
	struct stretches stretches = fill_of(span, left);
	struct gmt_slope slope;

	if (are_enough(stretches.filled, stretches.count) && stretches.last_filled) {
		if (!gmt_slope_of(left->curve.items + span->first_sample, span->samples - span->first_sample, &slope))
			return false;
		double confidence = slope.confidence * (double)stretches.filled / (double)stretches.count;
		return slope.per_step <= 0 || report(maker, span, group, left, &slope, confidence);
	}
	if (!rises_all_the_time(span, left))
		return true;
	if (!gmt_slope_of(left->live.items + span->first_sample, span->samples - span->first_sample, &slope))
		return false;
	return slope.per_step <= 0 || slope.confidence < 0.99 ||
		report(maker, span, group, left, &slope, slope.confidence);
}

/* Evaluation's own counter is the one for what is made in it: nine tenths or more. */
static bool belongs_to(const struct span *span, const struct left *left)
{
	return !span->series || left->inside_bytes >= left->all_bytes - left->all_bytes / 10;
}

static bool look_at_series(struct gmt_leak_maker *maker, const struct span *span, struct left *left,
	const uint32_t *sites, const size_t *first_site)
{
	for (uint32_t group = 0; group < maker->groups.count; group++) {
		size_t count;

		gmt_leak_blocks(maker, span->moment, group, &count);
		if (!count || maker->is_reported.items[group] ||
			!gmt_leak_is_judged(maker, group, GMT_LEAK_GROWTH))
			continue;
		if (!prepare(left, span))
			return false;
		look_at_blocks(maker, span, group, left);
		if (!belongs_to(span, left))
			continue;
		for (size_t i = first_site[group]; i < first_site[group + 1]; i++)
			add_live(maker, span, sites[i], left);
		if (!judge(maker, span, group, left))
			return false;
	}
	return true;
}

bool gmt_leak_find_growth(struct gmt_leak_maker *maker)
{
	struct left left = { 0 };
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
		struct span span = span_of(maker, s);

		if (!is_long_enough(&span))
			continue;
		any = true;
		done = look_at_series(maker, &span, &left, sites.items, first.items);
	}
	if (!maker->timeline->series_count)
		maker->leaks->no_growth = maker->timeline->why_none;
	else if (!any)
		maker->leaks->no_growth = "there are too few steps behind the warm-up to say what grows";
	gmt_vec_fini(&left.curve);
	gmt_vec_fini(&left.live);
	gmt_vec_fini(&left.low);
	gmt_vec_fini(&sites);
	gmt_vec_fini(&first);
	return done;
}
