/* SPDX-License-Identifier: MIT */
#include "analysis/leaks/leak_evidence.h"

#include <string.h>

#include "analysis/leaks/slope.h"

enum {
	MAX_WARMUP = 10,
	MAX_MARGIN_SAMPLES = 8,
	STRETCHES = 8,
};

struct gmt_leak_span gmt_leak_span_of(const struct gmt_leak_builder *builder, uint32_t series)
{
	const struct gmt_history_series *history = &builder->history->series[series];
	struct gmt_leak_span span = {
		.series = series,
		.moment = series ? GMT_HISTORY_AT_LAST_STEP_2 : GMT_HISTORY_AT_LAST_STEP,
		.steps = history->step_count,
		.stride = history->stride,
		.samples = history->sample_count,
	};

	span.warmup = span.steps / 5 < MAX_WARMUP ? span.steps / 5 : MAX_WARMUP;
	span.warmup += !span.warmup;
	if (builder->options->warmup_steps != UINT32_MAX)
		span.warmup = builder->options->warmup_steps;
	span.first_sample = (span.warmup + span.stride - 1) / span.stride;
	if (span.steps > span.warmup)
		span.margin = 1 + (span.steps - span.warmup) / 16;
	if (span.margin > MAX_MARGIN_SAMPLES * span.stride)
		span.margin = MAX_MARGIN_SAMPLES * span.stride;
	return span;
}

bool gmt_leak_is_long_enough(const struct gmt_leak_span *span)
{
	return span->steps >= span->warmup + GMT_LEAK_MIN_STEPS &&
		span->samples > span->first_sample + 2;
}

/*
 * The history holds a sample only where the site changed, so a value lasts until the next sample.
 */
void gmt_leak_curve_add(struct gmt_leak_search *search, uint32_t site)
{
	const struct gmt_leak_builder *builder = search->builder;
	const struct gmt_leak_span *span = &search->span;
	const struct gmt_history_site *row = &builder->history->sites.items[site];
	const struct gmt_history_sample *samples =
		gmt_vec_at(&builder->history->series[span->series].samples,
			row->first_sample[span->series]);
	uint32_t count = row->sample_count[span->series];

	for (uint32_t i = 0; i < count; i++) {
		size_t end = i + 1 < count ? samples[i + 1].sample : span->samples;

		for (size_t at = samples[i].sample; at < end; at++) {
			search->held.items[at] += samples[i].live_bytes;
			search->low.items[at] +=
				at == samples[i].sample ? samples[i].low_bytes : samples[i].live_bytes;
		}
	}
}

uint64_t gmt_leak_held_by(const struct gmt_leak_search *search, uint32_t site, size_t sample)
{
	const struct gmt_leak_builder *builder = search->builder;
	const struct gmt_history_site *row = &builder->history->sites.items[site];
	const struct gmt_history_sample *samples =
		gmt_vec_at(&builder->history->series[search->span.series].samples,
			row->first_sample[search->span.series]);
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < row->sample_count[search->span.series] && samples[i].sample <= sample;
		i++)
		bytes = samples[i].live_bytes;
	return bytes;
}

bool gmt_leak_curve_begin(struct gmt_leak_search *search)
{
	size_t samples = search->span.samples;

	search->held.count = search->low.count = 0;
	if (!gmt_vec_reserve(&search->held, samples) || !gmt_vec_reserve(&search->low, samples))
		return false;
	search->held.count = search->low.count = samples;
	memset(search->held.items, 0, samples * sizeof(*search->held.items));
	memset(search->low.items, 0, samples * sizeof(*search->low.items));
	return true;
}

bool gmt_leak_curve_judge(const struct gmt_leak_search *search, uint64_t later_bytes,
	struct gmt_rise *ret_rise)
{
	const struct gmt_leak_span *span = &search->span;

	return gmt_rise_of(
		&(struct gmt_rise_curve){
			.held = search->held.items,
			.low = search->low.items,
			.count = span->samples,
			.first = span->first_sample,
			.margin = (span->margin + span->stride - 1) / span->stride,
			.later_bytes = later_bytes,
		},
		ret_rise);
}

struct gmt_leak_climb gmt_leak_curve_climb(const struct gmt_leak_search *search)
{
	size_t lowest = search->span.first_sample;
	struct gmt_leak_climb climb = { lowest, lowest, 0 };

	for (size_t i = lowest; i < search->span.samples; i++) {
		uint64_t held = search->held.items[i];

		if (held < search->held.items[lowest])
			lowest = i;
		else if (held - search->held.items[lowest] > climb.bytes)
			climb = (struct gmt_leak_climb){ lowest, i, held - search->held.items[lowest] };
	}
	return climb;
}

struct gmt_leak_line gmt_leak_line_of(const struct gmt_leak_search *search, uint32_t group,
	const uint32_t *sites, size_t site_count, const struct gmt_leak_climb *climb)
{
	const struct gmt_leak_builder *builder = search->builder;
	const struct gmt_leak_group *row = &builder->groups.items[group];
	struct gmt_leak_line line = { .layer = row->layer, .device = row->device, .space = row->space };
	int64_t sum = 0, max = INT64_MIN;

	for (size_t i = 0; i < site_count; i++) {
		int64_t rose = (int64_t)(gmt_leak_held_by(search, sites[i], climb->last) -
			gmt_leak_held_by(search, sites[i], climb->first));

		sum += rose;
		if (rose > max) {
			max = rose;
			line.stack = builder->replay->site_stacks.items[sites[i]];
		}
	}
	line.own_line = gmt_traces_own_line(builder->traces, line.stack);
	line.bytes = sum > 0 ? (uint64_t)sum : 0;
	return line;
}

bool gmt_leak_judge_rise(struct gmt_leak_search *search, uint32_t group, const uint32_t *sites,
	size_t site_count, struct gmt_rise *ret_rise)
{
	if (!gmt_leak_curve_begin(search))
		return false;
	for (size_t i = 0; i < site_count; i++)
		gmt_leak_curve_add(search, sites[i]);
	return gmt_leak_curve_judge(search, gmt_leak_bytes_held_later(search, group), ret_rise);
}

/*
 * Divides the steps into eight stretches. Returns whether at least three quarters of them left
 * something, and the last stretch too.
 */
static bool are_most_filled(const struct gmt_leak_search *search)
{
	size_t first = search->span.first_sample, length = search->span.samples - first, filled = 0,
		   empty_at_end = 0;

	for (size_t w = 0; w < STRETCHES; w++) {
		bool is_filled = search->held.items[first + length * (w + 1) / STRETCHES - 1] >
			search->held.items[first + length * w / STRETCHES - (w != 0)];

		filled += is_filled;
		empty_at_end = is_filled ? 0 : empty_at_end + 1;
	}
	return length >= STRETCHES * 2 && filled * 4 >= STRETCHES * 3 && !empty_at_end;
}

/*
 * Returns whether the group is a sliding window. In the last quarter of the steps, the program
 * freed old blocks of at least half the bytes that were left there.
 */
static bool turns_over(const struct gmt_leak_search *search, const uint32_t *sites,
	size_t site_count)
{
	const struct gmt_leak_builder *builder = search->builder;
	size_t samples = search->span.samples;
	uint64_t left = search->held.items[samples - 1] - search->held.items[samples - 1 - samples / 4],
			 ended = 0;

	for (size_t i = 0; i < site_count; i++)
		ended += builder->history->sites.items[sites[i]]
					 .freed_in_last_quarter_bytes[search->span.series];
	return ended && ended >= left / 2;
}

bool gmt_leak_rise_of_leftovers(struct gmt_leak_search *search, uint32_t group,
	const uint32_t *sites, size_t site_count, struct gmt_rise *ret_rise)
{
	const struct gmt_leak_builder *builder = search->builder;
	const struct gmt_leak_span *span = &search->span;
	const struct gmt_step_series *series = &builder->timeline->series[span->series];
	bool is_later = builder->history->captures[search->freed_by_moment].stamp >
		builder->history->captures[span->moment].stamp;
	size_t count;
	const struct gmt_history_block *blocks =
		gmt_leak_blocks(builder, is_later ? search->freed_by_moment : span->moment, group, &count);
	struct gmt_slope slope;
	uint32_t step;

	*ret_rise = (struct gmt_rise){ 0 };
	if (!gmt_leak_curve_begin(search))
		return false;
	for (size_t i = 0; i < count; i++)
		if (gmt_series_find(series, blocks[i].stamp, &step) &&
			(step + span->stride - 1) / span->stride < span->samples)
			search->held.items[(step + span->stride - 1) / span->stride] += blocks[i].size_bytes;
	for (size_t i = 1; i < span->samples; i++)
		search->held.items[i] += search->held.items[i - 1];
	memcpy(search->low.items, search->held.items, span->samples * sizeof(*search->low.items));
	if (!are_most_filled(search) || turns_over(search, sites, site_count))
		return true;
	if (!gmt_leak_curve_judge(search, UINT64_MAX, ret_rise) ||
		!gmt_slope_of(search->held.items + span->first_sample, span->samples - span->first_sample,
			&slope))
		return false;
	ret_rise->per_sample = slope.per_step;
	if (slope.per_step <= 0 ||
		ret_rise->first > span->first_sample + (span->samples - span->first_sample) / 4)
		ret_rise->kind = GMT_RISE_NONE;
	return true;
}

struct gmt_leak_ages gmt_leak_ages_of(const struct gmt_leak_search *search, uint32_t group)
{
	const struct gmt_leak_span *span = &search->span;
	const struct gmt_step_series *series = &search->builder->timeline->series[span->series];
	struct gmt_leak_ages ages = { 0 };
	size_t count;
	const struct gmt_history_block *blocks =
		gmt_leak_blocks(search->builder, span->moment, group, &count);
	uint32_t step;

	for (size_t i = 0; i < count; i++) {
		if (!gmt_leak_uses_block(search, &blocks[i]))
			continue;
		ages.all_bytes += blocks[i].size_bytes;
		ages.all_blocks++;
		if (gmt_series_find(series, blocks[i].stamp, &step) && step < span->steps) {
			ages.inside_bytes += blocks[i].size_bytes;
			ages.inside_blocks++;
		}
	}
	return ages;
}

static uint64_t bytes_until(const struct gmt_leak_search *search, uint32_t group, uint64_t stamp)
{
	size_t count;
	const struct gmt_history_block *blocks =
		gmt_leak_blocks(search->builder, search->span.moment, group, &count);
	uint64_t bytes = 0;

	for (size_t i = 0; i < count && blocks[i].stamp <= stamp; i++)
		bytes += gmt_leak_uses_block(search, &blocks[i]) ? blocks[i].size_bytes : 0;
	return bytes;
}

/*
 * Returns the stamp where the last two steps begin. Blocks that these steps made may still be in
 * use.
 */
static uint64_t settled_stamp(const struct gmt_leak_search *search)
{
	return search->builder->timeline->series[search->span.series]
		.steps.items[search->span.steps - 2]
		.begin;
}

uint64_t gmt_leak_settled_bytes(const struct gmt_leak_search *search, uint32_t group)
{
	return bytes_until(search, group, settled_stamp(search));
}

uint64_t gmt_leak_old_bytes(const struct gmt_leak_search *search, uint32_t group,
	const struct gmt_rise *rise)
{
	const struct gmt_step *steps =
		search->builder->timeline->series[search->span.series].steps.items;
	uint64_t settled = settled_stamp(search),
			 before = steps[(rise->last_rise - 1) * search->span.stride].end;

	return bytes_until(search, group, before < settled ? before : settled);
}

uint64_t gmt_leak_block_bytes(const struct gmt_leak_search *search, uint32_t group)
{
	size_t count;
	const struct gmt_history_block *blocks =
		gmt_leak_blocks(search->builder, search->span.moment, group, &count);

	for (size_t i = 1; i < count; i++)
		if (blocks[i].size_bytes != blocks[0].size_bytes)
			return 0;
	return count ? blocks[0].size_bytes : 0;
}

void gmt_leak_set_steps_to_oom(const struct gmt_leak_search *search, struct gmt_leak *leak)
{
	const struct gmt_leak_builder *builder = search->builder;
	const struct gmt_history_capture *capture = &builder->history->captures[search->span.moment];
	const struct gmt_device *device =
		leak->device >= 0 ? gmt_recording_device(builder->recording, (uint32_t)leak->device) : NULL;
	uint64_t held = 0, cached = 0;
	double steps;

	/* Free memory of the device does not help a custom heap. */
	if (!device || leak->bytes_per_step <= 0 || leak->layer == GMT_LAYER_CUSTOM)
		return;
	for (size_t i = 0; i < capture->accounts.count; i++) {
		const struct gmt_account *account = &capture->accounts.items[i];

		if (account->device != leak->device)
			continue;
		if (account->layer == GMT_LAYER_CUDA)
			held = account->live_bytes;
		else if (account->reported_reserved_bytes > account->reported_allocated_bytes)
			cached = account->reported_reserved_bytes - account->reported_allocated_bytes;
	}
	if (held > device->total_bytes)
		return;
	steps = ((double)(device->total_bytes - held) + (double)cached) / leak->bytes_per_step;
	if (steps < 1e18) /* A larger number does not fit into the JSON and means never. */
		leak->steps_to_oom = (uint64_t)steps;
}

void gmt_leak_search_fini(struct gmt_leak_search *search)
{
	gmt_vec_fini(&search->held);
	gmt_vec_fini(&search->low);
	gmt_vec_fini(&search->gathers);
	gmt_vec_fini(&search->groups);
}
