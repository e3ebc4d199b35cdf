/* SPDX-License-Identifier: MIT */
/*
 * Definition unexplained. What a layer holds at the ends of steps is known exactly. So its rise is
 * the sum of three parts: findings of growth, lines that rise for a benign cause, and the other
 * lines. The curves of the other lines are summed and judged as one curve.
 */
#include "analysis/leaks/leak_evidence.h"

enum { MAX_SAMPLES_PER_RISE = 4 }; /* at least one sample in this many must have risen */

struct account {
	uint32_t layer;
	int32_t device;
	uint32_t space;
};

/* A sum: the lines of one account, and how they rise together. */
struct sum {
	struct gmt_leak_search *search;
	const uint32_t *sites;
	const size_t *first_site; /* by group */
	struct account account;
	struct gmt_rise rise;
};

static bool is_of(const struct gmt_leak_group *group, const struct account *account)
{
	return group->layer == account->layer && group->device == account->device &&
		group->space == account->space;
}

/* Returns whether nothing explains what a group holds. */
static bool is_open(const struct sum *sum, uint32_t group)
{
	const struct gmt_leak_search *search = sum->search;
	const struct gmt_leak_group_state *state = &search->groups.items[group];

	return is_of(&search->builder->groups.items[group], &sum->account) && !state->is_explained &&
		!state->is_summed && gmt_leak_is_judged(search->builder, group, GMT_LEAK_GROWTH);
}

static uint64_t held_by(const struct sum *sum, uint32_t group, size_t sample)
{
	uint64_t bytes = 0;

	for (size_t i = sum->first_site[group]; i < sum->first_site[group + 1]; i++)
		bytes += gmt_leak_held_by(sum->search, sum->sites[i], sample);
	return bytes;
}

static bool judge(struct sum *sum)
{
	struct gmt_leak_search *search = sum->search;
	uint64_t later_bytes = 0;

	if (!gmt_leak_curve_begin(search))
		return false;
	for (uint32_t group = 0; group < search->builder->groups.count; group++) {
		uint64_t bytes;

		if (!is_open(sum, group))
			continue;
		for (size_t i = sum->first_site[group]; i < sum->first_site[group + 1]; i++)
			gmt_leak_curve_add(search, sum->sites[i]);
		bytes = gmt_leak_bytes_held_later(search, group);
		later_bytes = bytes == UINT64_MAX ? bytes : later_bytes + bytes;
	}
	return gmt_leak_curve_judge(search, later_bytes, &sum->rise);
}

/*
 * Returns the part of the rise that is old. Blocks of the last two steps are in use. Blocks that
 * are replaced by larger ones also rise.
 */
static uint64_t kept_bytes(const struct sum *sum)
{
	uint64_t bytes = 0;

	for (uint32_t group = 0; group < sum->search->builder->groups.count; group++) {
		uint64_t before, rose, old;

		if (!is_open(sum, group))
			continue;
		before = held_by(sum, group, sum->rise.first);
		rose = held_by(sum, group, sum->rise.last);
		old = gmt_leak_old_bytes(sum->search, group, &sum->rise);
		if (rose > before && old > before)
			bytes += old < rose ? old - before : rose - before;
	}
	return bytes;
}

static bool list_lines(const struct sum *sum, struct gmt_leak *leak)
{
	const struct gmt_leak_climb climb = { sum->rise.first, sum->rise.last, 0 };

	for (uint32_t group = 0; group < sum->search->builder->groups.count; group++) {
		size_t first = sum->first_site[group];
		struct gmt_leak_line line, *row;

		if (!is_open(sum, group))
			continue;
		line = gmt_leak_line_of(sum->search, group, sum->sites + first,
			sum->first_site[group + 1] - first, &climb);
		if (!line.bytes)
			continue;
		row = gmt_vec_push(&leak->rose_most);
		if (!row)
			return false;
		*row = line;
	}
	leak->rose_most.count = gmt_leak_sort_lines(leak->rose_most.items, leak->rose_most.count);
	return true;
}

/*
 * Marks the lines of this growth: they are not summed again, and they are removed from levels_off.
 */
static void close_groups(const struct sum *sum)
{
	struct gmt_leaks *leaks = sum->search->builder->leaks;

	for (uint32_t group = 0; group < sum->search->builder->groups.count; group++) {
		struct gmt_leak_group_state *state = &sum->search->groups.items[group];

		if (!is_open(sum, group))
			continue;
		state->is_summed = true;
		if (state->levels_off_plus_1)
			leaks->levels_off.items[state->levels_off_plus_1 - 1].bytes = 0;
	}
}

static bool report(const struct sum *sum)
{
	const struct gmt_leak_span *span = &sum->search->span;
	struct gmt_leak *leak = gmt_vec_push(&sum->search->builder->leaks->rows);

	if (!leak)
		return false;
	*leak = (struct gmt_leak){
		.definition = GMT_LEAK_UNEXPLAINED,
		.layer = sum->account.layer,
		.device = sum->account.device,
		.space = sum->account.space,
		.stack = GMT_LEAK_NO_STACK,
		.category = GMT_CATEGORY_OTHER,
		.bytes = sum->rise.bytes,
		.bytes_per_step = sum->rise.per_sample / (double)span->stride,
		.reason = GMT_LEAK_REASON_TOGETHER,
		.confidence = gmt_leak_reason_confidence(GMT_LEAK_REASON_TOGETHER),
		.series = span->series,
		.first_step = (uint32_t)(sum->rise.first * span->stride),
		.steps = (uint32_t)(span->steps - span->warmup),
		.steps_to_oom = UINT64_MAX,
	};
	gmt_leak_set_steps_to_oom(sum->search, leak);
	if (!list_lines(sum, leak))
		return false;
	close_groups(sum);
	return true;
}

/*
 * Returns whether the sum rises often enough. Many lines may each make something once, at any time.
 * Together they grow only if this happens all the time.
 */
static bool is_dense(const struct gmt_rise *rise)
{
	return rise->kind == GMT_RISE_GROWS && !rise->are_few &&
		rise->rises * MAX_SAMPLES_PER_RISE >= rise->last - rise->first;
}

static bool judge_account(struct sum *sum)
{
	for (uint32_t group = 0; group < sum->search->builder->groups.count; group++)
		if (is_of(&sum->search->builder->groups.items[group], &sum->account))
			sum->search->groups.items[group].is_account_judged = true;
	if (!judge(sum))
		return false;
	return !is_dense(&sum->rise) || kept_bytes(sum) < sum->rise.bytes / 2 || report(sum);
}

bool gmt_leak_find_unexplained(struct gmt_leak_search *search, const uint32_t *sites,
	const size_t *first_site)
{
	const struct gmt_leak_builder *builder = search->builder;

	for (uint32_t group = 0; group < builder->groups.count; group++)
		search->groups.items[group].is_explained |= gmt_leak_is_of_parameters(search, group);
	for (uint32_t group = 0; group < builder->groups.count; group++) {
		const struct gmt_leak_group *row = &builder->groups.items[group];
		struct sum sum = {
			.search = search,
			.sites = sites,
			.first_site = first_site,
			.account = { row->layer, row->device, row->space },
		};

		if (!search->groups.items[group].is_account_judged && !judge_account(&sum))
			return false;
	}
	return true;
}
