/* SPDX-License-Identifier: MIT */
#include "analysis/history/attribution.h"

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
	struct gmt_block_origin_step step = gmt_block_origin_step(&attribution->origin, stamp);

	return get_row(&attribution->steps, account, step.series, step.number);
}

static void count_attribution(struct gmt_attribution_row *row, uint64_t size_bytes)
{
	row->allocs++;
	row->total_bytes = gmt_saturating_add_i64(row->total_bytes, size_bytes);
	if (size_bytes > row->largest_bytes)
		row->largest_bytes = size_bytes;
}

static bool on_before(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, size_t index)
{
	struct gmt_attribution *attribution = user;

	(void)replay;
	(void)index;
	return gmt_block_origin_advance(&attribution->origin, event->stamp);
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
	gmt_block_origin_step_range(&attribution->origin, stamp, &ret_cache->begin, &ret_cache->end);
	return true;
}

static bool on_began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	struct gmt_attribution *attribution = user;
	uint32_t account = replay->accounting.sites.items[site].account;
	uint32_t phase = gmt_block_origin_phase(&attribution->origin, event->thread, event->stamp);
	struct gmt_attribution_row_cache *last =
		&attribution->row_caches[account % GMT_ATTRIBUTION_ROW_CACHES];

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

	attribution->observer = (struct gmt_replay_observer){
		.before = has_phases ? on_before : NULL,
		.next_needed_stamp = &attribution->origin.next_needed_stamp,
		.began = on_began,
		.ended = has_phases ? on_ended : NULL,
		.user = attribution,
	};
	return gmt_block_origin_init(&attribution->origin, timeline);
}

void gmt_attribution_fini(struct gmt_attribution *attribution)
{
	gmt_vec_fini(&attribution->steps.items);
	gmt_map_fini(&attribution->steps.ids);
	gmt_vec_fini(&attribution->phases.items);
	gmt_map_fini(&attribution->phases.ids);
	gmt_block_origin_fini(&attribution->origin);
	for (size_t i = 0; i < GMT_ACCOUNTING_LAYERS; i++)
		gmt_map_fini(&attribution->block_phases[i]);
}
