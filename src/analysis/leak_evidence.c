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

bool gmt_leak_turns_over(const struct gmt_leak_search *search, uint32_t site)
{
	uint64_t late_bytes = search->maker->history->sites.items[site].late_bytes[search->span.series];

	return late_bytes && late_bytes >= search->new_bytes.items[site] / 2;
}

/* Fills new_bytes. */
bool gmt_leak_find_new_bytes(struct gmt_leak_search *search)
{
	const struct gmt_leak_maker *maker = search->maker;
	const struct gmt_history_capture *capture = &maker->history->captures[search->span.moment];
	size_t sites = maker->history->sites.count, steps = search->span.steps;
	uint32_t step;

	if (!gmt_vec_reserve(&search->new_bytes, sites + 1))
		return false;
	memset(search->new_bytes.items, 0, sites * sizeof(*search->new_bytes.items));
	for (size_t i = 0; i < capture->blocks.count; i++) {
		const struct gmt_history_block *block = &capture->blocks.items[i];

		if (gmt_series_find(&maker->timeline->series[search->span.series], block->stamp, &step) &&
			step >= steps - steps / 4 - 1)
			search->new_bytes.items[block->site] += block->size_bytes;
	}
	return true;
}

static bool prepare(struct gmt_leak_left *left, const struct gmt_leak_span *span)
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
	left->inside_blocks = left->all_blocks = 0;
	left->tail = 0;
	return true;
}

/* The steps behind the warm-up, the margin left out, are looked at in so many stretches. */
static size_t stretch_count(const struct gmt_leak_span *span)
{
	size_t steps = span->steps - span->margin - span->warmup;

	return steps < GMT_LEAK_WINDOWS ? steps : GMT_LEAK_WINDOWS;
}

static void fill_stretch(const struct gmt_leak_span *span, uint32_t step, struct gmt_leak_left *left)
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

/* Notes a step that left something, in falling order; a step in ten may leave nothing. */
struct tail {
	uint32_t last;    /* the step of it that was met last */
	size_t length, filled;
	bool is_over;
};

static void lengthen(struct tail *tail, const struct gmt_leak_span *span, uint32_t step)
{
	size_t end = span->steps - span->margin; /* behind the last step that counts */

	if (tail->is_over || step >= end || (tail->length && step == tail->last))
		return;

	size_t length = end - step;
	if (length > (tail->filled + 1) + (tail->filled + 1) / 10 + 1) {
		tail->is_over = true;
		return;
	}
	tail->last = step;
	tail->length = length;
	tail->filled++;
}

/*
 * Notes what the blocks of a group say of its steps. There may be many more steps than blocks, and many
 * groups: nothing here is done for each step.
 */
bool gmt_leak_look_at_blocks(struct gmt_leak_search *search, uint32_t group)
{
	const struct gmt_leak_span *span = &search->span;
	struct gmt_leak_left *left = &search->left;
	const struct gmt_step_series *series = &search->maker->timeline->series[span->series];
	struct tail tail = { 0 };
	size_t count;
	const struct gmt_history_block *blocks = gmt_leak_blocks(search->maker, span->moment, group, &count);
	uint32_t step;

	if (!prepare(left, span))
		return false;
	/* The newest first. */
	for (size_t i = count; i-- > 0;) {
		size_t sample = 0;

		if (gmt_leak_turns_over(search, blocks[i].site))
			continue;
		left->all_bytes += blocks[i].size_bytes;
		left->all_blocks++;
		if (gmt_series_find(series, blocks[i].stamp, &step) && step < span->steps) {
			left->inside_bytes += blocks[i].size_bytes;
			left->inside_blocks++;
			left->first_step = step < left->first_step ? step : left->first_step;
			fill_stretch(span, step, left);
			lengthen(&tail, span, step);
			sample = (step + span->stride - 1) / span->stride;
		}
		if (sample < span->samples)
			left->curve.items[sample] += blocks[i].size_bytes;
	}
	for (size_t sample = 1; sample < span->samples; sample++)
		left->curve.items[sample] += left->curve.items[sample - 1];
	left->tail = tail.length;
	return true;
}

/* What did not change is not in the history. */
void gmt_leak_add_live(struct gmt_leak_search *search, uint32_t site)
{
	const struct gmt_leak_maker *maker = search->maker;
	const struct gmt_leak_span *span = &search->span;
	struct gmt_leak_left *left = &search->left;
	const struct gmt_history_site *row = &maker->history->sites.items[site];
	const struct gmt_history_sample *samples =
		gmt_vec_at(&maker->history->series[span->series].samples, row->first_sample[span->series]);
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

struct gmt_leak_stretches gmt_leak_fill_of(const struct gmt_leak_search *search)
{
	const struct gmt_leak_left *left = &search->left;
	struct gmt_leak_stretches stretches = { .count = stretch_count(&search->span) };

	for (size_t w = 0; w < stretches.count; w++) {
		stretches.filled += left->is_filled[w];
		if (w + 2 >= stretches.count)
			stretches.last_filled |= left->is_filled[w];
	}
	return stretches;
}

bool gmt_leak_rises_all_the_time(const struct gmt_leak_search *search)
{
	const struct gmt_leak_span *span = &search->span;
	const struct gmt_leak_left *left = &search->left;
	size_t count = span->samples - span->first_sample;
	size_t windows = count < GMT_LEAK_WINDOWS ? count : GMT_LEAK_WINDOWS;
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

void gmt_leak_search_fini(struct gmt_leak_search *search)
{
	gmt_vec_fini(&search->left.curve);
	gmt_vec_fini(&search->left.live);
	gmt_vec_fini(&search->left.low);
	gmt_vec_fini(&search->new_bytes);
}
