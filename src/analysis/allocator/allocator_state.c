/* SPDX-License-Identifier: MIT */
#include "analysis/allocator/allocator_state.h"

#include <stdlib.h>

#include "reader/load/clock.h"

static bool snapshot_segments(struct gmt_allocator_state *state, const struct gmt_replay *replay,
	const struct gmt_segments_input *input, int16_t device, enum gmt_segments_moment moment,
	uint64_t stamp)
{
	struct gmt_segments *segments = gmt_vec_push(&state->segments);

	if (!segments)
		return false;
	segments->moment = moment;
	segments->stamp = stamp;
	if (gmt_segments_compute(segments, input, replay, state->traces, device))
		return true;
	state->segments.count--;
	return false;
}

/*
 * Stores the index of the account of layer cuda on the device. Returns false if there is no such
 * account.
 */
static bool find_driver_account(const struct gmt_accounting *accounting, int16_t device,
	uint32_t *ret_account)
{
	const struct gmt_account *account =
		gmt_accounting_find_account(accounting, GMT_LAYER_CUDA, device);

	if (account)
		*ret_account = (uint32_t)(account - accounting->accounts.items);
	return account;
}

static bool is_torch_device_account(const struct gmt_account *account)
{
	return account->layer == GMT_LAYER_TORCH && account->device != GMT_DEVICE_HOST;
}

static bool snapshot_account_end(struct gmt_allocator_state *state, const struct gmt_replay *replay,
	uint32_t account, uint64_t stamp)
{
	const struct gmt_accounting *accounting = &replay->accounting;
	int16_t device = accounting->accounts.items[account].device;
	struct gmt_segments_input input = { .captures = &state->captures };
	uint32_t driver;
	bool done = gmt_peaks_list_now(accounting, account, &input.blocks) &&
		(!find_driver_account(accounting, device, &driver) ||
			gmt_peaks_list_now(accounting, driver, &input.driver)) &&
		gmt_allocator_memory_list(&state->allocator.memory, device, false, &input.segments) &&
		snapshot_segments(state, replay, &input, device, GMT_SEGMENTS_AT_END, stamp);

	gmt_segments_input_fini(&input);
	return done;
}

static bool snapshot_end(struct gmt_allocator_state *state, const struct gmt_replay *replay,
	uint64_t stamp)
{
	state->has_end_snapshot = true;
	gmt_module_tensors_mark_end(&state->module_tensors, &replay->accounting);
	for (uint32_t i = 0;
		i < replay->accounting.accounts.count && i < GMT_ALLOCATOR_STATE_MAX_ACCOUNTS; i++)
		if (is_torch_device_account(&replay->accounting.accounts.items[i]) &&
			!snapshot_account_end(state, replay, i, stamp))
			return false;
	return gmt_attribution_add_end(&state->attribution, replay);
}

/* Takes the state at the account's peak. The replay is finished. */
static bool snapshot_peak(struct gmt_allocator_state *state, const struct gmt_replay *replay,
	uint32_t account)
{
	const struct gmt_accounting *accounting = &replay->accounting;
	int16_t device = accounting->accounts.items[account].device;
	struct gmt_segments_input input = { .captures = &state->captures };
	uint32_t driver;
	bool done = gmt_peaks_list(&state->peaks, accounting, account, account, &input.blocks) &&
		gmt_attribution_add_peak(&state->attribution, replay, account, &input.blocks);

	gmt_module_tensors_mark_peak(&state->module_tensors, &input.blocks);
	if (is_torch_device_account(&accounting->accounts.items[account]))
		done = done &&
			(!find_driver_account(accounting, device, &driver) ||
				gmt_peaks_list(&state->peaks, accounting, account, driver, &input.driver)) &&
			gmt_allocator_memory_list(&state->allocator.memory, device, true, &input.segments) &&
			snapshot_segments(state, replay, &input, device, GMT_SEGMENTS_AT_PEAK,
				state->peaks.accounts[account].stamp);
	gmt_segments_input_fini(&input);
	return done;
}

static void set_next_needed_stamp(struct gmt_allocator_state *state)
{
	uint64_t next = gmt_module_tensors_next_stamp(&state->module_tensors);

	state->next_needed_stamp = state->has_end_snapshot || next < state->timeline->work_end
		? next
		: state->timeline->work_end;
}

static bool before_event(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, size_t index)
{
	struct gmt_allocator_state *state = user;

	(void)index;
	if (!gmt_module_tensors_follow(&state->module_tensors, &replay->accounting, event->stamp) ||
		(!state->has_end_snapshot && !state->is_in_compacted &&
			event->stamp > state->timeline->work_end &&
			!snapshot_end(state, replay, state->timeline->work_end)))
		return false;
	set_next_needed_stamp(state);
	return true;
}

static bool update_largest_block(struct gmt_allocator_state *state, uint32_t site,
	uint64_t size_bytes)
{
	while (state->largest_bytes.count <= site) {
		uint64_t *slot = gmt_vec_push(&state->largest_bytes);
		if (!slot)
			return false;
	}
	if (size_bytes > state->largest_bytes.items[site])
		state->largest_bytes.items[site] = size_bytes;
	return true;
}

static bool on_block_begin(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	struct gmt_allocator_state *state = user;
	uint32_t account = replay->accounting.sites.items[site].account;
	const struct gmt_account *account_row = &replay->accounting.accounts.items[account];

	if (!update_largest_block(state, site, event->size_bytes))
		return false;
	/*
	 * The compacted prefix does not say which blocks were live at a peak, so peaks are not followed
	 * there.
	 */
	return state->is_in_compacted ||
		!gmt_peaks_note_begin(&state->peaks, &replay->accounting, account, event->stamp) ||
		!is_torch_device_account(account_row) ||
		gmt_allocator_memory_mark(&state->allocator.memory, account_row->device);
}

static bool on_block_end(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	struct gmt_allocator_state *state = user;

	return gmt_peaks_note_end(&state->peaks, &replay->accounting, block, event->address,
		state->attribution.ended_phase);
}

static bool on_prefix_end(void *user, const struct gmt_replay *replay)
{
	struct gmt_allocator_state *state = user;

	state->is_in_compacted = false;
	gmt_peaks_forget(&state->peaks, &replay->accounting);
	return true;
}

static bool on_finished(void *user, const struct gmt_replay *replay)
{
	struct gmt_allocator_state *state = user;
	uint64_t next;

	/* Process the marks after the last event, up to the end of the replay. */
	while ((next = gmt_module_tensors_next_stamp(&state->module_tensors)) != UINT64_MAX &&
		gmt_clock_time_ns(state->recording, next) <= replay->end_time_ns)
		if (!gmt_module_tensors_follow(&state->module_tensors, &replay->accounting, next + 1))
			return false;
	for (uint32_t i = 0;
		i < replay->accounting.accounts.count && i < GMT_ALLOCATOR_STATE_MAX_ACCOUNTS; i++)
		if (gmt_peaks_knows(&state->peaks, &replay->accounting, i) &&
			!snapshot_peak(state, replay, i))
			return false;
	return state->has_end_snapshot || snapshot_end(state, replay, UINT64_MAX);
}

enum gmt_status gmt_allocator_state_init(struct gmt_allocator_state *ret_state,
	const struct gmt_recording *recording, const struct gmt_traces *traces,
	const struct gmt_timeline *timeline, struct gmt_error *error)
{
	ret_state->recording = recording;
	ret_state->traces = traces;
	ret_state->timeline = timeline;
	ret_state->module_tensors.recording = recording;
	set_next_needed_stamp(ret_state);
	ret_state->is_in_compacted = recording->compacted.exists;
	ret_state->has_torch = recording->has_torch;
	for (size_t i = 0; i < recording->compacted.accounts.count; i++)
		ret_state->has_torch |= recording->compacted.accounts.items[i].layer == GMT_LAYER_TORCH;
	gmt_allocator_init(&ret_state->allocator, timeline);
	gmt_short_lived_init(&ret_state->short_lived, NULL, 0);
	gmt_owner_peaks_init(&ret_state->owner_peaks, traces);
	if (gmt_attribution_init(&ret_state->attribution, timeline) &&
		gmt_mark_spans_read(&ret_state->captures, recording, GMT_MARK_KIND_CAPTURE,
			GMT_MARK_KIND_CAPTURED))
		return GMT_OK;
	gmt_allocator_state_fini(ret_state);
	return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

size_t gmt_allocator_state_observers(struct gmt_allocator_state *state,
	struct gmt_replay_observer *observers)
{
	size_t count = 0;

	if (state->has_torch)
		observers[count++] = state->allocator.observer;
	observers[count++] = state->attribution.observer;
	observers[count++] = state->short_lived.observer;
	observers[count++] = state->owner_peaks.observer;
	/* This observer is last, so that the tables of the other observers are up to date. */
	observers[count++] = (struct gmt_replay_observer){
		.before = before_event,
		.next_needed_stamp = &state->next_needed_stamp,
		.began = on_block_begin,
		.ended = on_block_end,
		.compacted = on_prefix_end,
		.finished = on_finished,
		.user = state,
	};
	return count;
}

/*
 * Searches for short-lived allocations in a second replay. Called if the first replay saw more
 * sizes than it keeps. The peaks are known now, so the search does not need to keep several
 * possible peaks apart.
 */
static enum gmt_status find_short_lived(struct gmt_allocator_state *state,
	const struct gmt_replay *replay, uint64_t until_ns, struct gmt_error *error)
{
	size_t accounts = replay->accounting.accounts.count;
	struct gmt_replay_options options = {
		.until_ns = until_ns,
		.observers = &state->short_lived.observer,
		.observer_count = 1,
	};
	struct gmt_replay again = { 0 };
	enum gmt_status status;

	gmt_short_lived_fini(&state->short_lived);
	state->short_lived = (struct gmt_short_lived){ 0 };
	gmt_short_lived_init(&state->short_lived, replay->accounting.accounts.items,
		accounts < GMT_ALLOCATOR_STATE_MAX_ACCOUNTS ? accounts : GMT_ALLOCATOR_STATE_MAX_ACCOUNTS);
	status = gmt_replay_run(&again, state->recording, state->traces, &options, error);
	gmt_replay_fini(&again);
	return status;
}

static int compare_segments(const void *left, const void *right)
{
	const struct gmt_segments *a = left, *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (int)a->moment - (int)b->moment;
}

static bool has_layer(const struct gmt_replay *replay, uint8_t layer)
{
	for (size_t i = 0; i < replay->accounting.accounts.count; i++)
		if (replay->accounting.accounts.items[i].layer == layer)
			return true;
	return false;
}

enum gmt_status gmt_allocator_state_finish(struct gmt_allocator_state *state,
	const struct gmt_replay *replay, uint64_t until_ns, struct gmt_error *error)
{
	/* If the replay ends early, PyTorch may not have allocated anything yet. */
	if (state->has_torch && !has_layer(replay, GMT_LAYER_TORCH)) {
		state->has_torch = false;
		gmt_allocator_fini(&state->allocator);
		state->allocator = (struct gmt_allocator){ 0 };
	}
	if (state->segments.count)
		qsort(state->segments.items, state->segments.count, sizeof(*state->segments.items),
			compare_segments);
	return state->short_lived.are_too_many ? find_short_lived(state, replay, until_ns, error)
										   : GMT_OK;
}

void gmt_allocator_state_fini(struct gmt_allocator_state *state)
{
	gmt_mark_spans_fini(&state->captures);
	for (size_t i = 0; i < state->segments.count; i++)
		gmt_segments_fini(&state->segments.items[i]);
	gmt_vec_fini(&state->segments);
	gmt_vec_fini(&state->largest_bytes);
	gmt_allocator_fini(&state->allocator);
	gmt_attribution_fini(&state->attribution);
	gmt_short_lived_fini(&state->short_lived);
	gmt_owner_peaks_fini(&state->owner_peaks);
	gmt_peaks_fini(&state->peaks);
	gmt_module_tensors_fini(&state->module_tensors);
}
