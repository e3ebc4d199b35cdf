/* SPDX-License-Identifier: MIT */
/*
 * Finds what the program freed after the last step, and distinguishes it from what was freed
 * because the program ended.
 */
#include "analysis/leaks/leak_evidence.h"
#include "reader/stacks/frame_kinds.h"

enum {
	MAX_GATHERS = 100,
	MAX_JOINS = 10000,  /* joining calls (torch.cat) that are examined at most */
	MIN_BLOCK_BYTES = 512, /* smallest block of PyTorch; may hold one value of MIN_VALUE_BYTES */
	/* The other early blocks must have at least as many bytes as the rise adds in so many steps. */
	MODEL_STEPS = 4,
	MIN_VALUE_BYTES = 4,
};

static bool is_of_cache(const struct gmt_leak_builder *builder,
	const struct gmt_history_block *block)
{
	uint32_t group_plus_1 = builder->group_plus_1_of.items[block->site];

	return group_plus_1 && builder->groups.items[group_plus_1 - 1].is_cache;
}

/*
 * Returns the bytes that live at a moment and are older than `stamp`. Caches do not count: memory
 * that PyTorch keeps for reuse outlives everything.
 */
static uint64_t bytes_before(const struct gmt_leak_builder *builder, enum gmt_history_moment moment,
	uint64_t stamp)
{
	const struct gmt_history_capture *capture = &builder->history->captures[moment];
	uint64_t bytes = 0;

	for (size_t i = 0; i < capture->blocks.count; i++)
		if (capture->blocks.items[i].stamp <= stamp &&
			!is_of_cache(builder, &capture->blocks.items[i]))
			bytes += capture->blocks.items[i].size_bytes;
	return bytes;
}

enum gmt_history_moment gmt_leak_freed_by_moment_of(const struct gmt_leak_builder *builder,
	const struct gmt_leak_span *span)
{
	const struct gmt_step *steps = builder->timeline->series[span->series].steps.items;
	uint64_t early = steps[0].end;
	uint64_t in_work = bytes_before(builder, span->moment, early);
	uint64_t at_end = bytes_before(builder, GMT_HISTORY_AT_WORK_END, early);

	if (builder->timeline->series[span->series].frees_itself)
		return GMT_HISTORY_AT_WORK_END;
	return in_work && at_end >= in_work / 2 ? GMT_HISTORY_AT_WORK_END
											: GMT_HISTORY_AT_LAST_ALLOCATION;
}

uint64_t gmt_leak_bytes_held_later(const struct gmt_leak_search *search, uint32_t group)
{
	const struct gmt_leak_builder *builder = search->builder;
	const struct gmt_history_capture *last_step = &builder->history->captures[search->span.moment];
	const struct gmt_history_capture *freed_by_moment =
		&builder->history->captures[search->freed_by_moment];
	size_t count;
	const struct gmt_history_block *blocks =
		gmt_leak_blocks(builder, search->freed_by_moment, group, &count);
	uint64_t first = builder->timeline->series[search->span.series].steps.items[0].begin, bytes = 0;

	if (!freed_by_moment->taken || freed_by_moment->stamp <= last_step->stamp)
		return UINT64_MAX;
	for (size_t i = 0; i < count; i++)
		bytes += gmt_leak_uses_block(search, &blocks[i]) && blocks[i].stamp > first
			? blocks[i].size_bytes
			: 0;
	/*
	 * The steps did not keep blocks that existed before them. So these blocks count as still held,
	 * whenever they end.
	 */
	blocks = gmt_leak_blocks(builder, search->span.moment, group, &count);
	for (size_t i = 0; i < count && blocks[i].stamp <= first; i++)
		bytes += gmt_leak_uses_block(search, &blocks[i]) ? blocks[i].size_bytes : 0;
	return bytes;
}

/* Returns whether a block of the rise lives at a moment. */
static bool is_left_of(const struct gmt_leak_rising *rising, uint32_t group,
	enum gmt_history_moment moment)
{
	size_t count;
	const struct gmt_history_block *blocks =
		gmt_leak_blocks(rising->search->builder, moment, group, &count);

	for (size_t i = 0; i < count; i++)
		if (gmt_leak_belongs_to_rise(rising, &blocks[i]))
			return true;
	return false;
}

bool gmt_leak_is_freed_first(const struct gmt_leak_rising *rising, uint32_t group)
{
	struct gmt_leak_search *search = rising->search;
	const struct gmt_leak_builder *builder = search->builder;
	uint64_t last_end_stamp = 0, all_bytes = 0, before_bytes = 0, unused;

	if (!gmt_steps_are_inferred(builder->timeline->series[search->span.series].source) ||
		search->freed_by_moment != GMT_HISTORY_AT_LAST_ALLOCATION ||
		search->pairs_left < builder->history->sites.count ||
		is_left_of(rising, group, GMT_HISTORY_AT_WORK_END))
		return false;
	search->pairs_left -= builder->history->sites.count;
	for (uint32_t site = 0; site < builder->history->sites.count; site++) {
		const struct gmt_history_site *row = &builder->history->sites.items[site];

		if (builder->group_plus_1_of.items[site] == group + 1 &&
			(!rising->sites.count || gmt_map_find(&rising->sites, site, &unused)) &&
			row->last_end_stamp > last_end_stamp)
			last_end_stamp = row->last_end_stamp;
	}
	for (uint32_t site = 0; site < builder->history->sites.count; site++) {
		const struct gmt_history_site *row = &builder->history->sites.items[site];

		if (builder->group_plus_1_of.items[site] == group + 1)
			continue;
		all_bytes += row->first_step_blocks_ended_bytes;
		before_bytes += row->first_step_blocks_end_stamp < last_end_stamp
			? row->first_step_blocks_ended_bytes
			: 0;
	}
	/* The rest must be larger than the first element of a list, which another line made. */
	return last_end_stamp && before_bytes < all_bytes / 10 &&
		(double)all_bytes >= MODEL_STEPS * rising->rise.per_sample / (double)search->span.stride;
}

/* Returns the file of a stack's own line, as the id of a string. 0: it has no file. */
static uint32_t file_of(const struct gmt_traces *traces, uint32_t stack)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);

	return count ? gmt_traces_place(traces, places[gmt_traces_own_line(traces, stack)])->file : 0;
}

/* Returns whether a stack made no block in the steps of the series. */
static bool is_only_after_steps(const struct gmt_leak_search *search, uint32_t stack)
{
	const struct gmt_leak_builder *builder = search->builder;

	for (uint32_t site = 0; site < builder->history->sites.count; site++)
		if (builder->replay->site_stacks.items[site] == stack &&
			builder->history->sites.items[site].sample_count[search->span.series])
			return false;
	return true;
}

/* Fills search->gathers with the allocations that joined tensors after the last step. */
static bool find_gathers(struct gmt_leak_search *search)
{
	const struct gmt_leak_builder *builder = search->builder;
	const struct gmt_recording *recording = builder->recording;
	uint64_t first = builder->history->captures[search->span.moment].stamp;
	size_t joins = 0, i = recording->events.count;

	search->has_gathers = true;
	while (i-- > recording->compacted_events && joins < MAX_JOINS &&
		search->gathers.count < MAX_GATHERS) {
		struct gmt_recording_event event = gmt_recording_event(recording, i);
		uint32_t stack;

		if (event.stamp <= first)
			break;
		if (event.kind != GMT_KIND_ALLOC || event.layer != GMT_LAYER_TORCH ||
			event.stamp > builder->timeline->work_end)
			continue;
		stack = builder->traces->stack_of_trace[event.trace];
		if (!(builder->traces->stack_frame_kinds.items[stack] & GMT_FRAME_KIND_BIT(CAT)))
			continue;
		joins++;
		if (!is_only_after_steps(search, stack))
			continue;

		struct gmt_leak_gather *gather = gmt_vec_push(&search->gathers);
		if (!gather)
			return false;
		*gather = (struct gmt_leak_gather){ file_of(builder->traces, stack), event.size_bytes };
	}
	return true;
}

bool gmt_leak_is_gathered(const struct gmt_leak_rising *rising, uint32_t group, bool *ret_gathered)
{
	struct gmt_leak_search *search = rising->search;
	const struct gmt_leak_builder *builder = search->builder;
	size_t count, end_count;
	const struct gmt_history_block *blocks =
		gmt_leak_blocks(builder, search->span.moment, group, &count);
	uint64_t bytes = 0, joined = 0;
	uint32_t file;

	*ret_gathered = false;
	gmt_leak_blocks(builder, GMT_HISTORY_AT_WORK_END, group, &end_count);
	if (!count || end_count * 10 > count)
		return true;
	if (!search->has_gathers && !find_gathers(search))
		return false;
	file = file_of(builder->traces, builder->replay->site_stacks.items[blocks[count - 1].site]);
	/*
	 * Least size of the tensors in these blocks. Results that keep their graph hold much more than
	 * the program joined.
	 */
	for (size_t i = 0; i < count; i++)
		if (gmt_leak_belongs_to_rise(rising, &blocks[i]))
			bytes += blocks[i].size_bytes <= MIN_BLOCK_BYTES ? MIN_VALUE_BYTES
															 : blocks[i].size_bytes / 2;
	for (size_t i = 0; file && i < search->gathers.count; i++)
		joined += search->gathers.items[i].file == file ? search->gathers.items[i].bytes : 0;
	*ret_gathered = joined && joined >= bytes;
	return true;
}
