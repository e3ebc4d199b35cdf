/* SPDX-License-Identifier: MIT */
#include "analysis/job/time_curve.h"

/* Begins the parts up to that number. What the account held goes on until the next change. */
static void advance(struct gmt_time_curve *curve, size_t point)
{
	uint64_t held = curve->count ? curve->end_bytes[curve->count - 1] : curve->begin_bytes;

	for (; curve->count <= point; curve->count++)
		curve->peak_bytes[curve->count] = curve->end_bytes[curve->count] = held;
}

static void change(struct gmt_time_curves *curves, const struct gmt_replay *replay, uint64_t stamp,
	uint32_t id)
{
	if (id >= GMT_TIME_CURVE_ACCOUNTS)
		return;

	struct gmt_time_curve *curve = &curves->accounts[id];
	uint64_t live_bytes = replay->accounting.accounts.items[id].live_bytes;
	uint64_t point =
		stamp > curves->first_stamp ? (stamp - curves->first_stamp) / curves->ticks_per_point : 0;

	if (point >= GMT_TIME_CURVE_POINTS)
		point = GMT_TIME_CURVE_POINTS - 1;
	if (curves->is_compacted && curves->first_known == SIZE_MAX)
		curves->first_known = (size_t)point + 1;
	if (point >= curve->count)
		advance(curve, (size_t)point);
	curve->end_bytes[curve->count - 1] = live_bytes;
	if (live_bytes > curve->peak_bytes[curve->count - 1])
		curve->peak_bytes[curve->count - 1] = live_bytes;
}

static bool on_began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	change(user, replay, event->stamp, replay->accounting.sites.items[site].account);
	return true;
}

static bool on_ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	change(user, replay, event->stamp, replay->accounting.sites.items[block->site].account);
	return true;
}

/* The values of the accounting were set directly: the curve is about the events from here on. */
static bool on_compacted(void *user, const struct gmt_replay *replay)
{
	struct gmt_time_curves *curves = user;

	for (size_t i = 0; i < GMT_TIME_CURVE_ACCOUNTS; i++) {
		curves->accounts[i].count = 0;
		curves->accounts[i].begin_bytes = i < replay->accounting.accounts.count
			? replay->accounting.accounts.items[i].live_bytes
			: 0;
	}
	curves->is_compacted = true;
	curves->first_known = SIZE_MAX;
	return true;
}

void gmt_time_curves_init(struct gmt_time_curves *curves, uint64_t first_stamp, uint64_t last_stamp)
{
	uint64_t ticks = last_stamp > first_stamp ? last_stamp - first_stamp : 0;

	curves->observer = (struct gmt_replay_observer){
		.began = on_began, .ended = on_ended, .compacted = on_compacted, .user = curves
	};
	curves->first_stamp = first_stamp;
	curves->ticks_per_point = ticks / GMT_TIME_CURVE_POINTS + 1;
}
