/* SPDX-License-Identifier: MIT */
#include "analysis/overview/curve.h"

#include <string.h>

static void halve(struct gmt_curve *curve)
{
	for (size_t i = 0; i < GMT_CURVE_POINTS / 2; i++) {
		uint64_t left = curve->max_bytes[2 * i], right = curve->max_bytes[2 * i + 1];

		curve->max_bytes[i] = left > right ? left : right;
	}
	curve->count = GMT_CURVE_POINTS / 2;
	curve->changes_per_point *= 2;
}

static void change(struct gmt_curves *curves, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	uint32_t id = replay->accounting.sites.items[site].account;

	if (id >= GMT_CURVE_ACCOUNTS)
		return;

	struct gmt_curve *curve = &curves->accounts[id];
	const struct gmt_account *account = &replay->accounting.accounts.items[id];
	if (account->peak_number != curve->peak_number) {
		curve->peak_number = account->peak_number;
		curve->peak_trace_plus_1 = event->trace + 1;
	}
	if (!curve->count || curve->changes == curve->changes_per_point) {
		if (curve->count == GMT_CURVE_POINTS)
			halve(curve);
		curve->max_bytes[curve->count++] = 0;
		curve->changes = 0;
		curve->changes_per_point += !curve->changes_per_point;
	}

	uint64_t *last = &curve->max_bytes[curve->count - 1];
	curve->changes++;
	if (account->live_bytes > *last)
		*last = account->live_bytes;
}

static bool on_began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	change(user, replay, event, site);
	return true;
}

static bool on_ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	change(user, replay, event, block->site);
	return true;
}

/* The values of the accounting were set directly: the curve begins here, and earlier peaks too. */
static bool on_compacted(void *user, const struct gmt_replay *replay)
{
	struct gmt_curves *curves = user;

	memset(curves->accounts, 0, sizeof(curves->accounts));
	for (size_t i = 0; i < replay->accounting.accounts.count && i < GMT_CURVE_ACCOUNTS; i++)
		curves->accounts[i].peak_number = replay->accounting.accounts.items[i].peak_number;
	return true;
}

void gmt_curves_init(struct gmt_curves *curves)
{
	curves->observer = (struct gmt_replay_observer){
		.began = on_began, .ended = on_ended, .compacted = on_compacted, .user = curves
	};
}

size_t gmt_curve_draw(const uint64_t *values, size_t value_count, uint64_t *ret_maxima,
	size_t count)
{
	if (value_count < count)
		count = value_count;
	for (size_t i = 0; i < count; i++) {
		size_t begin = i * value_count / count, end = (i + 1) * value_count / count;

		ret_maxima[i] = 0;
		for (size_t j = begin; j < end; j++)
			if (values[j] > ret_maxima[i])
				ret_maxima[i] = values[j];
	}
	return count;
}
