/* SPDX-License-Identifier: MIT */
#include "analysis/profile/profile_groups.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"

enum { NAME_BYTES = 240 };

static bool has_shares(const struct gmt_profile_groups *groups)
{
	return groups->key == GMT_TABLE_STEP || groups->key == GMT_TABLE_PHASE;
}

/* Returns the number of the account's peaks so far. */
static uint64_t peak_number_of(const struct gmt_profile_groups *groups,
	const struct gmt_replay *replay, uint32_t account)
{
	if (!groups->stretch)
		return replay->accounting.accounts.items[account].peak_number;
	return account < groups->stretch->accounts.count
		? groups->stretch->accounts.items[account].peak_number
		: 0;
}

/* Stores what the share held at the account's last peak, if the share has not changed since. */
static void save_peak(struct gmt_profile_share *share, uint64_t peak_number)
{
	if (share->peak_number == peak_number)
		return;
	share->peak_number = peak_number;
	share->peak_bytes = share->live_bytes;
	share->peak_blocks = share->live_blocks;
}

static void save_end(struct gmt_profile_groups *groups)
{
	for (size_t i = 0; i < groups->shares.count; i++) {
		groups->shares.items[i].end_bytes = groups->shares.items[i].live_bytes;
		groups->shares.items[i].end_blocks = groups->shares.items[i].live_blocks;
	}
}

static void name_phase(const struct gmt_profile_groups *groups, uint32_t phase_plus_1,
	char *ret_name, size_t size)
{
	if (phase_plus_1)
		gmt_text_copy(ret_name, size,
			gmt_intern_get(&groups->origin.phase_names, phase_plus_1 - 1)->bytes);
	else
		snprintf(ret_name, size, "(%s)", gmt_table_key_none(groups->key));
}

/* Finds the group of a block that is made now. Most blocks are in the group of the one before. */
static bool find_group(struct gmt_profile_groups *groups, const struct gmt_recording_event *event,
	uint32_t *ret_group)
{
	bool is_step = groups->key == GMT_TABLE_STEP;
	struct gmt_block_origin_step step = { 0 };
	char name[NAME_BYTES];
	uint64_t key;

	if (is_step) {
		step = gmt_block_origin_step(&groups->origin, event->stamp);
		key = (uint64_t)step.series << 32 | step.number;
	} else {
		key = gmt_block_origin_phase(&groups->origin, event->thread, event->stamp);
	}
	if (groups->last_key_plus_1 != key + 1) {
		if (is_step)
			gmt_table_step_name(groups->origin.timeline, step.series, step.number, name,
				sizeof(name));
		else
			name_phase(groups, (uint32_t)key, name, sizeof(name));
		if (!gmt_intern_text(&groups->names, name, &groups->last_group))
			return false;
		groups->last_key_plus_1 = key + 1;
	}
	*ret_group = groups->last_group;
	return true;
}

/* Finds the share of a site in a group, or adds it. */
static bool get_share(struct gmt_profile_groups *groups, uint32_t site, uint32_t group,
	uint64_t *ret_index)
{
	uint64_t key = (uint64_t)site << 32 | group;
	struct gmt_profile_share *share;
	uint32_t *first;

	if (gmt_map_find(&groups->share_ids, key, ret_index))
		return true;
	if (!gmt_vec_grow_to(&groups->first_shares, (size_t)site + 1) ||
		!(share = gmt_vec_push(&groups->shares)))
		return false;
	*ret_index = groups->shares.count - 1;
	first = &groups->first_shares.items[site];
	*share = (struct gmt_profile_share){ .site = site, .group = group, .next_plus_1 = *first };
	*first = (uint32_t)groups->shares.count;
	return gmt_map_put(&groups->share_ids, key, *ret_index);
}

static bool on_before(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, size_t index)
{
	struct gmt_profile_groups *groups = user;

	(void)replay;
	if (!gmt_block_origin_advance(&groups->origin, event->stamp))
		return false;
	/* Survivors of a compaction are replayed before the accounting is complete. */
	if (event->stamp > groups->work_end && index >= groups->recording->compacted_events) {
		save_end(groups);
		groups->has_end = true;
		groups->work_end = UINT64_MAX;
	}
	groups->next_needed_stamp = groups->work_end < groups->origin.next_needed_stamp
		? groups->work_end
		: groups->origin.next_needed_stamp;
	return true;
}

static bool on_began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	struct gmt_profile_groups *groups = user;
	uint32_t account = replay->accounting.sites.items[site].account, group;
	struct gmt_profile_share *share;
	uint64_t index;

	if (groups->stretch && !groups->stretch->has_begun)
		return true;
	if (!find_group(groups, event, &group) || !get_share(groups, site, group, &index) ||
		!gmt_vec_grow_to(&groups->peak_numbers, (size_t)account + 1) ||
		!gmt_map_put(&groups->block_shares[event->layer], event->address, index))
		return false;
	share = &groups->shares.items[index];
	save_peak(share, groups->peak_numbers.items[account]);
	share->allocs++;
	share->alloc_bytes = gmt_saturating_add_i64(share->alloc_bytes, event->size_bytes);
	share->live_bytes += event->size_bytes;
	share->live_blocks++;
	/* The accounting includes this block already. */
	groups->peak_numbers.items[account] = peak_number_of(groups, replay, account);
	return true;
}

static bool on_ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	struct gmt_profile_groups *groups = user;
	uint32_t account = replay->accounting.sites.items[block->site].account;
	struct gmt_profile_share *share;
	uint64_t index;

	if (!gmt_map_remove(&groups->block_shares[event->layer], event->address, &index))
		return true;
	share = &groups->shares.items[index];
	save_peak(share, groups->peak_numbers.items[account]);
	share->live_bytes -= block->size_bytes;
	share->live_blocks--;
	return true;
}

/* Forgets the peaks of the survivors: those of the compacted prefix are not theirs alone. */
static bool on_compacted(void *user, const struct gmt_replay *replay)
{
	struct gmt_profile_groups *groups = user;
	const struct gmt_accounting *accounting = &replay->accounting;

	if (!gmt_vec_grow_to(&groups->peak_numbers, accounting->accounts.count))
		return false;
	for (uint32_t account = 0; account < accounting->accounts.count; account++)
		groups->peak_numbers.items[account] = peak_number_of(groups, replay, account);
	for (size_t i = 0; i < groups->shares.count; i++) {
		struct gmt_profile_share *share = &groups->shares.items[i];

		share->peak_number =
			groups->peak_numbers.items[accounting->sites.items[share->site].account];
		share->peak_bytes = share->peak_blocks = 0;
	}
	return true;
}

static bool on_finished(void *user, const struct gmt_replay *replay)
{
	struct gmt_profile_groups *groups = user;

	for (size_t i = 0; i < groups->shares.count; i++) {
		struct gmt_profile_share *share = &groups->shares.items[i];

		save_peak(share,
			groups->peak_numbers.items[replay->accounting.sites.items[share->site].account]);
	}
	if (!groups->has_end)
		save_end(groups);
	return true;
}

enum gmt_status gmt_profile_groups_init(struct gmt_profile_groups *groups,
	enum gmt_table_grouping key, const struct gmt_recording *recording,
	const struct gmt_traces *traces, const struct gmt_timeline *timeline,
	const struct gmt_stretch *stretch, uint64_t until_ns, struct gmt_error *error)
{
	groups->key = key;
	groups->recording = recording;
	groups->traces = traces;
	groups->stretch = stretch;
	/* The live memory of a stretch is what it left after its last event. */
	groups->work_end = stretch ? UINT64_MAX : timeline->work_end;
	groups->observer = (struct gmt_replay_observer){
		.before = on_before,
		.next_needed_stamp = &groups->next_needed_stamp,
		.began = on_began,
		.ended = on_ended,
		.compacted = on_compacted,
		.finished = on_finished,
		.user = groups,
	};
	if (key == GMT_TABLE_CATEGORY)
		return gmt_history_init(&groups->history, recording, traces, timeline, until_ns, error);
	if (has_shares(groups) && !gmt_block_origin_init(&groups->origin, timeline))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return GMT_OK;
}

const struct gmt_replay_observer *gmt_profile_groups_observer(
	const struct gmt_profile_groups *groups)
{
	if (groups->key == GMT_TABLE_CATEGORY)
		return &groups->history.observer;
	return has_shares(groups) ? &groups->observer : NULL;
}

/* Takes the numbers of a share out of those that remain of its site. */
static void take_values(const struct gmt_profile_share *share, uint64_t *remaining,
	uint64_t *ret_values)
{
	const uint64_t values[GMT_PROFILE_VALUES] = {
		[GMT_PROFILE_ALLOCATIONS] = share->allocs,
		[GMT_PROFILE_ALLOCATED_BYTES] = share->alloc_bytes,
		[GMT_PROFILE_LIVE_BLOCKS] = share->end_blocks,
		[GMT_PROFILE_LIVE_BYTES] = share->end_bytes,
		[GMT_PROFILE_PEAK_BLOCKS] = share->peak_blocks,
		[GMT_PROFILE_PEAK_BYTES] = share->peak_bytes,
	};

	for (size_t i = 0; i < GMT_PROFILE_VALUES; i++) {
		ret_values[i] = values[i] < remaining[i] ? values[i] : remaining[i];
		remaining[i] -= ret_values[i];
	}
}

static bool is_zero(const uint64_t *values)
{
	for (size_t i = 0; i < GMT_PROFILE_VALUES; i++)
		if (values[i])
			return false;
	return true;
}

bool gmt_profile_groups_divide(struct gmt_profile_groups *groups, const struct gmt_replay *replay,
	uint32_t site, const uint64_t values[GMT_PROFILE_VALUES],
	bool (*take)(void *user, const struct gmt_profile_part *part), void *user)
{
	/* A compaction keeps the sums of a site, but not the steps and phases of its blocks. */
	static const char compacted[] = "(folded events)";
	const struct gmt_table_input input = {
		.traces = groups->traces, .replay = replay, .history = &groups->history
	};
	struct gmt_profile_part rest = { 0 };
	char name[NAME_BYTES];

	for (size_t i = 0; i < GMT_PROFILE_VALUES; i++)
		rest.values[i] = values[i];
	for (uint32_t at = site < groups->first_shares.count ? groups->first_shares.items[site] : 0; at;
		at = groups->shares.items[at - 1].next_plus_1) {
		const struct gmt_profile_share *share = &groups->shares.items[at - 1];
		struct gmt_profile_part part = { .group = share->group };

		take_values(share, rest.values, part.values);
		if (!is_zero(part.values) && !take(user, &part))
			return false;
	}
	if (is_zero(rest.values))
		return true;
	if (has_shares(groups))
		snprintf(name, sizeof(name), "%s", compacted);
	else
		gmt_table_group(groups->key, &input, site, name, sizeof(name));
	return gmt_intern_text(&groups->names, name, &rest.group) && take(user, &rest);
}

const char *gmt_profile_groups_name(const struct gmt_profile_groups *groups, uint32_t group)
{
	return gmt_intern_get(&groups->names, group)->bytes;
}

void gmt_profile_groups_fini(struct gmt_profile_groups *groups)
{
	gmt_history_fini(&groups->history);
	gmt_intern_fini(&groups->names);
	gmt_block_origin_fini(&groups->origin);
	gmt_vec_fini(&groups->shares);
	gmt_vec_fini(&groups->first_shares);
	gmt_vec_fini(&groups->peak_numbers);
	gmt_map_fini(&groups->share_ids);
	for (size_t i = 0; i < GMT_ACCOUNTING_LAYERS; i++)
		gmt_map_fini(&groups->block_shares[i]);
}
