/* SPDX-License-Identifier: MIT */
#include "analysis/history/attribution.h"

/* Threads that are asked for the phase of one that has none. */
enum { THREADS_ASKED = 8 };

static struct gmt_births_row *get_row(struct gmt_births_rows *rows, uint32_t account, uint32_t series,
	uint32_t number)
{
	/* Accounts are below 2^20: 2^16 devices and few layers. */
	uint64_t key = (uint64_t)account << 34 | (uint64_t)series << 32 | number;

	if (rows->last_key_plus_1 != key + 1) {
		if (!gmt_map_find(&rows->ids, key, &rows->last_index)) {
			struct gmt_births_row *row = gmt_vec_push(&rows->items);

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

static struct gmt_births_row *step_row(struct gmt_births *births, uint32_t account, uint64_t stamp)
{
	const struct gmt_timeline *timeline = births->timeline;
	uint32_t step = 0, series = 0;

	/* Most blocks are made in the step of the one before. */
	if (births->step_begin < stamp && stamp <= births->step_end)
		return get_row(&births->steps, account, 0, births->step_number);
	while (series < timeline->series_count && !gmt_series_find(&timeline->series[series], stamp, &step))
		series++;
	if (series == timeline->series_count)
		return get_row(&births->steps, account, GMT_BIRTHS_NO_SERIES, 0);
	/* In a later series only what no earlier one has: that is asked again. */
	if (!series) {
		const struct gmt_step *found = &timeline->series[0].steps.items[step];

		/* Of steps that overlap, the earlier one has what both could have. */
		births->step_begin = step && found[-1].end > found->begin ? found[-1].end : found->begin;
		births->step_end = found->end;
		births->step_number = step;
	}
	return get_row(&births->steps, account, series, step);
}

static struct gmt_births_thread *get_thread(struct gmt_births *births, uint32_t thread)
{
	uint64_t index;

	if (!gmt_map_find(&births->thread_ids, thread, &index)) {
		struct gmt_births_thread *row = gmt_vec_push(&births->threads);

		index = births->threads.count - 1;
		if (!row || !gmt_map_put(&births->thread_ids, thread, index))
			return NULL;
		row->thread = thread;
	}
	return &births->threads.items[index];
}

/* The innermost open phase of the thread, + 1; 0 when it is in none. */
static uint32_t innermost(const struct gmt_births *births, struct gmt_births_thread *thread, uint64_t stamp)
{
	while (thread->phases.count) {
		uint32_t phase = thread->phases.items[thread->phases.count - 1];

		if (births->timeline->phases.items[phase].end >= stamp)
			return phase + 1;
		thread->phases.count--;
	}
	return 0;
}

static uint32_t phase_of_others(struct gmt_births *births, uint64_t stamp)
{
	uint32_t found = 0;

	for (size_t i = 0; i < births->threads.count && i < THREADS_ASKED; i++) {
		uint32_t phase = innermost(births, &births->threads.items[i], stamp);

		if (phase && found)
			return 0;
		found = phase ? phase : found;
	}
	return found;
}

static uint32_t phase_of(struct gmt_births *births, uint32_t thread, uint64_t stamp)
{
	uint64_t index;
	uint32_t phase = 0;

	if (gmt_map_find(&births->thread_ids, thread, &index))
		phase = innermost(births, &births->threads.items[index], stamp);
	if (!phase)
		phase = phase_of_others(births, stamp);
	return phase ? births->phase_ids.items[phase - 1] + 1 : 0;
}

static void count_birth(struct gmt_births_row *row, uint64_t size_bytes)
{
	row->allocs++;
	row->total_bytes = gmt_books_sum_bytes(row->total_bytes, size_bytes);
	if (size_bytes > row->largest_bytes)
		row->largest_bytes = size_bytes;
}

static bool on_before(void *user, const struct gmt_replay *replay, const struct gmt_snapshot_event *event,
	size_t index)
{
	struct gmt_births *births = user;
	const struct gmt_timeline *timeline = births->timeline;

	(void)replay;
	(void)index;
	for (; births->next_phase < timeline->phases.count; births->next_phase++) {
		const struct gmt_phase *phase = &timeline->phases.items[births->next_phase];
		struct gmt_births_thread *thread;
		uint32_t *slot;

		if (phase->begin >= event->stamp)
			break;
		if (!(thread = get_thread(births, phase->thread)) || !(slot = gmt_vec_push(&thread->phases)))
			return false;
		*slot = (uint32_t)births->next_phase;
	}
	births->next_begin = births->next_phase < timeline->phases.count ?
		timeline->phases.items[births->next_phase].begin : UINT64_MAX;
	return true;
}

/* Where blocks go that the account makes in this phase and, for as long as the place says, in the step of `stamp`. */
__attribute__((noinline)) static bool find_place(struct gmt_births *births, uint32_t account, uint32_t phase,
	uint64_t stamp, struct gmt_births_place *ret_place)
{
	struct gmt_births_row *step_at = step_row(births, account, stamp);
	struct gmt_births_row *phase_at = get_row(&births->phases, account, 0, phase);

	if (!step_at || !phase_at)
		return false;
	*ret_place = (struct gmt_births_place){
		.account_plus_1 = account + 1, .phase = phase,
		.step_row = (size_t)(step_at - births->steps.items.items),
		.phase_row = (size_t)(phase_at - births->phases.items.items),
	};
	if (!births->timeline->series_count) {
		ret_place->end = UINT64_MAX;
	} else if (births->step_begin < stamp && stamp <= births->step_end) {
		ret_place->begin = births->step_begin;
		ret_place->end = births->step_end;
	}
	return true;
}

static bool on_began(void *user, const struct gmt_replay *replay, const struct gmt_snapshot_event *event,
	uint32_t site)
{
	struct gmt_births *births = user;
	uint32_t account = replay->books.sites.items[site].account, phase = 0;
	struct gmt_births_place *last = &births->last_places[account % GMT_BIRTHS_PLACES];

	if (births->timeline->phases.count)
		phase = phase_of(births, event->thread, event->stamp);
	if ((last->account_plus_1 != account + 1 || last->phase != phase || event->stamp <= last->begin ||
			event->stamp > last->end) && !find_place(births, account, phase, event->stamp, last))
		return false;
	count_birth(&births->steps.items.items[last->step_row], event->size_bytes);
	count_birth(&births->phases.items.items[last->phase_row], event->size_bytes);
	return !phase || gmt_map_put(&births->block_phases[event->layer], event->address, phase);
}

static bool on_ended(void *user, const struct gmt_replay *replay, const struct gmt_snapshot_event *event,
	const struct gmt_books_block *block)
{
	struct gmt_births *births = user;
	uint64_t phase = 0;

	(void)replay;
	(void)block;
	gmt_map_remove(&births->block_phases[event->layer], event->address, &phase);
	births->ended_phase = (uint32_t)phase;
	return true;
}

/* The rows that a live block belongs to; false when out of memory. */
static bool rows_of(struct gmt_births *births, const struct gmt_replay *replay, uint8_t layer,
	const struct gmt_books_place *place, struct gmt_births_row **ret_step, struct gmt_births_row **ret_phase)
{
	uint32_t account = replay->books.sites.items[place->block.site].account;
	uint64_t number = 0;

	gmt_map_find(&births->block_phases[layer], place->address, &number);
	*ret_step = step_row(births, account, place->block.stamp);
	*ret_phase = get_row(&births->phases, account, 0, (uint32_t)number);
	return *ret_step && *ret_phase;
}

bool gmt_births_add_peak(struct gmt_births *births, const struct gmt_replay *replay, uint32_t account,
	const struct gmt_peaks_blocks *blocks)
{
	uint8_t layer = replay->books.accounts.items[account].layer;

	for (size_t i = 0; i < blocks->count; i++) {
		const struct gmt_books_place *place = &blocks->items[i].place;
		uint64_t phase = blocks->items[i].phase;
		struct gmt_births_row *row;

		if (!blocks->items[i].has_ended)
			gmt_map_find(&births->block_phases[layer], place->address, &phase);
		row = step_row(births, account, place->block.stamp);
		if (!row)
			return false;
		row->peak_bytes += place->block.size_bytes;
		row->peak_blocks++;
		row = get_row(&births->phases, account, 0, (uint32_t)phase);
		if (!row)
			return false;
		row->peak_bytes += place->block.size_bytes;
		row->peak_blocks++;
	}
	return true;
}

bool gmt_births_take_end(struct gmt_births *births, const struct gmt_replay *replay)
{
	struct gmt_births_row *step, *phase;
	struct gmt_books_place place;

	for (uint8_t layer = 0; layer < GMT_BOOKS_LAYERS; layer++) {
		size_t cursor = 0;

		while (gmt_books_next_block(&replay->books, layer, &cursor, &place)) {
			if (!rows_of(births, replay, layer, &place, &step, &phase))
				return false;
			step->live_bytes += place.block.size_bytes;
			step->live_blocks++;
			phase->live_bytes += place.block.size_bytes;
			phase->live_blocks++;
		}
	}
	return true;
}

bool gmt_births_init(struct gmt_births *births, const struct gmt_timeline *timeline)
{
	bool has_phases = timeline->phases.count;

	births->timeline = timeline;
	births->observer = (struct gmt_replay_observer){
		.before = has_phases ? on_before : NULL, .quiet_until = &births->next_begin,
		.began = on_began, .ended = has_phases ? on_ended : NULL, .user = births,
	};
	for (size_t i = 0; i < timeline->phases.count; i++) {
		uint32_t *id = gmt_vec_push(&births->phase_ids);

		if (!id || !gmt_intern_text(&births->phase_names, timeline->phases.items[i].name, id))
			return false;
	}
	return true;
}

void gmt_births_fini(struct gmt_births *births)
{
	gmt_vec_fini(&births->steps.items);
	gmt_map_fini(&births->steps.ids);
	gmt_vec_fini(&births->phases.items);
	gmt_map_fini(&births->phases.ids);
	gmt_intern_fini(&births->phase_names);
	gmt_vec_fini(&births->phase_ids);
	for (size_t i = 0; i < births->threads.count; i++)
		gmt_vec_fini(&births->threads.items[i].phases);
	gmt_vec_fini(&births->threads);
	gmt_map_fini(&births->thread_ids);
	for (size_t i = 0; i < GMT_BOOKS_LAYERS; i++)
		gmt_map_fini(&births->block_phases[i]);
}
