/* SPDX-License-Identifier: MIT */
#include "analysis/history/history_compacted.h"

/* State of a row of compacted.sites after the samples read so far. */
struct row_state {
	uint64_t live_bytes;
	uint64_t low_bytes; /* within the current interval */
	uint64_t interval; /* last interval in which it had a row, + 1 */
};

/* State of a site in the current interval: the sum of its rows. */
struct site_state {
	uint64_t live_bytes, low_bytes, ended_bytes;
	bool is_changed;
};

/* A range in compacted.curves. */
struct range {
	size_t first, count;
};

/* Working data: the rows of one interval between two samples of the reader. */
struct builder {
	struct gmt_history_follower *follower;
	struct gmt_history *history;
	size_t index;
	uint64_t interval; /* number of the sample that ends the interval */
	uint64_t last_step; /* step of the last row */
	GMT_VEC(struct range) ranges; /* by row of compacted.counters */
	GMT_VEC(struct row_state) row_states; /* by row of compacted.sites */
	GMT_VEC(struct site_state) site_states; /* by site */
	GMT_VEC(uint32_t) changed; /* sites with a row in the current interval */
};

void gmt_history_plan_compacted(struct gmt_history_series *ret_series,
	const struct gmt_recording *recording, const struct gmt_step_series *steps)
{
	uint64_t stride = ret_series->stride;

	if (!gmt_recording_compacted_events(recording))
		return;
	ret_series->lacks_compacted_samples = steps->lacks_compacted_samples ||
		(steps->steps.items[0].end <= recording->compacted.cut_stamp && !steps->compacted.count);
	if (ret_series->lacks_compacted_samples)
		return;
	for (size_t i = 0; i < steps->compacted.count; i++) {
		uint64_t others =
			recording->compacted.counters.items[steps->compacted.items[i].counter].stride;

		if (!others || others > steps->steps.count) {
			ret_series->lacks_compacted_samples |= others != 1;
			continue;
		}
		/*
		 * With a single counter, each sample of the reader is also a sample of the compacted
		 * prefix.
		 */
		stride = steps->compacted.count == 1 ? (stride + others - 1) / others * others
			: others > stride                ? others
											 : stride;
	}
	ret_series->stride = (uint32_t)stride;
}

static bool keep_sample(struct builder *builder, uint32_t site, const struct site_state *state)
{
	struct gmt_history_sample *slot = gmt_vec_push(&builder->follower->series->samples);
	uint32_t *owner = gmt_vec_push(&builder->follower->sample_sites);

	if (!slot || !owner)
		return false;
	*slot = (struct gmt_history_sample){
		.sample = (uint32_t)builder->interval,
		.live_bytes = state->live_bytes,
		.low_bytes = state->low_bytes,
	};
	*owner = site;
	return true;
}

/* Keeps the changes after the reader's last sample as if their events had been replayed. */
static bool keep_open(struct builder *builder, uint32_t site, const struct site_state *state)
{
	struct gmt_history_follower *follower = builder->follower;

	if (!gmt_history_touch(follower, site, state->low_bytes))
		return false;
	if (follower->has_end)
		follower->lows.items[site] = state->low_bytes;
	return true;
}

static void note_site(struct builder *builder, uint32_t site, const struct site_state *state)
{
	struct gmt_history_site *row = &builder->history->sites.items[site];
	const struct gmt_history_follower *follower = builder->follower;
	size_t steps = follower->steps->steps.count;

	/* A block that lived at the end of a step was made in that step or earlier. */
	if (!builder->index)
		row->kept_count += state->live_bytes != 0;
	if (builder->last_step >= steps - steps / 4 - 1)
		row->freed_in_last_quarter_bytes[builder->index] += state->ended_bytes;
}

static bool end_interval(struct builder *builder)
{
	bool is_open = builder->interval >= builder->follower->series->sample_count;

	for (size_t i = 0; i < builder->changed.count; i++) {
		uint32_t site = builder->changed.items[i];
		struct site_state *state = &builder->site_states.items[site];

		if (!(is_open ? keep_open : keep_sample)(builder, site, state))
			return false;
		note_site(builder, site, state);
		state->is_changed = false;
		state->ended_bytes = 0;
	}
	builder->changed.count = 0;
	return true;
}

static bool add_row(struct builder *builder, const struct gmt_past_curve *row, uint32_t site)
{
	struct row_state *row_state = &builder->row_states.items[row->site - 1];
	struct site_state *state = &builder->site_states.items[site];
	uint64_t low_bytes = row->low_bytes;

	if (!state->is_changed) {
		uint32_t *slot = gmt_vec_push(&builder->changed);

		if (!slot)
			return false;
		*slot = site;
		state->is_changed = true;
		state->low_bytes = state->live_bytes;
	}
	/* A second sample of the compacted prefix in the same interval. */
	if (row_state->interval == builder->interval + 1)
		low_bytes = row_state->low_bytes < low_bytes ? row_state->low_bytes : low_bytes;
	state->low_bytes += low_bytes -
		(row_state->interval == builder->interval + 1 ? row_state->low_bytes
													  : row_state->live_bytes);
	state->live_bytes += row->live_bytes - row_state->live_bytes;
	state->ended_bytes += row->ended_bytes;
	*row_state = (struct row_state){ row->live_bytes, low_bytes, builder->interval + 1 };
	return true;
}

/*
 * Adds the rows of one counter. Its rows after the last mark belong to no step, so they count only
 * for the last counter.
 */
static bool add_counter(struct builder *builder, const struct gmt_recording *recording,
	const struct gmt_replay *replay, const struct gmt_step_compacted *compacted, bool is_last)
{
	const struct gmt_compacted_prefix *prefix = &recording->compacted;
	struct range range = builder->ranges.items[compacted->counter];
	uint32_t stride = builder->follower->series->stride;

	for (size_t i = range.first; i < range.first + range.count; i++) {
		const struct gmt_past_curve *row = &prefix->curves.items[i];
		uint64_t step = compacted->first_step + row->step;
		uint32_t site_plus_1;

		if (row->step == compacted->steps && !is_last)
			continue;
		if (row->step > compacted->steps || !row->site || row->site > replay->prefix_sites.count ||
			step < builder->last_step) {
			builder->follower->series->lacks_compacted_samples = true;
			return true;
		}
		site_plus_1 = replay->prefix_sites.items[row->site - 1];
		if ((step + stride - 1) / stride != builder->interval && !end_interval(builder))
			return false;
		builder->interval = (step + stride - 1) / stride;
		builder->last_step = step;
		if (site_plus_1 && !add_row(builder, row, site_plus_1 - 1))
			return false;
	}
	return true;
}

/* Finds the range of each counter. The rows of a counter must be contiguous. */
static bool find_ranges(struct builder *builder, const struct gmt_compacted_prefix *compacted)
{
	if (!gmt_vec_reserve(&builder->ranges, compacted->counters.count))
		return false;
	for (size_t i = 0; i < compacted->curves.count; i++) {
		uint32_t counter = compacted->curves.items[i].counter;
		struct range *range = counter && counter <= compacted->counters.count
			? &builder->ranges.items[counter - 1]
			: NULL;

		if (range && !range->count)
			range->first = i;
		if (range && range->first + range->count == i)
			range->count++;
		else
			builder->follower->series->lacks_compacted_samples = true;
	}
	return true;
}

static void forget_survivors(struct gmt_history_follower *follower)
{
	struct gmt_history_series *series = follower->series;

	for (size_t i = 0; i < follower->touched.count; i++)
		follower->is_touched.items[follower->touched.items[i]] = 0;
	follower->touched.count = 0;
	follower->has_end = follower->cursor && (follower->cursor - 1) % series->stride != 0;
	series->samples.count = 0;
	follower->sample_sites.count = 0;
}

bool gmt_history_set_compacted(struct gmt_history_follower *follower, struct gmt_history *history,
	size_t index, const struct gmt_recording *recording, const struct gmt_replay *replay)
{
	struct builder builder = { .follower = follower, .history = history, .index = index };
	bool done = true;

	if (follower->series->lacks_compacted_samples || !follower->steps->compacted.count)
		return true;
	/* The reserved memory is zeroed. */
	done = find_ranges(&builder, &recording->compacted) &&
		gmt_vec_reserve(&builder.row_states, replay->prefix_sites.count) &&
		gmt_vec_reserve(&builder.site_states, replay->accounting.sites.count);
	forget_survivors(follower);
	for (size_t i = 0; done && i < follower->steps->compacted.count; i++)
		done = add_counter(&builder, recording, replay, &follower->steps->compacted.items[i],
			i + 1 == follower->steps->compacted.count);
	done = done && end_interval(&builder);
	gmt_vec_fini(&builder.ranges);
	gmt_vec_fini(&builder.row_states);
	gmt_vec_fini(&builder.site_states);
	gmt_vec_fini(&builder.changed);
	return done;
}
