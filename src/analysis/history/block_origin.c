/* SPDX-License-Identifier: MIT */
#include "analysis/history/block_origin.h"

/* Most threads that are searched for the phase of a thread without phases. */
enum { MAX_OTHER_THREADS = 8 };

struct gmt_block_origin_step gmt_block_origin_step(struct gmt_block_origin *origin, uint64_t stamp)
{
	const struct gmt_timeline *timeline = origin->timeline;
	uint32_t step = 0, series = 0;

	/* Most blocks are made in the same step as the block before. */
	if (origin->step_begin < stamp && stamp <= origin->step_end)
		return (struct gmt_block_origin_step){ 0, origin->step_number };
	while (series < timeline->series_count &&
		!gmt_series_find(&timeline->series[series], stamp, &step))
		series++;
	if (series == timeline->series_count)
		return (struct gmt_block_origin_step){ GMT_BLOCK_ORIGIN_NO_SERIES, 0 };
	/*
	 * A step of a later series is not cached, because an earlier series may have a step for the
	 * next stamp.
	 */
	if (!series) {
		const struct gmt_step *found = &timeline->series[0].steps.items[step];

		/* If steps overlap, the earlier step gets the common part. */
		origin->step_begin = step && found[-1].end > found->begin ? found[-1].end : found->begin;
		origin->step_end = found->end;
		origin->step_number = step;
	}
	return (struct gmt_block_origin_step){ series, step };
}

void gmt_block_origin_step_range(const struct gmt_block_origin *origin, uint64_t stamp,
	uint64_t *ret_begin, uint64_t *ret_end)
{
	*ret_begin = *ret_end = 0;
	if (!origin->timeline->series_count) {
		*ret_end = UINT64_MAX;
	} else if (origin->step_begin < stamp && stamp <= origin->step_end) {
		*ret_begin = origin->step_begin;
		*ret_end = origin->step_end;
	}
}

static struct gmt_block_origin_thread *get_thread(struct gmt_block_origin *origin, uint32_t thread)
{
	uint64_t index;

	if (!gmt_map_find(&origin->thread_ids, thread, &index)) {
		struct gmt_block_origin_thread *row = gmt_vec_push(&origin->threads);

		index = origin->threads.count - 1;
		if (!row || !gmt_map_put(&origin->thread_ids, thread, index))
			return NULL;
		row->thread = thread;
	}
	return &origin->threads.items[index];
}

bool gmt_block_origin_advance(struct gmt_block_origin *origin, uint64_t stamp)
{
	const struct gmt_timeline *timeline = origin->timeline;

	for (; origin->next_phase < timeline->phases.count; origin->next_phase++) {
		const struct gmt_phase *phase = &timeline->phases.items[origin->next_phase];
		struct gmt_block_origin_thread *thread;
		uint32_t *slot;

		if (phase->begin >= stamp)
			break;
		if (!(thread = get_thread(origin, phase->thread)) ||
			!(slot = gmt_vec_push(&thread->phases)))
			return false;
		*slot = (uint32_t)origin->next_phase;
	}
	origin->next_needed_stamp = origin->next_phase < timeline->phases.count
		? timeline->phases.items[origin->next_phase].begin
		: UINT64_MAX;
	return true;
}

/* Returns the innermost open phase of the thread, + 1. 0: the thread is in no phase. */
static uint32_t innermost(const struct gmt_block_origin *origin,
	struct gmt_block_origin_thread *thread, uint64_t stamp)
{
	while (thread->phases.count) {
		uint32_t phase = thread->phases.items[thread->phases.count - 1];

		if (origin->timeline->phases.items[phase].end >= stamp)
			return phase + 1;
		thread->phases.count--;
	}
	return 0;
}

static uint32_t phase_of_others(struct gmt_block_origin *origin, uint64_t stamp)
{
	uint32_t found = 0;

	for (size_t i = 0; i < origin->threads.count && i < MAX_OTHER_THREADS; i++) {
		uint32_t phase = innermost(origin, &origin->threads.items[i], stamp);

		if (phase && found)
			return 0;
		found = phase ? phase : found;
	}
	return found;
}

uint32_t gmt_block_origin_phase(struct gmt_block_origin *origin, uint32_t thread, uint64_t stamp)
{
	uint64_t index;
	uint32_t phase = 0;

	if (!origin->threads.count)
		return 0;
	if (gmt_map_find(&origin->thread_ids, thread, &index))
		phase = innermost(origin, &origin->threads.items[index], stamp);
	if (!phase)
		phase = phase_of_others(origin, stamp);
	return phase ? origin->phase_ids.items[phase - 1] + 1 : 0;
}

bool gmt_block_origin_init(struct gmt_block_origin *origin, const struct gmt_timeline *timeline)
{
	origin->timeline = timeline;
	for (size_t i = 0; i < timeline->phases.count; i++) {
		uint32_t *id = gmt_vec_push(&origin->phase_ids);

		if (!id || !gmt_intern_text(&origin->phase_names, timeline->phases.items[i].name, id))
			return false;
	}
	return true;
}

void gmt_block_origin_fini(struct gmt_block_origin *origin)
{
	gmt_intern_fini(&origin->phase_names);
	gmt_vec_fini(&origin->phase_ids);
	for (size_t i = 0; i < origin->threads.count; i++)
		gmt_vec_fini(&origin->threads.items[i].phases);
	gmt_vec_fini(&origin->threads);
	gmt_map_fini(&origin->thread_ids);
}
