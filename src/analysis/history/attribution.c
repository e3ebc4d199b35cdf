/* SPDX-License-Identifier: MIT */
#include "analysis/history/attribution.h"

/* most threads that are searched for the phase of a thread without phases. */
enum { MAX_OTHER_THREADS = 8 };

static struct gmt_attribution_row *get_row(struct gmt_attribution_rows *rows, uint32_t account,
	uint32_t series, uint32_t number)
{
	/* Account numbers are below 2^20: 2^16 devices times a few layers. */
	uint64_t key = (uint64_t)account << 34 | (uint64_t)series << 32 | number;

	if (rows->last_key_plus_1 != key + 1) {
		if (!gmt_map_find(&rows->ids, key, &rows->last_index)) {
			struct gmt_attribution_row *row = gmt_vec_push(&rows->items);

			rows->last_key_plus_1 = 0;
			rows->last_index = rows->items.count - 1;
			if (!row || !gmt_map_put(&rows->ids, key, rows->last_index))
				return NULL;
			row->account = account;
			row->series = series;
			row->number = number;
		}
		rows->last_key_plus_1 = key + 1;
	}
	return &rows->items.items[rows->last_index];
}

static struct gmt_attribution_row *step_row(struct gmt_attribution *attribution, uint32_t account,
	uint64_t stamp)
{
	const struct gmt_timeline *timeline = attribution->timeline;
	uint32_t step = 0, series = 0;

	/* Most blocks are made in the same step as the block before. */
	if (attribution->step_begin < stamp && stamp <= attribution->step_end)
		return get_row(&attribution->steps, account, 0, attribution->step_number);
	while (series < timeline->series_count &&
		!gmt_series_find(&timeline->series[series], stamp, &step))
		series++;
	if (series == timeline->series_count)
		return get_row(&attribution->steps, account, GMT_ATTRIBUTION_NO_SERIES, 0);
	/*
	 * A step of a later series is not cached, because an earlier series may have a step for the
	 * next stamp.
	 */
	if (!series) {
		const struct gmt_step *found = &timeline->series[0].steps.items[step];

		/* If steps overlap, the earlier step gets the common part. */
		attribution->step_begin =
			step && found[-1].end > found->begin ? found[-1].end : found->begin;
		attribution->step_end = found->end;
		attribution->step_number = step;
	}
	return get_row(&attribution->steps, account, series, step);
}

static struct gmt_attribution_thread *get_thread(struct gmt_attribution *attribution,
	uint32_t thread)
{
	uint64_t index;

	if (!gmt_map_find(&attribution->thread_ids, thread, &index)) {
		struct gmt_attribution_thread *row = gmt_vec_push(&attribution->threads);

		index = attribution->threads.count - 1;
		if (!row || !gmt_map_put(&attribution->thread_ids, thread, index))
			return NULL;
		row->thread = thread;
	}
	return &attribution->threads.items[index];
}

/* Returns the innermost open phase of the thread, + 1. 0: the thread is in no phase. */
static uint32_t innermost(const struct gmt_attribution *attribution,
	struct gmt_attribution_thread *thread, uint64_t stamp)
{
	while (thread->phases.count) {
		uint32_t phase = thread->phases.items[thread->phases.count - 1];

		if (attribution->timeline->phases.items[phase].end >= stamp)
			return phase + 1;
		thread->phases.count--;
	}
	return 0;
}

static uint32_t phase_of_others(struct gmt_attribution *attribution, uint64_t stamp)
{
	uint32_t found = 0;

	for (size_t i = 0; i < attribution->threads.count && i < MAX_OTHER_THREADS; i++) {
		uint32_t phase = innermost(attribution, &attribution->threads.items[i], stamp);

		if (phase && found)
			return 0;
		found = phase ? phase : found;
	}
	return found;
}

static uint32_t phase_of(struct gmt_attribution *attribution, uint32_t thread, uint64_t stamp)
{
	uint64_t index;
	uint32_t phase = 0;

	if (gmt_map_find(&attribution->thread_ids, thread, &index))
		phase = innermost(attribution, &attribution->threads.items[index], stamp);
	if (!phase)
		phase = phase_of_others(attribution, stamp);
	return phase ? attribution->phase_ids.items[phase - 1] + 1 : 0;
}

static void count_attribution(struct gmt_attribution_row *row, uint64_t size_bytes)
{
	row->allocs++;
	row->total_bytes = gmt_account_sum_bytes(row->total_bytes, size_bytes);
	if (size_bytes > row->largest_bytes)
		row->largest_bytes = size_bytes;
}

static bool on_before(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, size_t index)
{
	struct gmt_attribution *attribution = user;
	const struct gmt_timeline *timeline = attribution->timeline;

	(void)replay;
	(void)index;
	for (; attribution->next_phase < timeline->phases.count; attribution->next_phase++) {
		const struct gmt_phase *phase = &timeline->phases.items[attribution->next_phase];
		struct gmt_attribution_thread *thread;
		uint32_t *slot;

		if (phase->begin >= event->stamp)
			break;
		if (!(thread = get_thread(attribution, phase->thread)) ||
			!(slot = gmt_vec_push(&thread->phases)))
			return false;
		*slot = (uint32_t)attribution->next_phase;
	}
	attribution->next_begin = attribution->next_phase < timeline->phases.count
		? timeline->phases.items[attribution->next_phase].begin
		: UINT64_MAX;
	return true;
}

/*
 * Finds the rows for blocks that the account makes in this phase. The result is valid within the
 * step of `stamp`, from ret_cache->begin to ret_cache->end.
 */
__attribute__((noinline)) static bool find_rows(struct gmt_attribution *attribution,
	uint32_t account, uint32_t phase, uint64_t stamp, struct gmt_attribution_row_cache *ret_cache)
{
	struct gmt_attribution_row *step_at = step_row(attribution, account, stamp);
	struct gmt_attribution_row *phase_at = get_row(&attribution->phases, account, 0, phase);

	if (!step_at || !phase_at)
		return false;
	*ret_cache = (struct gmt_attribution_row_cache){
		.account_plus_1 = account + 1,
		.phase = phase,
		.step_row = (size_t)(step_at - attribution->steps.items.items),
		.phase_row = (size_t)(phase_at - attribution->phases.items.items),
	};
	if (!attribution->timeline->series_count) {
		ret_cache->end = UINT64_MAX;
	} else if (attribution->step_begin < stamp && stamp <= attribution->step_end) {
		ret_cache->begin = attribution->step_begin;
		ret_cache->end = attribution->step_end;
	}
	return true;
}

static bool on_began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	struct gmt_attribution *attribution = user;
	uint32_t account = replay->accounting.sites.items[site].account, phase = 0;
	struct gmt_attribution_row_cache *last =
		&attribution->row_caches[account % GMT_ATTRIBUTION_ROW_CACHES];

	if (attribution->timeline->phases.count)
		phase = phase_of(attribution, event->thread, event->stamp);
	if ((last->account_plus_1 != account + 1 || last->phase != phase ||
			event->stamp <= last->begin || event->stamp > last->end) &&
		!find_rows(attribution, account, phase, event->stamp, last))
		return false;
	count_attribution(&attribution->steps.items.items[last->step_row], event->size_bytes);
	count_attribution(&attribution->phases.items.items[last->phase_row], event->size_bytes);
	return !phase || gmt_map_put(&attribution->block_phases[event->layer], event->address, phase);
}

static bool on_ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	struct gmt_attribution *attribution = user;
	uint64_t phase = 0;

	(void)replay;
	(void)block;
	gmt_map_remove(&attribution->block_phases[event->layer], event->address, &phase);
	attribution->ended_phase = (uint32_t)phase;
	return true;
}

/* Finds the rows of a live block. False when out of memory. */
static bool rows_of(struct gmt_attribution *attribution, const struct gmt_replay *replay,
	uint8_t layer, const struct gmt_addressed_block *addressed,
	struct gmt_attribution_row **ret_step, struct gmt_attribution_row **ret_phase)
{
	uint32_t account = replay->accounting.sites.items[addressed->block.site].account;
	uint64_t number = 0;

	gmt_map_find(&attribution->block_phases[layer], addressed->address, &number);
	*ret_step = step_row(attribution, account, addressed->block.stamp);
	*ret_phase = get_row(&attribution->phases, account, 0, (uint32_t)number);
	return *ret_step && *ret_phase;
}

bool gmt_attribution_add_peak(struct gmt_attribution *attribution, const struct gmt_replay *replay,
	uint32_t account, const struct gmt_peaks_blocks *blocks)
{
	uint8_t layer = replay->accounting.accounts.items[account].layer;

	for (size_t i = 0; i < blocks->count; i++) {
		const struct gmt_addressed_block *addressed = &blocks->items[i].addressed;
		uint64_t phase = blocks->items[i].phase;
		struct gmt_attribution_row *row;

		if (!blocks->items[i].has_ended)
			gmt_map_find(&attribution->block_phases[layer], addressed->address, &phase);
		row = step_row(attribution, account, addressed->block.stamp);
		if (!row)
			return false;
		row->peak_bytes += addressed->block.size_bytes;
		row->peak_blocks++;
		row = get_row(&attribution->phases, account, 0, (uint32_t)phase);
		if (!row)
			return false;
		row->peak_bytes += addressed->block.size_bytes;
		row->peak_blocks++;
	}
	return true;
}

bool gmt_attribution_add_end(struct gmt_attribution *attribution, const struct gmt_replay *replay)
{
	struct gmt_attribution_row *step, *phase;
	struct gmt_addressed_block addressed;

	for (uint8_t layer = 0; layer < GMT_ACCOUNTING_LAYERS; layer++) {
		size_t cursor = 0;

		while (gmt_accounting_next_block(&replay->accounting, layer, &cursor, &addressed)) {
			if (!rows_of(attribution, replay, layer, &addressed, &step, &phase))
				return false;
			step->live_bytes += addressed.block.size_bytes;
			step->live_blocks++;
			phase->live_bytes += addressed.block.size_bytes;
			phase->live_blocks++;
		}
	}
	return true;
}

bool gmt_attribution_init(struct gmt_attribution *attribution, const struct gmt_timeline *timeline)
{
	bool has_phases = timeline->phases.count;

	attribution->timeline = timeline;
	attribution->observer = (struct gmt_replay_observer){
		.before = has_phases ? on_before : NULL,
		.next_needed_stamp = &attribution->next_begin,
		.began = on_began,
		.ended = has_phases ? on_ended : NULL,
		.user = attribution,
	};
	for (size_t i = 0; i < timeline->phases.count; i++) {
		uint32_t *id = gmt_vec_push(&attribution->phase_ids);

		if (!id || !gmt_intern_text(&attribution->phase_names, timeline->phases.items[i].name, id))
			return false;
	}
	return true;
}

void gmt_attribution_fini(struct gmt_attribution *attribution)
{
	gmt_vec_fini(&attribution->steps.items);
	gmt_map_fini(&attribution->steps.ids);
	gmt_vec_fini(&attribution->phases.items);
	gmt_map_fini(&attribution->phases.ids);
	gmt_intern_fini(&attribution->phase_names);
	gmt_vec_fini(&attribution->phase_ids);
	for (size_t i = 0; i < attribution->threads.count; i++)
		gmt_vec_fini(&attribution->threads.items[i].phases);
	gmt_vec_fini(&attribution->threads);
	gmt_map_fini(&attribution->thread_ids);
	for (size_t i = 0; i < GMT_ACCOUNTING_LAYERS; i++)
		gmt_map_fini(&attribution->block_phases[i]);
}
