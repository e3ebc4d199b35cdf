/* SPDX-License-Identifier: MIT */
#include "analysis/where.h"

#include <stdlib.h>

/* The observer that knows the moments; it comes behind the others, whose tables stand at them. */
struct watch {
	struct gmt_where *where;
	const struct gmt_traces *traces;
	const struct gmt_timeline *timeline;
	const struct gmt_replay *first; /* the finished replay */
	bool taken[GMT_WHERE_ACCOUNTS]; /* by account: its peak */
	bool ended;                     /* the work is over */
	bool is_past; /* a survivor of a fold is played */
	size_t past_events;
};

static bool take_segments(struct watch *watch, const struct gmt_replay *replay, int16_t device,
	enum gmt_segments_moment moment, uint64_t stamp)
{
	struct gmt_segments *segments = gmt_vec_push(&watch->where->segments);

	if (!segments)
		return false;
	segments->moment = moment;
	segments->stamp = stamp;
	if (gmt_segments_init(segments, &watch->where->allocator, replay, watch->traces, device))
		return true;
	watch->where->segments.count--;
	return false;
}

static bool take_ends(struct watch *watch, const struct gmt_replay *replay, uint64_t stamp)
{
	watch->ended = true;
	for (size_t i = 0; i < replay->books.accounts.count && i < GMT_WHERE_ACCOUNTS; i++) {
		const struct gmt_books_account *account = &replay->books.accounts.items[i];

		if (account->layer == GMT_LAYER_TORCH && account->device != GMT_DEVICE_HOST &&
			!take_segments(watch, replay, account->device, GMT_SEGMENTS_AT_END, stamp))
			return false;
	}
	return true;
}

static bool on_before(void *user, const struct gmt_replay *replay, const struct gmt_snapshot_event *event,
	size_t index)
{
	struct watch *watch = user;

	watch->is_past = index < watch->past_events;
	return watch->ended || watch->is_past || event->stamp <= watch->timeline->work_end ||
		take_ends(watch, replay, watch->timeline->work_end);
}

static bool note_largest(struct gmt_where *where, uint32_t site, uint64_t size_bytes)
{
	while (where->largest_bytes.count <= site) {
		uint64_t *slot = gmt_vec_push(&where->largest_bytes);
		if (!slot)
			return false;
	}
	if (size_bytes > where->largest_bytes.items[site])
		where->largest_bytes.items[site] = size_bytes;
	return true;
}

static bool on_began(void *user, const struct gmt_replay *replay, const struct gmt_snapshot_event *event,
	uint32_t site)
{
	struct watch *watch = user;
	uint32_t account = replay->books.sites.items[site].account;
	const struct gmt_books_account *now = &replay->books.accounts.items[account];

	if (!note_largest(watch->where, site, event->size_bytes))
		return false;
	/* Without an epoch there was no peak: all blocks were empty. Who lived at one that was folded is not known. */
	if (watch->is_past || account >= GMT_WHERE_ACCOUNTS || watch->taken[account] || !now->epoch ||
		now->epoch != watch->first->books.accounts.items[account].epoch)
		return true;
	watch->taken[account] = true;
	if (!gmt_births_take_peak(&watch->where->births, replay, account))
		return false;
	return now->layer != GMT_LAYER_TORCH || now->device == GMT_DEVICE_HOST ||
		take_segments(watch, replay, now->device, GMT_SEGMENTS_AT_PEAK, event->stamp);
}

static bool on_finished(void *user, const struct gmt_replay *replay)
{
	struct watch *watch = user;

	return watch->ended || take_ends(watch, replay, UINT64_MAX);
}

static int by_device(const void *left, const void *right)
{
	const struct gmt_segments *a = left, *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (int)a->moment - (int)b->moment;
}

static bool has_layer(const struct gmt_replay *replay, uint8_t layer)
{
	for (size_t i = 0; i < replay->books.accounts.count; i++)
		if (replay->books.accounts.items[i].layer == layer)
			return true;
	return false;
}

enum gmt_status gmt_where_init(struct gmt_where *ret_where, const struct gmt_snapshot *snapshot,
	const struct gmt_traces *traces, const struct gmt_timeline *timeline, const struct gmt_replay *replay,
	uint64_t until_ns, struct gmt_error *error)
{
	struct watch watch = { .where = ret_where, .traces = traces, .timeline = timeline, .first = replay,
		.past_events = snapshot->past_events };
	struct gmt_replay_observer observers[5];
	struct gmt_replay_options options = { .until_ns = until_ns, .observers = observers };
	struct gmt_replay again = { 0 };

	ret_where->has_torch = has_layer(replay, GMT_LAYER_TORCH);
	gmt_allocator_init(&ret_where->allocator, timeline);
	gmt_giants_init(&ret_where->giants, replay->books.accounts.items,
		replay->books.accounts.count < GMT_WHERE_ACCOUNTS ? replay->books.accounts.count :
			GMT_WHERE_ACCOUNTS);
	gmt_owner_peaks_init(&ret_where->owner_peaks, traces);
	if (!gmt_births_init(&ret_where->births, timeline)) {
		gmt_where_fini(ret_where);
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	if (ret_where->has_torch)
		observers[options.observer_count++] = ret_where->allocator.observer;
	observers[options.observer_count++] = ret_where->births.observer;
	observers[options.observer_count++] = ret_where->giants.observer;
	observers[options.observer_count++] = ret_where->owner_peaks.observer;
	observers[options.observer_count++] = (struct gmt_replay_observer){
		.before = on_before, .began = on_began, .finished = on_finished, .user = &watch,
	};

	enum gmt_status status = gmt_replay_init(&again, snapshot, traces, &options, error);
	gmt_replay_fini(&again);
	if (status) {
		gmt_where_fini(ret_where);
		return status;
	}
	if (ret_where->segments.count)
		qsort(ret_where->segments.items, ret_where->segments.count,
			sizeof(*ret_where->segments.items), by_device);
	return GMT_OK;
}

void gmt_where_fini(struct gmt_where *where)
{
	for (size_t i = 0; i < where->segments.count; i++)
		gmt_segments_fini(&where->segments.items[i]);
	gmt_vec_fini(&where->segments);
	gmt_vec_fini(&where->largest_bytes);
	gmt_allocator_fini(&where->allocator);
	gmt_births_fini(&where->births);
	gmt_giants_fini(&where->giants);
	gmt_owner_peaks_fini(&where->owner_peaks);
}
