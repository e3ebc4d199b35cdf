/* SPDX-License-Identifier: MIT */
#include "analysis/history/history.h"

#include "analysis/history/history_moments.h"
#include "analysis/history/history_compacted.h"
#include "analysis/history/history_roles.h"
#include "analysis/history/history_steps.h"
#include "base/pages.h"
#include "reader/load/clock.h"
#include "reader/stacks/frame_kinds.h"

struct state {
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	const struct gmt_timeline *timeline;
	struct gmt_history *history;
	struct gmt_history_follower followers[GMT_TIMELINE_SERIES];
	size_t site_capacity, account_capacity; /* number of rows that exist */
	struct gmt_history_roles roles;
	/* Step, + 1, in which a module was called and no backward pass followed. */
	size_t module_step_plus_1;
	uint64_t next_capture; /* no moment that remains to be captured lies before this stamp */
	/* Before this stamp there is also no begin or end of a step, and no mark about roles. */
	uint64_t next_needed_stamp;
};

enum gmt_part gmt_part_of(uint32_t frame_kinds)
{
#define HAS(NAME) (frame_kinds & GMT_FRAME_KIND_BIT(NAME))
	if (HAS(BACKWARD) || HAS(BACKWARD_CALL))
		return GMT_PART_BACKWARD;
	if (HAS(OPTIMIZER))
		return GMT_PART_OPTIMIZER;
	return HAS(MODULE_CALL) || HAS(LOSS) ? GMT_PART_FORWARD : GMT_PART_OTHER;
#undef HAS
}

const char *gmt_part_name(enum gmt_part part)
{
	static const char *const names[] = {
#define GMT_PART(NAME, name, rule) name,
#include "analysis/history/parts.def"
#undef GMT_PART
	};

	return names[part];
}

static size_t accounts_of(const struct gmt_accounting *accounting)
{
	return accounting->accounts.count < GMT_HISTORY_ACCOUNTS ? accounting->accounts.count
															 : GMT_HISTORY_ACCOUNTS;
}

__attribute__((noinline)) static bool grow(struct state *state, size_t sites, size_t accounts)
{
	struct gmt_history *history = state->history;

	/* New rows are zero. */
	if (!gmt_vec_grow_to(&history->sites, sites))
		return false;
	for (size_t i = 0; i < state->timeline->series_count; i++)
		if (!gmt_history_make_room(&state->followers[i], sites, accounts))
			return false;
	state->site_capacity = sites;
	state->account_capacity = accounts;
	return true;
}

/* Makes rows for new sites and accounts of the accounting. */
static inline bool make_room(struct state *state, const struct gmt_accounting *accounting)
{
	return (state->site_capacity == accounting->sites.count &&
			   state->account_capacity == accounts_of(accounting)) ||
		grow(state, accounting->sites.count, accounts_of(accounting));
}

/* Captures the moments that lie before `stamp`. */
static bool capture_before(struct state *state, const struct gmt_accounting *accounting,
	uint64_t stamp)
{
	if (stamp <= state->next_capture && stamp != UINT64_MAX)
		return true;
	state->next_capture = UINT64_MAX;
	for (int moment = 0; moment < GMT_HISTORY_MOMENTS; moment++) {
		struct gmt_history_capture *row = &state->history->captures[moment];

		if (row->wanted && !row->taken && (stamp > row->stamp || stamp == UINT64_MAX) &&
			!gmt_history_capture_moment(row, accounting))
			return false;
		if (row->wanted && !row->taken && row->stamp < state->next_capture)
			state->next_capture = row->stamp;
	}
	return true;
}

static bool work_has_ended(const struct state *state)
{
	return state->history->captures[GMT_HISTORY_AT_WORK_END].taken;
}

static void set_next_needed_stamp(struct state *state)
{
	uint64_t role = gmt_history_roles_next_stamp(&state->roles);

	state->next_needed_stamp = role < state->next_capture ? role : state->next_capture;
	for (size_t i = 0; i < state->timeline->series_count; i++) {
		uint64_t next = gmt_history_next_stamp(&state->followers[i]);

		if (next < state->next_needed_stamp)
			state->next_needed_stamp = next;
	}
}

static bool before_event(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, size_t index)
{
	struct state *state = user;

	(void)index;
	for (size_t i = 0; i < state->timeline->series_count; i++)
		if (!gmt_history_follow(&state->followers[i], &replay->accounting, event->stamp))
			return false;
	if (!capture_before(state, &replay->accounting, event->stamp) ||
		!make_room(state, &replay->accounting) ||
		!gmt_history_roles_follow(&state->roles, state->history, &replay->accounting, event->stamp))
		return false;
	set_next_needed_stamp(state);
	return true;
}

/*
 * Tracks the order of events in a step. Counts whether a block of the site is made early (as when
 * data are loaded) or late (as when results are used).
 */
static void note_order(struct state *state, const struct gmt_replay *replay, uint32_t site)
{
	const struct gmt_history_follower *steps = &state->followers[0];
	uint32_t frame_kinds = state->traces->stack_frame_kinds.items[replay->site_stacks.items[site]];

	if (!state->timeline->series_count || !steps->inside)
		return;
	if (frame_kinds & (GMT_FRAME_KIND_BIT(BACKWARD) | GMT_FRAME_KIND_BIT(BACKWARD_CALL)))
		state->module_step_plus_1 = 0;
	else if (frame_kinds & GMT_FRAME_KIND_BIT(MODULE_CALL))
		state->module_step_plus_1 = steps->cursor + 1;
	else if (state->module_step_plus_1 == steps->cursor + 1)
		state->history->sites.items[site].other_outside_count++;
	else
		state->history->sites.items[site].before_modules_count++;
}

static bool began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	struct state *state = user;
	const struct gmt_accounting *accounting = &replay->accounting;
	uint32_t account = accounting->sites.items[site].account;
	uint64_t live_bytes = accounting->accounts.items[account].live_bytes;
	uint64_t site_bytes = accounting->sites.items[site].live_bytes;

	if (!make_room(state, accounting))
		return false;
	note_order(state, replay, site);
	for (size_t i = 0; i < state->timeline->series_count; i++) {
		struct gmt_history_follower *follower = &state->followers[i];
		struct gmt_history_running *running;

		if (!gmt_history_touch(follower, site, site_bytes - event->size_bytes))
			return false;
		if (!follower->inside || account >= follower->accounts.count)
			continue;
		running = &follower->accounts.items[account];
		if (live_bytes > running->peak_bytes)
			running->peak_bytes = live_bytes;
	}
	return true;
}

static bool is_current(const struct gmt_history_follower *follower, uint64_t stamp)
{
	return follower->inside && stamp > follower->steps->steps.items[follower->cursor].begin;
}

/*
 * If the program keeps blocks for a while and then frees them, such frees occur up to the last
 * steps.
 */
static void note_late_end(struct state *state, size_t series, const struct gmt_account_block *block)
{
	const struct gmt_history_follower *follower = &state->followers[series];
	size_t steps = follower->steps->steps.count;
	uint32_t step;

	if (follower->cursor < steps - steps / 4 - 1 || follower->cursor >= steps)
		return;
	if (gmt_series_find(follower->steps, block->stamp, &step) && step + 2 <= follower->cursor)
		state->history->sites.items[block->site].freed_in_last_quarter_bytes[series] +=
			block->size_bytes;
}

static void note_lifetime(struct state *state, const struct gmt_account_block *block)
{
	struct gmt_history_site *site = &state->history->sites.items[block->site];

	if (!state->timeline->series_count)
		return;
	if (!is_current(&state->followers[0], block->stamp)) {
		site->kept_count++;
		return;
	}
	site->brief_count++;
	site->brief_bytes += block->size_bytes;
	if (block->size_bytes > site->brief_largest_bytes)
		site->brief_largest_bytes = block->size_bytes;
}

/* After the last allocation, only the order of frees shows which function returned first. */
static void note_end_of_work(struct state *state, const struct gmt_account_block *block,
	uint64_t stamp)
{
	struct gmt_history_site *site = &state->history->sites.items[block->site];

	site->last_end_stamp = stamp;
	if (!state->timeline->series_count ||
		block->stamp > state->timeline->series[0].steps.items[0].end)
		return;
	site->first_step_blocks_ended_bytes += block->size_bytes;
	if (!site->first_step_blocks_end_stamp)
		site->first_step_blocks_end_stamp = stamp;
}

static bool ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	struct state *state = user;
	const struct gmt_recording_stack_ids *trace = &state->recording->traces.items[event->trace];
	struct gmt_history_site *site = &state->history->sites.items[block->site];
	uint64_t site_bytes = replay->accounting.sites.items[block->site].live_bytes;

	/* What the interpreter frees at its shutdown says nothing about the program. */
	if (!work_has_ended(state)) {
		note_lifetime(state, block);
		if (state->history->captures[GMT_HISTORY_AT_LAST_ALLOCATION].taken)
			note_end_of_work(state, block, event->stamp);
	}
	if (event->kind == GMT_KIND_FREE && !work_has_ended(state) && !site->freed_trace_plus_1 &&
		(trace->stack || trace->frames))
		site->freed_trace_plus_1 = event->trace + 1;
	for (size_t i = 0; i < state->timeline->series_count; i++) {
		struct gmt_history_follower *follower = &state->followers[i];

		if (!gmt_history_touch(follower, block->site, site_bytes + block->size_bytes))
			return false;
		note_late_end(state, i, block);
	}
	return true;
}

static bool compacted(void *user, const struct gmt_replay *replay)
{
	struct state *state = user;
	const struct gmt_compacted_prefix *compacted = &state->recording->compacted;

	if (!make_room(state, &replay->accounting))
		return false;
	for (size_t i = 0; i < state->timeline->series_count; i++) {
		if (!gmt_history_follow(&state->followers[i], &replay->accounting,
				compacted->cut_stamp + 1))
			return false;
		for (size_t j = 0; j < compacted->steps.count; j++)
			gmt_history_set_compacted_step(&state->followers[i], &replay->accounting,
				&compacted->steps.items[j]);
		if (!gmt_history_set_compacted(&state->followers[i], state->history, i, state->recording,
				replay))
			return false;
	}
	set_next_needed_stamp(state);
	return true;
}

/* Counts blocks that live at the end as kept if a step ended after they were made. */
static void note_kept(struct state *state)
{
	struct gmt_history *history = state->history;
	const struct gmt_history_capture *end = &history->captures[GMT_HISTORY_AT_WORK_END];
	size_t steps = history->series[0].step_count;

	for (size_t i = 0; steps && i < end->blocks.count; i++)
		history->sites.items[end->blocks.items[i].site].kept_count +=
			end->blocks.items[i].stamp <= state->followers[0].steps->steps.items[steps - 1].end;
}

/* Processes the marks after the last event, up to the end of the replay. */
static bool follow_last_roles(struct state *state, const struct gmt_replay *replay)
{
	uint64_t next;

	if (!make_room(state, &replay->accounting))
		return false;
	while ((next = gmt_history_roles_next_stamp(&state->roles)) != UINT64_MAX &&
		gmt_clock_time_ns(state->recording, next) <= replay->end_time_ns)
		if (!gmt_history_roles_follow(&state->roles, state->history, &replay->accounting, next + 1))
			return false;
	return true;
}

static bool finished(void *user, const struct gmt_replay *replay)
{
	struct state *state = user;

	for (size_t i = 0; i < state->timeline->series_count; i++) {
		struct gmt_history_follower *follower = &state->followers[i];
		size_t *row;

		while (follower->cursor < follower->steps->steps.count &&
			gmt_clock_time_ns(state->recording,
				follower->steps->steps.items[follower->cursor].end) <= replay->end_time_ns)
			if (!gmt_history_end_step(follower, &replay->accounting))
				return false;
		row = gmt_vec_push(&follower->series->step_rows);
		if (!row)
			return false;
		*row = follower->series->steps.count;
		if (!gmt_history_sort_samples(follower, state->history, i))
			return false;
	}
	if (!capture_before(state, &replay->accounting, UINT64_MAX) ||
		!follow_last_roles(state, replay))
		return false;
	note_kept(state);
	return true;
}

enum gmt_status gmt_history_init(struct gmt_history *ret_history,
	const struct gmt_recording *recording, const struct gmt_traces *traces,
	const struct gmt_timeline *timeline, uint64_t until_ns, struct gmt_error *error)
{
	struct state *state = gmt_pages_grow(NULL, 0, sizeof(*state));

	if (!state)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	state->recording = recording;
	state->traces = traces;
	state->timeline = timeline;
	state->history = ret_history;
	state->roles.recording = recording;
	for (size_t i = 0; i < timeline->series_count; i++) {
		size_t steps = timeline->series[i].steps.count;

		state->followers[i].steps = &timeline->series[i];
		state->followers[i].series = &ret_history->series[i];
		ret_history->series[i].stride =
			(uint32_t)((steps + GMT_HISTORY_SAMPLES - 1) / GMT_HISTORY_SAMPLES);
		ret_history->series[i].stride += !ret_history->series[i].stride;
		gmt_history_plan_compacted(&ret_history->series[i], recording, &timeline->series[i]);
	}
	gmt_history_choose_moments(ret_history, recording, timeline, until_ns);
	ret_history->state = state;
	ret_history->observer = (struct gmt_replay_observer){
		.before = before_event,
		.next_needed_stamp = &state->next_needed_stamp,
		.compacted = compacted,
		.began = began,
		.ended = ended,
		.finished = finished,
		.user = state,
	};
	return GMT_OK;
}

void gmt_history_fini(struct gmt_history *history)
{
	struct state *state = history->state;

	for (size_t i = 0; i < GMT_TIMELINE_SERIES; i++) {
		gmt_vec_fini(&history->series[i].steps);
		gmt_vec_fini(&history->series[i].step_rows);
		gmt_vec_fini(&history->series[i].samples);
		if (state)
			gmt_history_follower_fini(&state->followers[i]);
	}
	gmt_vec_fini(&history->sites);
	for (int moment = 0; moment < GMT_HISTORY_MOMENTS; moment++) {
		gmt_vec_fini(&history->captures[moment].blocks);
		gmt_vec_fini(&history->captures[moment].accounts);
	}
	if (!state)
		return;
	gmt_history_roles_fini(&state->roles);
	gmt_pages_free(state, sizeof(*state));
	history->state = NULL;
}
