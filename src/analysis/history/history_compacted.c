/* SPDX-License-Identifier: MIT */
#include "analysis/history/history_compacted.h"

/* State of a row of past.sites after the samples read so far. */
struct part {
	uint64_t live_bytes, low_bytes; /* low: within the current interval. */
	uint64_t interval; /* last interval in which it had a row, + 1 */
};

/* State of a site in the current interval. */
struct whole {
	uint64_t live_bytes, low_bytes, ended_bytes;
	bool is_in;
};

/* A range in past.curves. */
struct range {
	size_t first, count;
};

/* Working data: the rows of one interval between two samples of the reader. */
struct setter {
	struct gmt_history_follower *follower;
	struct gmt_history *history;
	size_t index;
	uint64_t interval; /* number of the sample that ends the interval */
	uint64_t last_step; /* step of the last row */
	GMT_VEC(struct range) ranges; /* by row of past.counters */
	GMT_VEC(struct part) parts;   /* by row of past.sites */
	GMT_VEC(struct whole) wholes; /* by site */
	GMT_VEC(uint32_t) in;
};

void gmt_history_plan_compacted(struct gmt_history_series *ret_series,
	const struct gmt_recording *recording, const struct gmt_step_series *steps)
{
	uint64_t stride = ret_series->stride;

	if (!gmt_recording_compacted_events(recording))
		return;
	ret_series->lacks_compacted_samples = steps->lacks_compacted_samples ||
		(steps->steps.items[0].end <= recording->compacted.fold.stamp && !steps->compacted.count);
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

static bool keep_sample(struct setter *setter, uint32_t site, const struct whole *whole)
{
	struct gmt_history_sample *slot = gmt_vec_push(&setter->follower->series->samples);
	uint32_t *owner = gmt_vec_push(&setter->follower->log_sites);

	if (!slot || !owner)
		return false;
	*slot = (struct gmt_history_sample){
		.sample = (uint32_t)setter->interval,
		.live_bytes = whole->live_bytes,
		.low_bytes = whole->low_bytes,
	};
	*owner = site;
	return true;
}

/* Keeps what came after the reader's last sample as if the events had been replayed. */
static bool keep_open(struct setter *setter, uint32_t site, const struct whole *whole)
{
	struct gmt_history_follower *follower = setter->follower;

	if (!gmt_history_touch(follower, site, whole->low_bytes))
		return false;
	if (follower->has_end)
		follower->lows.items[site] = whole->low_bytes;
	return true;
}

static void note_site(struct setter *setter, uint32_t site, const struct whole *whole)
{
	struct gmt_history_site *row = &setter->history->sites.items[site];
	const struct gmt_history_follower *follower = setter->follower;
	size_t steps = follower->steps->steps.count;

	/* A block that lived at the end of a step was made in that step or earlier. */
	if (!setter->index)
		row->kept_count += whole->live_bytes != 0;
	if (setter->last_step >= steps - steps / 4 - 1)
		row->freed_in_last_quarter_bytes[setter->index] += whole->ended_bytes;
}

static bool end_interval(struct setter *setter)
{
	bool is_open = setter->interval >= setter->follower->series->sample_count;

	for (size_t i = 0; i < setter->in.count; i++) {
		uint32_t site = setter->in.items[i];
		struct whole *whole = &setter->wholes.items[site];

		if (!(is_open ? keep_open : keep_sample)(setter, site, whole))
			return false;
		note_site(setter, site, whole);
		whole->is_in = false;
		whole->ended_bytes = 0;
	}
	setter->in.count = 0;
	return true;
}

static bool add_row(struct setter *setter, const struct gmt_past_curve *row, uint32_t site)
{
	struct part *part = &setter->parts.items[row->site - 1];
	struct whole *whole = &setter->wholes.items[site];
	uint64_t low_bytes = row->low_bytes;

	if (!whole->is_in) {
		uint32_t *slot = gmt_vec_push(&setter->in);

		if (!slot)
			return false;
		*slot = site;
		whole->is_in = true;
		whole->low_bytes = whole->live_bytes;
	}
	/* A second sample of the compacted prefix in the same interval. */
	if (part->interval == setter->interval + 1)
		low_bytes = part->low_bytes < low_bytes ? part->low_bytes : low_bytes;
	whole->low_bytes +=
		low_bytes - (part->interval == setter->interval + 1 ? part->low_bytes : part->live_bytes);
	whole->live_bytes += row->live_bytes - part->live_bytes;
	whole->ended_bytes += row->ended_bytes;
	*part = (struct part){ row->live_bytes, low_bytes, setter->interval + 1 };
	return true;
}

/*
 * Adds the rows of one counter. Its rows after the last mark belong to no step, so they count only
 * for the last counter.
 */
static bool add_counter(struct setter *setter, const struct gmt_recording *recording,
	const struct gmt_replay *replay, const struct gmt_step_compacted *compacted, bool is_last)
{
	const struct gmt_compacted_prefix *of = &recording->compacted;
	struct range range = setter->ranges.items[compacted->counter];
	uint32_t stride = setter->follower->series->stride;

	for (size_t i = range.first; i < range.first + range.count; i++) {
		const struct gmt_past_curve *row = &of->curves.items[i];
		uint64_t step = compacted->first_step + row->step;
		uint32_t site_plus_1;

		if (row->step == compacted->steps && !is_last)
			continue;
		if (row->step > compacted->steps || !row->site ||
			row->site > replay->compacted_sites.count || step < setter->last_step) {
			setter->follower->series->lacks_compacted_samples = true;
			return true;
		}
		site_plus_1 = replay->compacted_sites.items[row->site - 1];
		if ((step + stride - 1) / stride != setter->interval && !end_interval(setter))
			return false;
		setter->interval = (step + stride - 1) / stride;
		setter->last_step = step;
		if (site_plus_1 && !add_row(setter, row, site_plus_1 - 1))
			return false;
	}
	return true;
}

/* Finds the range of each counter. The rows of a counter must be contiguous. */
static bool find_ranges(struct setter *setter, const struct gmt_compacted_prefix *compacted)
{
	if (!gmt_vec_reserve(&setter->ranges, compacted->counters.count))
		return false;
	for (size_t i = 0; i < compacted->curves.count; i++) {
		uint32_t counter = compacted->curves.items[i].counter;
		struct range *range = counter && counter <= compacted->counters.count
			? &setter->ranges.items[counter - 1]
			: NULL;

		if (range && !range->count)
			range->first = i;
		if (range && range->first + range->count == i)
			range->count++;
		else
			setter->follower->series->lacks_compacted_samples = true;
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
	follower->log_sites.count = 0;
}

bool gmt_history_set_compacted(struct gmt_history_follower *follower, struct gmt_history *history,
	size_t index, const struct gmt_recording *recording, const struct gmt_replay *replay)
{
	struct setter setter = { .follower = follower, .history = history, .index = index };
	bool done = true;

	if (follower->series->lacks_compacted_samples || !follower->steps->compacted.count)
		return true;
	/* The reserved memory is zeroed. */
	done = find_ranges(&setter, &recording->compacted) &&
		gmt_vec_reserve(&setter.parts, replay->compacted_sites.count) &&
		gmt_vec_reserve(&setter.wholes, replay->accounting.sites.count);
	forget_survivors(follower);
	for (size_t i = 0; done && i < follower->steps->compacted.count; i++)
		done = add_counter(&setter, recording, replay, &follower->steps->compacted.items[i],
			i + 1 == follower->steps->compacted.count);
	done = done && end_interval(&setter);
	gmt_vec_fini(&setter.ranges);
	gmt_vec_fini(&setter.parts);
	gmt_vec_fini(&setter.wholes);
	gmt_vec_fini(&setter.in);
	return done;
}
