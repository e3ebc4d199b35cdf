/* SPDX-License-Identifier: MIT */
/* Observes the memory of the process at the device's answers, at its peaks and at refusals. */
#include <stdlib.h>

#include "analysis/ledger/ledger.h"
#include "reader/steps/phases.h"

enum { OUT_OF_MEMORY = 2 };

static struct gmt_ledger_device *find_device(struct gmt_ledger_watch *watch, int16_t device)
{
	uint64_t index;

	return gmt_map_find(&watch->device_ids, (uint16_t)device, &index) ? &watch->devices.items[index]
																	  : NULL;
}

static struct gmt_ledger_device *get_device(struct gmt_ledger_watch *watch, int16_t device)
{
	struct gmt_ledger_device *found = find_device(watch, device);

	if (found)
		return found;
	if (!gmt_vec_reserve(&watch->devices, 1) ||
		!gmt_map_put(&watch->device_ids, (uint16_t)device, watch->devices.count))
		return NULL;
	found = gmt_vec_push(&watch->devices);
	*found = (struct gmt_ledger_device){ .device = device };
	return found;
}

/* Saves the memory that the process holds on the device now. */
static void save_holding(struct gmt_ledger_watch *watch, const struct gmt_replay *replay,
	int16_t device, struct gmt_ledger_holding *ret_holding)
{
	const struct gmt_ledger_device *row = find_device(watch, device);
	const struct gmt_account *torch =
		gmt_accounting_find_account(&replay->accounting, GMT_LAYER_TORCH, device);

	*ret_holding = row ? row->now : (struct gmt_ledger_holding){ .stamp = 0 };
	if (torch && torch->has_totals) {
		ret_holding->reported_allocated_bytes = torch->reported_allocated_bytes;
		ret_holding->reported_reserved_bytes = torch->reported_reserved_bytes;
	}
}

struct gmt_ledger_sums gmt_ledger_sums(const struct gmt_ledger_holding *holding)
{
	struct gmt_ledger_sums sums = { 0, holding->bytes[GMT_SPACE_POOL],
		holding->bytes[GMT_SPACE_GRAPH] };

	for (unsigned space = 1; space < GMT_SPACE_COUNT; space++) {
		unsigned layer = gmt_space_layer(space);

		if ((layer == GMT_LAYER_CUDA || layer == GMT_LAYER_DRIVER) && space != GMT_SPACE_MANAGED &&
			space != GMT_SPACE_POOL && space != GMT_SPACE_GRAPH)
			sums.steady_bytes += holding->bytes[space];
	}
	return sums;
}

static struct gmt_ledger_sums sums_now(struct gmt_ledger_watch *watch, uint16_t device)
{
	static const struct gmt_ledger_holding nothing;
	const struct gmt_ledger_device *row = find_device(watch, (int16_t)device);

	return gmt_ledger_sums(row ? &row->now : &nothing);
}

/* Completes the answers that began or ended before this moment. */
static void process_answers(struct gmt_ledger_watch *watch, uint64_t stamp)
{
	for (; watch->next_begin < watch->begins.count; watch->next_begin++) {
		struct gmt_ledger_answer *answer =
			&watch->answers.items[watch->begins.items[watch->next_begin]];

		if (answer->sample.begin_stamp >= stamp)
			break;
		if (answer->is_in_compacted)
			continue;
		answer->before = sums_now(watch, answer->sample.device);
	}
	for (; watch->next_end < watch->answers.count; watch->next_end++) {
		struct gmt_ledger_answer *answer = &watch->answers.items[watch->next_end];

		if (answer->sample.stamp >= stamp)
			break;
		if (answer->is_in_compacted)
			continue;
		answer->after = sums_now(watch, answer->sample.device);
	}
	watch->next_needed_stamp = watch->next_begin < watch->begins.count
		? watch->answers.items[watch->begins.items[watch->next_begin]].sample.begin_stamp
		: UINT64_MAX;
	if (watch->next_end < watch->answers.count &&
		watch->answers.items[watch->next_end].sample.stamp < watch->next_needed_stamp)
		watch->next_needed_stamp = watch->answers.items[watch->next_end].sample.stamp;
	if (watch->work_end < watch->next_needed_stamp)
		watch->next_needed_stamp = watch->work_end;
}

/* Records the memory at the end of the program's work. */
static void save_ends(struct gmt_ledger_watch *watch, const struct gmt_replay *replay,
	uint64_t stamp)
{
	watch->has_ended = true;
	watch->work_end = UINT64_MAX;
	watch->end_stamp = stamp;
	for (size_t i = 0; i < watch->devices.count; i++)
		save_holding(watch, replay, watch->devices.items[i].device, &watch->devices.items[i].end);
}

static bool on_before(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, size_t index)
{
	struct gmt_ledger_watch *watch = user;
	struct gmt_ledger_holding *holding;
	int16_t *device;

	/* The compacted prefix does not keep the memory that was held at its refusals. */
	if (index < watch->recording->compacted_events)
		return true;
	if (event->stamp > watch->work_end) {
		uint64_t work_end = watch->work_end;

		process_answers(watch, work_end);
		save_ends(watch, replay, work_end);
	}
	process_answers(watch, event->stamp);
	if (event->kind != GMT_KIND_ALLOC_FAILED || event->device < 0 ||
		(event->layer != GMT_LAYER_TORCH && event->result != OUT_OF_MEMORY))
		return true;
	holding = gmt_vec_push(&watch->refusals);
	device = gmt_vec_push(&watch->refusal_devices);
	if (!holding || !device)
		return false;
	save_holding(watch, replay, event->device, holding);
	holding->stamp = event->stamp;
	*device = event->device;
	return true;
}

/*
 * Returns whether the ledger counts the account: it is device memory of this process, including
 * the driver's memory for the process.
 */
static bool is_counted(const struct gmt_account *account)
{
	return account->device >= 0 && account->layer != GMT_LAYER_TORCH &&
		account->layer != GMT_LAYER_VIEW && gmt_layer_family(account->layer) == GMT_FAMILY_CUDA;
}

/*
 * Returns whether the site belongs to an arena. If an arena is only likely, its memory stays in the
 * line of its space.
 */
static bool is_arena(const struct gmt_ledger_watch *watch, const struct gmt_replay *replay,
	uint32_t site)
{
	return gmt_owners_arena(&watch->traces->owners, replay->site_stacks.items[site]) ==
		GMT_ARENA_YES;
}

static bool note_site(struct gmt_ledger_watch *watch, const struct gmt_replay *replay, uint32_t id)
{
	const struct gmt_accounting *accounting = &replay->accounting;
	const struct gmt_account *account =
		&accounting->accounts.items[accounting->sites.items[id].account];
	uint32_t space = accounting->spaces.items[accounting->sites.items[id].space].space;
	struct gmt_ledger_device *device = NULL;
	bool is_cuda;

	while (watch->sites.count <= id) {
		struct gmt_ledger_site *slot = gmt_vec_push(&watch->sites);

		if (!slot)
			return false;
	}
	if (is_counted(account) && space < GMT_SPACE_COUNT &&
		!(device = get_device(watch, account->device)))
		return false;
	is_cuda = device && account->layer == GMT_LAYER_CUDA;
	watch->sites.items[id] = (struct gmt_ledger_site){
		.device_plus_1 = device ? (uint32_t)(device - watch->devices.items) + 1 : 0,
		.space = (uint8_t)space,
		.is_known = true,
		.is_cuda = is_cuda,
		.is_segment =
			is_cuda && gmt_owners_is_segment(&watch->traces->owners, replay->site_stacks.items[id]),
		.is_arena = is_cuda && is_arena(watch, replay, id),
	};
	return true;
}

/*
 * Changes the memory of a site. *ret_device is the device for which the site's blocks count, with
 * an updated cuda_bytes. NULL: the blocks do not count.
 */
static bool change(struct gmt_ledger_watch *watch, const struct gmt_replay *replay, uint32_t id,
	uint64_t more_bytes, struct gmt_ledger_device **ret_device)
{
	const struct gmt_accounting *accounting = &replay->accounting;
	const struct gmt_ledger_site *site;
	struct gmt_ledger_device *device;

	if ((id >= watch->sites.count || !watch->sites.items[id].is_known) &&
		!note_site(watch, replay, id))
		return false;
	site = &watch->sites.items[id];
	*ret_device = device =
		site->device_plus_1 ? &watch->devices.items[site->device_plus_1 - 1] : NULL;
	if (!device)
		return true;
	device->now.bytes[site->space] += more_bytes;
	if (site->is_segment) {
		device->now.segments[site->space] += more_bytes;
		device->now.knows_segments = true;
	}
	if (site->is_arena)
		device->now.arenas[site->space] += more_bytes;
	if (site->is_cuda)
		device->cuda_bytes =
			accounting->accounts.items[accounting->sites.items[id].account].live_bytes;
	return true;
}

static void save_peak(struct gmt_ledger_watch *watch, const struct gmt_replay *replay,
	struct gmt_ledger_device *device, uint64_t stamp)
{
	device->peak_bytes = device->cuda_bytes;
	save_holding(watch, replay, device->device, &device->peak);
	device->peak.stamp = stamp;
}

/*
 * PyTorch gets a segment before it reports the block inside. So while the peak lasts, this takes
 * the peak again at the largest size that PyTorch reports.
 */
static void note_block(struct gmt_ledger_watch *watch, const struct gmt_replay *replay,
	const struct gmt_account *torch, uint64_t stamp)
{
	struct gmt_ledger_device *device = find_device(watch, torch->device);

	if (device && device->peak_bytes && device->cuda_bytes == device->peak_bytes &&
		torch->reported_allocated_bytes > device->peak.reported_allocated_bytes)
		save_peak(watch, replay, device, stamp);
}

static bool on_began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	struct gmt_ledger_watch *watch = user;
	const struct gmt_accounting *accounting = &replay->accounting;
	struct gmt_ledger_device *device;

	if (!change(watch, replay, site, event->size_bytes, &device))
		return false;
	if (device) {
		if (device->cuda_bytes > device->peak_bytes)
			save_peak(watch, replay, device, event->stamp);
	} else if (event->layer == GMT_LAYER_TORCH) {
		const struct gmt_account *torch =
			&accounting->accounts.items[accounting->sites.items[site].account];

		if (torch->has_totals)
			note_block(watch, replay, torch, event->stamp);
	}
	return true;
}

static bool on_ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	struct gmt_ledger_device *device;

	(void)event;
	return change(user, replay, block->site, 0 - block->size_bytes, &device);
}

static void save_compacted_account(struct gmt_ledger_device *device,
	const struct gmt_past_account *row)
{
	if (row->layer == GMT_LAYER_CUDA)
		device->peak.stamp = row->held_stamp;
	if (row->layer != GMT_LAYER_TORCH)
		return;
	device->peak.reported_allocated_bytes = row->held_allocated_bytes;
	device->peak.reported_reserved_bytes = row->held_reserved_bytes;
}

/*
 * Sets the peak within the compacted prefix: the total from its rows, PyTorch's part from the sites
 * at the peak.
 */
static bool set_compacted_peak(struct gmt_ledger_watch *watch, const struct gmt_replay *replay,
	int16_t ordinal)
{
	const struct gmt_compacted_prefix *compacted = &watch->recording->compacted;
	const struct gmt_accounting *accounting = &replay->accounting;
	const struct gmt_account *cuda =
		gmt_accounting_find_account(accounting, GMT_LAYER_CUDA, ordinal);
	struct gmt_ledger_device *device = get_device(watch, ordinal);

	if (!device || !cuda)
		return device;
	device->cuda_bytes = cuda->live_bytes;
	device->peak_bytes = cuda->peak_bytes;
	device->peak = (struct gmt_ledger_holding){ .stamp = cuda->peak_stamp };
	for (size_t i = 0; i < compacted->spaces.count; i++)
		if (compacted->spaces.items[i].device == ordinal &&
			compacted->spaces.items[i].space < GMT_SPACE_COUNT)
			device->peak.bytes[compacted->spaces.items[i].space] +=
				compacted->spaces.items[i].held_bytes;
	for (size_t i = 0; i < compacted->accounts.count; i++)
		if (compacted->accounts.items[i].device == ordinal)
			save_compacted_account(device, &compacted->accounts.items[i]);
	for (uint32_t site = 0; site < accounting->sites.count; site++) {
		const struct gmt_account_site *row = &accounting->sites.items[site];
		uint32_t space = accounting->spaces.items[row->space].space;

		if (&accounting->accounts.items[row->account] != cuda || space >= GMT_SPACE_COUNT)
			continue;
		if (is_arena(watch, replay, site))
			device->peak.arenas[space] += gmt_account_site_peak(accounting, site).bytes;
		if (!gmt_owners_is_segment(&watch->traces->owners, replay->site_stacks.items[site]))
			continue;
		device->peak.segments[space] += gmt_account_site_peak(accounting, site).bytes;
		device->peak.knows_segments = device->now.knows_segments = true;
	}
	return true;
}

static bool on_compacted(void *user, const struct gmt_replay *replay)
{
	struct gmt_ledger_watch *watch = user;

	for (size_t i = 0; i < replay->accounting.accounts.count; i++)
		if (is_counted(&replay->accounting.accounts.items[i]) &&
			replay->accounting.accounts.items[i].alloc_count &&
			!set_compacted_peak(watch, replay, replay->accounting.accounts.items[i].device))
			return false;
	return true;
}

/*
 * Completes the answers up to the end of the replay. Later answers describe memory that the replay
 * did not see.
 */
static bool on_finished(void *user, const struct gmt_replay *replay)
{
	struct gmt_ledger_watch *watch = user;

	process_answers(watch,
		replay->events < watch->recording->events.count
			? gmt_recording_event(watch->recording, replay->events).stamp
			: UINT64_MAX);
	watch->answers.count = watch->next_end;
	/* The end state belongs to the last answers, so it is taken after them. */
	if (!watch->has_ended)
		save_ends(watch, replay, UINT64_MAX);
	return true;
}

static int by_end(const void *left, const void *right)
{
	const struct gmt_ledger_answer *a = left, *b = right;

	return (a->sample.stamp > b->sample.stamp) - (a->sample.stamp < b->sample.stamp);
}

static int by_begin(const void *left, const void *right, void *user)
{
	const struct gmt_ledger_answer *answers = user;
	uint64_t a = answers[*(const uint32_t *)left].sample.begin_stamp,
			 b = answers[*(const uint32_t *)right].sample.begin_stamp;

	return (a > b) - (a < b);
}

/* After a refusal the recorder asks the device for its memory. Adds these answers. */
static bool add_ooms(struct gmt_ledger_watch *watch)
{
	for (size_t i = 0; i < watch->recording->ooms.count; i++) {
		const struct gmt_oom *oom = &watch->recording->ooms.items[i];
		struct gmt_ledger_answer *answer;

		/* For compacted refusals, the answers are in the compacted prefix. */
		if (!oom->total_bytes || oom->device < 0 ||
			(watch->recording->compacted.exists &&
				oom->stamp <= watch->recording->compacted.cut_stamp))
			continue;
		answer = gmt_vec_push(&watch->answers);
		if (!answer)
			return false;
		*answer = (struct gmt_ledger_answer){ .sample = { .stamp = oom->stamp,
												  .begin_stamp = oom->stamp,
												  .device = (uint16_t)oom->device,
												  .known = GMT_SAMPLE_DRIVER,
												  .free_bytes = oom->free_bytes,
												  .total_bytes = oom->total_bytes } };
	}
	return true;
}

static bool add_compacted(struct gmt_ledger_watch *watch)
{
	for (size_t i = 0;
		watch->recording->compacted.exists && i < watch->recording->compacted.answers.count; i++) {
		const struct gmt_past_answer *row = &watch->recording->compacted.answers.items[i];
		struct gmt_ledger_answer *answer = gmt_vec_push(&watch->answers);

		if (!answer)
			return false;
		*answer = (struct gmt_ledger_answer){
			.sample = {
				.stamp = row->stamp, .begin_stamp = row->begin_stamp, .device = row->device, .known = row->known,
				.free_bytes = row->free_bytes, .total_bytes = row->total_bytes, .process_bytes = row->process_bytes,
				.others_bytes = row->others_bytes, .pool_reserved_bytes = row->pool_reserved_bytes,
				.graph_reserved_bytes = row->graph_reserved_bytes,
			},
			.before = { row->before_steady_bytes, row->after_pool_bytes, row->after_graph_bytes },
			.after = { row->after_steady_bytes, row->after_pool_bytes, row->after_graph_bytes },
			.is_in_compacted = true,
		};
	}
	return true;
}

bool gmt_ledger_watch_init(struct gmt_ledger_watch *watch, const struct gmt_recording *recording,
	const struct gmt_traces *traces)
{
	watch->recording = recording;
	watch->traces = traces;
	watch->work_end = gmt_phases_work_end(recording);
	watch->observer = (struct gmt_replay_observer){
		.before = on_before,
		.next_needed_stamp = &watch->next_needed_stamp,
		.before_kinds = GMT_REPLAY_KIND(ALLOC_FAILED),
		.began = on_began,
		.ended = on_ended,
		.compacted = on_compacted,
		.finished = on_finished,
		.user = watch,
	};
	for (size_t i = 0; i < recording->samples.count; i++) {
		const struct gmt_sample *sample = &recording->samples.items[i];
		struct gmt_ledger_answer *answer = gmt_vec_push(&watch->answers);

		if (!answer)
			return false;
		*answer = (struct gmt_ledger_answer){ .sample = *sample };
	}
	if (!add_ooms(watch) || !add_compacted(watch) ||
		!gmt_vec_reserve(&watch->begins, watch->answers.count))
		return false;
	for (size_t i = 0; i < watch->answers.count; i++)
		*gmt_vec_push(&watch->begins) = (uint32_t)i;
	if (!watch->answers.count)
		return true;
	qsort(watch->answers.items, watch->answers.count, sizeof(*watch->answers.items), by_end);
	qsort_r(watch->begins.items, watch->begins.count, sizeof(*watch->begins.items), by_begin,
		watch->answers.items);
	return true;
}

void gmt_ledger_watch_fini(struct gmt_ledger_watch *watch)
{
	gmt_vec_fini(&watch->devices);
	gmt_map_fini(&watch->device_ids);
	gmt_vec_fini(&watch->sites);
	gmt_vec_fini(&watch->answers);
	gmt_vec_fini(&watch->begins);
	gmt_vec_fini(&watch->refusals);
	gmt_vec_fini(&watch->refusal_devices);
}
