/* SPDX-License-Identifier: MIT */
#include "analysis/history/phase_memory.h"

#include "format/format.h"

/* Returns the index of the account, or SIZE_MAX when out of memory. */
static size_t get_account(struct gmt_phase_memory *memory, uint8_t layer, int16_t device)
{
	uint64_t key = (uint64_t)layer << 16 | (uint16_t)device, index;

	if (gmt_map_find(&memory->account_ids, key, &index))
		return index;

	struct gmt_phase_memory_account *account = gmt_vec_push(&memory->accounts);
	if (!account)
		return SIZE_MAX;
	*account = (struct gmt_phase_memory_account){ .device = device, .layer = layer };
	index = memory->accounts.count - 1;
	return gmt_map_put(&memory->account_ids, key, index) ? index : SIZE_MAX;
}

/* Adds rows for accounts that are newer than the phase's last row. */
static bool add_rows(const struct gmt_phase_memory *memory, uint32_t phase, bool is_begin)
{
	struct gmt_phase_memory_phase *counted = &memory->phases.items[phase];

	while (counted->rows.count < memory->accounts.count) {
		const struct gmt_phase_memory_account *account =
			&memory->accounts.items[counted->rows.count];
		struct gmt_phase_memory_row *row = gmt_vec_push(&counted->rows);
		uint64_t bytes = is_begin ? account->live_bytes : 0;

		if (!row)
			return false;
		*row = (struct gmt_phase_memory_row){
			.begin_bytes = bytes,
			.peak_bytes = bytes,
			.peak_stamp = memory->timeline->phases.items[phase].begin,
			.device = account->device,
			.layer = account->layer,
		};
	}
	return true;
}

/* Opens the next phase, if it is counted. */
static bool open_next(struct gmt_phase_memory *memory)
{
	uint32_t phase = (uint32_t)memory->next++;

	if ((memory->only != SIZE_MAX && memory->only != phase) ||
		memory->timeline->phases.items[phase].source != GMT_MARK_SOURCE_PROGRAM ||
		memory->timeline->phases.items[phase].begin < memory->first_stamp ||
		memory->open.count == GMT_PHASE_MEMORY_OPEN || memory->counted == GMT_PHASE_MEMORY_PHASES)
		return true;

	uint32_t *open = gmt_vec_push(&memory->open);
	if (!open)
		return false;
	*open = phase;
	memory->counted++;
	memory->phases.items[phase].is_counted = true;
	return add_rows(memory, phase, true);
}

static void close(const struct gmt_phase_memory *memory, uint32_t phase)
{
	struct gmt_phase_memory_phase *counted = &memory->phases.items[phase];
	size_t kept = 0;

	for (size_t i = 0; i < counted->rows.count; i++) {
		struct gmt_phase_memory_row *row = &counted->rows.items[i];

		row->end_bytes = memory->accounts.items[i].live_bytes;
		if (row->begin_bytes || row->alloc_count || row->end_bytes)
			counted->rows.items[kept++] = *row;
	}
	counted->rows.count = kept;
}

/* Opens the phases that begin before `stamp`, and closes those that end before it. */
static bool advance(struct gmt_phase_memory *memory, uint64_t stamp)
{
	const struct gmt_timeline *timeline = memory->timeline;
	size_t kept;

	do {
		bool may_open = memory->next < timeline->phases.count &&
			timeline->phases.items[memory->next].begin < stamp;
		/* Phases that ended before the next one begins make room for it. */
		uint64_t now = may_open ? timeline->phases.items[memory->next].begin : stamp;

		kept = 0;
		for (size_t i = 0; i < memory->open.count; i++)
			if (timeline->phases.items[memory->open.items[i]].end < now)
				close(memory, memory->open.items[i]);
			else
				memory->open.items[kept++] = memory->open.items[i];
		memory->open.count = kept;
		if (!may_open)
			return true;
	} while (open_next(memory));
	return false;
}

static bool count_site(struct gmt_phase_memory *memory, const struct gmt_replay *replay,
	uint32_t site, uint64_t *ret_before)
{
	uint64_t now = replay->accounting.sites.items[site].live_bytes;

	while (memory->site_bytes.count <= site) {
		uint64_t *slot = gmt_vec_push(&memory->site_bytes);

		if (!slot)
			return false;
	}
	*ret_before = memory->site_bytes.items[site];
	memory->site_bytes.items[site] = now;
	return true;
}

/* Applies a change of `bytes` (modulo 2^64) to an account and to the open phases. */
static bool change_account(struct gmt_phase_memory *memory, size_t index, uint64_t bytes,
	bool is_alloc, uint64_t stamp)
{
	if (index == SIZE_MAX)
		return false;

	struct gmt_phase_memory_account *account = &memory->accounts.items[index];
	account->live_bytes += bytes;
	for (size_t i = 0; i < memory->open.count; i++) {
		if (!add_rows(memory, memory->open.items[i], false))
			return false;

		struct gmt_phase_memory_row *row =
			&memory->phases.items[memory->open.items[i]].rows.items[index];
		row->alloc_count += is_alloc;
		row->free_count += !is_alloc;
		if (is_alloc && bytes <= GMT_ACCOUNTING_MAX_BYTES)
			row->alloc_bytes = gmt_saturating_add_i64(row->alloc_bytes, bytes);
		if (account->live_bytes > row->peak_bytes) {
			row->peak_bytes = account->live_bytes;
			row->peak_stamp = stamp;
		}
	}
	return true;
}

/* Counts what the site holds now. The event at `stamp` began or ended one of its blocks. */
static bool change(struct gmt_phase_memory *memory, const struct gmt_replay *replay, uint32_t site,
	bool is_alloc, uint64_t stamp)
{
	const struct gmt_account *account =
		&replay->accounting.accounts.items[replay->accounting.sites.items[site].account];
	bool is_used = account->layer == GMT_LAYER_TORCH ||
		(account->layer == GMT_LAYER_CUDA &&
			!gmt_owners_is_segment(&memory->traces->owners, replay->site_stacks.items[site]));
	uint64_t before;

	if (!advance(memory, stamp) || !count_site(memory, replay, site, &before))
		return false;

	uint64_t bytes = memory->site_bytes.items[site] - before;
	return change_account(memory, get_account(memory, account->layer, account->device), bytes,
			   is_alloc, stamp) &&
		(!is_used || account->device < 0 ||
			change_account(memory, get_account(memory, GMT_PHASE_MEMORY_PROGRAM, account->device),
				bytes, is_alloc, stamp));
}

static bool on_began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	return change(user, replay, site, true, event->stamp);
}

static bool on_ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	return change(user, replay, block->site, false, event->stamp);
}

/* The sums of the prefix were set directly. No phase is open, because none of them is counted. */
static bool on_compacted(void *user, const struct gmt_replay *replay)
{
	for (size_t site = 0; site < replay->accounting.sites.count; site++)
		if (!change(user, replay, (uint32_t)site, true, 0))
			return false;
	return true;
}

static bool on_finished(void *user, const struct gmt_replay *replay)
{
	struct gmt_phase_memory *memory = user;

	(void)replay;
	if (!advance(memory, UINT64_MAX))
		return false;
	for (size_t i = 0; i < memory->open.count; i++)
		close(memory, memory->open.items[i]);
	memory->open.count = 0;
	return true;
}

bool gmt_phase_memory_init(struct gmt_phase_memory *memory, const struct gmt_timeline *timeline,
	const struct gmt_recording *recording, const struct gmt_traces *traces, size_t only)
{
	memory->timeline = timeline;
	memory->traces = traces;
	memory->only = only;
	if (recording->compacted.exists)
		memory->first_stamp = recording->compacted.cut_stamp;
	memory->observer = (struct gmt_replay_observer){
		.began = on_began,
		.ended = on_ended,
		.compacted = on_compacted,
		.finished = on_finished,
		.user = memory,
	};
	/* The new entries are all zeros. */
	if (!gmt_vec_reserve(&memory->phases, timeline->phases.count))
		return false;
	memory->phases.count = timeline->phases.count;
	return true;
}

void gmt_phase_memory_fini(struct gmt_phase_memory *memory)
{
	for (size_t i = 0; i < memory->phases.count; i++)
		gmt_vec_fini(&memory->phases.items[i].rows);
	gmt_vec_fini(&memory->phases);
	gmt_vec_fini(&memory->accounts);
	gmt_map_fini(&memory->account_ids);
	gmt_vec_fini(&memory->site_bytes);
	gmt_vec_fini(&memory->open);
}
