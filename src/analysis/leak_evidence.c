/* SPDX-License-Identifier: MIT */
#include "analysis/leak_evidence.h"

#include <string.h>

enum { MAX_WARMUP = 10 };

struct gmt_leak_span gmt_leak_span_of(const struct gmt_leak_maker *maker, uint32_t series)
{
	const struct gmt_history_series *history = &maker->history->series[series];
	struct gmt_leak_span span = {
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

bool gmt_leak_is_long_enough(const struct gmt_leak_span *span)
{
	return span->steps >= span->warmup + GMT_LEAK_MIN_STEPS && span->samples > span->first_sample + 2;
}

static bool is_of_cache(const struct gmt_leak_maker *maker, const struct gmt_history_block *block)
{
	uint32_t group_plus_1 = maker->group_of.items[block->site];

	return group_plus_1 && maker->groups.items[group_plus_1 - 1].is_cache;
}

/* How many bytes of what lives at a moment are older than `stamp`; what PyTorch keeps for reuse outlives all. */
static uint64_t bytes_before(const struct gmt_leak_maker *maker, enum gmt_history_moment moment, uint64_t stamp)
{
	const struct gmt_history_capture *capture = &maker->history->captures[moment];
	uint64_t bytes = 0;

	for (size_t i = 0; i < capture->blocks.count; i++)
		if (capture->blocks.items[i].stamp <= stamp && !is_of_cache(maker, &capture->blocks.items[i]))
			bytes += capture->blocks.items[i].size_bytes;
	return bytes;
}

enum gmt_history_moment gmt_leak_horizon_of(const struct gmt_leak_maker *maker, const struct gmt_leak_span *span)
{
	const struct gmt_step *steps = maker->timeline->series[span->series].steps.items;
	uint64_t early = steps[span->warmup].begin;
	uint64_t in_work = bytes_before(maker, span->moment, early);
	uint64_t at_end = bytes_before(maker, GMT_MOMENT_WORK_END, early);

	return in_work && at_end >= in_work / 2 ? GMT_MOMENT_WORK_END : GMT_MOMENT_LAST_ALLOCATION;
}

/* What did not change is not in the history. */
static void add_held(struct gmt_leak_search *search, uint32_t site)
{
	const struct gmt_leak_maker *maker = search->maker;
	const struct gmt_leak_span *span = &search->span;
	const struct gmt_history_site *row = &maker->history->sites.items[site];
	const struct gmt_history_sample *samples =
		gmt_vec_at(&maker->history->series[span->series].samples, row->first_sample[span->series]);
	uint32_t count = row->sample_count[span->series];

	for (uint32_t i = 0; i < count; i++) {
		size_t end = i + 1 < count ? samples[i + 1].sample : span->samples;

		for (size_t at = samples[i].sample; at < end; at++) {
			search->held.items[at] += samples[i].live_bytes;
			search->low.items[at] += at == samples[i].sample ? samples[i].low_bytes : samples[i].live_bytes;
		}
	}
}

uint64_t gmt_leak_held_by(const struct gmt_leak_search *search, uint32_t site, size_t sample)
{
	const struct gmt_leak_maker *maker = search->maker;
	const struct gmt_history_site *row = &maker->history->sites.items[site];
	const struct gmt_history_sample *samples =
		gmt_vec_at(&maker->history->series[search->span.series].samples, row->first_sample[search->span.series]);
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < row->sample_count[search->span.series] && samples[i].sample <= sample; i++)
		bytes = samples[i].live_bytes;
	return bytes;
}

/* What a group made up to the end of the last step, and still holds at the horizon. */
static uint64_t later_bytes(const struct gmt_leak_search *search, uint32_t group)
{
	const struct gmt_leak_maker *maker = search->maker;
	const struct gmt_history_capture *last_step = &maker->history->captures[search->span.moment];
	const struct gmt_history_capture *horizon = &maker->history->captures[search->horizon];
	size_t count;
	const struct gmt_history_block *blocks = gmt_leak_blocks(maker, search->horizon, group, &count);
	uint64_t bytes = 0;

	if (!horizon->taken || horizon->stamp <= last_step->stamp)
		return UINT64_MAX;
	for (size_t i = 0; i < count && blocks[i].stamp <= last_step->stamp; i++)
		bytes += blocks[i].size_bytes;
	return bytes;
}

bool gmt_leak_rise_of(struct gmt_leak_search *search, uint32_t group, const uint32_t *sites, size_t site_count,
	struct gmt_rise *ret_rise)
{
	const struct gmt_leak_span *span = &search->span;

	search->held.count = search->low.count = 0;
	if (!gmt_vec_reserve(&search->held, span->samples) || !gmt_vec_reserve(&search->low, span->samples))
		return false;
	search->held.count = search->low.count = span->samples;
	memset(search->held.items, 0, span->samples * sizeof(*search->held.items));
	memset(search->low.items, 0, span->samples * sizeof(*search->low.items));
	for (size_t i = 0; i < site_count; i++)
		add_held(search, sites[i]);
	return gmt_rise_of(&(struct gmt_rise_curve){
		.held = search->held.items, .low = search->low.items, .count = span->samples, .first = span->first_sample,
		.margin = (span->margin + span->stride - 1) / span->stride, .later_bytes = later_bytes(search, group),
	}, ret_rise);
}

struct gmt_leak_ages gmt_leak_ages_of(const struct gmt_leak_search *search, uint32_t group)
{
	const struct gmt_leak_span *span = &search->span;
	const struct gmt_step_series *series = &search->maker->timeline->series[span->series];
	struct gmt_leak_ages ages = { 0 };
	size_t count;
	const struct gmt_history_block *blocks = gmt_leak_blocks(search->maker, span->moment, group, &count);
	uint32_t step;

	for (size_t i = 0; i < count; i++) {
		ages.all_bytes += blocks[i].size_bytes;
		ages.all_blocks++;
		if (gmt_series_find(series, blocks[i].stamp, &step) && step < span->steps) {
			ages.inside_bytes += blocks[i].size_bytes;
			ages.inside_blocks++;
		}
	}
	return ages;
}

uint64_t gmt_leak_old_bytes(const struct gmt_leak_search *search, uint32_t group, const struct gmt_rise *rise)
{
	const struct gmt_leak_span *span = &search->span;
	const struct gmt_step *steps = search->maker->timeline->series[span->series].steps.items;
	uint64_t old = steps[span->steps - 2].begin, before = steps[(rise->last_rise - 1) * span->stride].end, bytes = 0;
	size_t count;
	const struct gmt_history_block *blocks = gmt_leak_blocks(search->maker, span->moment, group, &count);

	if (before < old)
		old = before;
	for (size_t i = 0; i < count && blocks[i].stamp <= old; i++)
		bytes += blocks[i].size_bytes;
	return bytes;
}

void gmt_leak_search_fini(struct gmt_leak_search *search)
{
	gmt_vec_fini(&search->held);
	gmt_vec_fini(&search->low);
}
