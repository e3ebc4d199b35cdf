/* SPDX-License-Identifier: MIT */
#include "analysis/history/history_moments.h"

#include "reader/load/clock.h"

static void request_moment(struct gmt_history *history, enum gmt_history_moment moment,
	uint64_t stamp)
{
	struct gmt_history_capture *capture = &history->captures[moment];

	capture->wanted = true;
	if (stamp > capture->stamp)
		capture->stamp = stamp;
}

static bool is_within(const struct gmt_recording *recording, uint64_t stamp, uint64_t until_ns)
{
	return until_ns == GMT_REPLAY_TO_END || gmt_clock_time_ns(recording, stamp) <= until_ns;
}

/* Returns the stamp of the last allocation of the program's work. 0: there is no allocation. */
static uint64_t last_allocation(const struct gmt_recording *recording,
	const struct gmt_timeline *timeline, uint64_t until_ns)
{
	for (size_t i = recording->events.count; i-- > recording->compacted_events;) {
		struct gmt_recording_event event = gmt_recording_event(recording, i);

		if (event.kind == GMT_KIND_ALLOC && event.stamp <= timeline->work_end &&
			gmt_layer_can_leak(event.layer) && is_within(recording, event.stamp, until_ns))
			return event.stamp;
	}
	return 0;
}

void gmt_history_choose_moments(struct gmt_history *history, const struct gmt_recording *recording,
	const struct gmt_timeline *timeline, uint64_t until_ns)
{
	request_moment(history, GMT_HISTORY_AT_WORK_END, timeline->work_end);
	request_moment(history, GMT_HISTORY_AT_LAST_ALLOCATION,
		last_allocation(recording, timeline, until_ns));
	for (size_t i = 0; i < timeline->series_count; i++) {
		const struct gmt_step_series *series = &timeline->series[i];
		size_t last = series->steps.count;

		while (last && !is_within(recording, series->steps.items[last - 1].end, until_ns))
			last--;
		if (last)
			request_moment(history, i ? GMT_HISTORY_AT_LAST_STEP_2 : GMT_HISTORY_AT_LAST_STEP,
				series->steps.items[last - 1].end);
	}
	for (size_t i = 0; i < timeline->phases.count; i++) {
		const struct gmt_phase *phase = &timeline->phases.items[i];

		if (phase->source == GMT_MARK_SOURCE_PROGRAM && !phase->open &&
			is_within(recording, phase->end, until_ns))
			request_moment(history, GMT_HISTORY_AT_LAST_PHASE, phase->end);
	}
	if (history->captures[GMT_HISTORY_AT_LAST_PHASE].wanted &&
		history->captures[GMT_HISTORY_AT_LAST_STEP].wanted)
		request_moment(history, GMT_HISTORY_AT_LAST_PHASE,
			history->captures[GMT_HISTORY_AT_LAST_STEP].stamp);
}

bool gmt_history_capture_moment(struct gmt_history_capture *capture,
	const struct gmt_accounting *accounting)
{
	capture->taken = true;
	for (uint8_t layer = 0; layer < GMT_ACCOUNTING_LAYERS; layer++) {
		struct gmt_addressed_block addressed;

		if (!gmt_layer_can_leak(layer))
			continue;
		for (size_t cursor = 0;
			gmt_accounting_next_block(accounting, layer, &cursor, &addressed);) {
			struct gmt_history_block *block = gmt_vec_push(&capture->blocks);

			if (!block)
				return false;
			*block = (struct gmt_history_block){
				.stamp = addressed.block.stamp,
				.address = addressed.address,
				.size_bytes = addressed.block.size_bytes,
				.site = addressed.block.site,
				.layer = layer,
			};
		}
	}
	for (size_t i = 0; i < accounting->accounts.count; i++) {
		struct gmt_account *account = gmt_vec_push(&capture->accounts);

		if (!account)
			return false;
		*account = accounting->accounts.items[i];
	}
	return true;
}
