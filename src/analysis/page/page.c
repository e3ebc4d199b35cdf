/* SPDX-License-Identifier: MIT */
#include "analysis/page/page.h"

#include "analysis/page/page_merge_buckets.h"
#include "analysis/page/page_finish.h"
#include "analysis/page/page_phases.h"
#include "analysis/page/page_prefix.h"
#include "reader/load/clock.h"

/* Finds or makes the history of an account. Returns NULL when out of memory. */
static struct gmt_page_account *get_account(struct gmt_page *page, uint32_t id)
{
	while (page->accounts.count <= id) {
		struct gmt_page_account *account = gmt_vec_push(&page->accounts);

		if (!account)
			return NULL;
		account->has_phases = page->phase_names.count;
	}
	return &page->accounts.items[id];
}

static struct gmt_page_device *get_device(struct gmt_page *page, int16_t ordinal)
{
	struct gmt_page_device *device;

	for (size_t i = 0; i < page->devices.count; i++)
		if (page->devices.items[i].device == ordinal)
			return &page->devices.items[i];
	device = gmt_vec_push(&page->devices);
	if (device)
		device->device = ordinal;
	return device;
}

/* Returns the largest number of buckets of an account. */
static size_t most_buckets(const struct gmt_page *page)
{
	size_t max_buckets = 0;

	for (size_t i = 0; i < page->accounts.count; i++)
		if (page->accounts.items[i].buckets.count > max_buckets)
			max_buckets = page->accounts.items[i].buckets.count;
	return max_buckets;
}

/* Returns whether there are too many entries for the number of buckets. */
static bool has_too_many(const struct gmt_page *page)
{
	if (page->context.entries < GMT_PAGE_ENTRIES)
		return false;
	return most_buckets(page) >=
		(page->context.entries < GMT_PAGE_MAX_ENTRIES ? 2 * GMT_PAGE_FEW_BUCKETS : 4);
}

/* Halves the number of buckets until there are few entries or few buckets. */
static bool keep_bound(struct gmt_page *page)
{
	while (has_too_many(page)) {
		for (size_t i = 0; i < page->accounts.count; i++)
			if (page->accounts.items[i].is_used &&
				!gmt_page_account_merge_buckets(&page->accounts.items[i], &page->context))
				return false;
		gmt_page_clock_halve_intervals(&page->context.clock);
	}
	return true;
}

static bool work_event(struct gmt_page *page, const struct gmt_page_item *item)
{
	if (item->stamp <= page->context.clock.next_needed_stamp)
		return true;
	gmt_page_clock_reach(&page->context.clock, item->stamp, item->index);
	return keep_bound(page);
}

static bool add_block(struct gmt_page *page, const struct gmt_page_item *item)
{
	struct gmt_page_device *device = get_device(page, item->device);
	const struct gmt_addressed_block addressed = {
		item->address,
		{ .size_bytes = item->size_bytes, .stamp = item->begin_stamp, .site = item->site },
	};

	return device && gmt_page_blocks_add(&device->blocks, &addressed, item->stamp, false);
}

static bool work_change(struct gmt_page *page, const struct gmt_page_item *item)
{
	bool is_end = item->kind == GMT_PAGE_ITEM_ENDED;
	struct gmt_page_account *account;

	if (is_end && !add_block(page, item))
		return false;
	account = get_account(page, item->account);
	if (!account)
		return false;
	if (page->is_in_prefix) {
		gmt_page_prefix_phase(account, item->phase, item->size_bytes, is_end);
		return true;
	}
	return gmt_page_account_change(account, &page->context,
		&(struct gmt_page_change){
			.site = item->site,
			.phase = item->phase,
			.stamp = item->stamp,
			.size_bytes = item->size_bytes,
			.reserved_bytes = item->reserved_bytes,
			.is_end = is_end,
		});
}

/* Runs in the worker thread, or in the thread of the replay if there is no worker thread. */
static bool work(void *user, const struct gmt_page_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!(items[i].kind == GMT_PAGE_ITEM_EVENT ? work_event(user, &items[i])
												   : work_change(user, &items[i])))
			return false;
	return true;
}

static bool on_before(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, size_t index)
{
	struct gmt_page *page = user;
	struct gmt_page_item *item = gmt_page_worker_add(&page->worker);

	(void)replay;
	gmt_page_bounds_reach(&page->bounds, event->stamp);
	if (item)
		*item = (struct gmt_page_item){
			.kind = GMT_PAGE_ITEM_EVENT, .stamp = event->stamp, .index = index
		};
	return item;
}

/*
 * Submits a change of a site to the worker. `phase` is an id in the attribution's phase_names.
 * Stores NULL in *ret_item if the page has no room for the site's account. False when out of
 * memory.
 */
static bool add_change(struct gmt_page *page, const struct gmt_replay *replay,
	enum gmt_page_item_kind kind, uint64_t stamp, uint32_t site, uint32_t phase,
	struct gmt_page_item **ret_item)
{
	uint32_t account = replay->accounting.sites.items[site].account;
	struct gmt_page_item *item;

	*ret_item = NULL;
	if (account >= GMT_PAGE_ACCOUNTS)
		return true;
	item = *ret_item = gmt_page_worker_add(&page->worker);
	if (!item)
		return false;
	item->kind = kind;
	item->phase = page->phase_names.count ? (uint8_t)gmt_page_phase_of(page, phase) : 0;
	item->stamp = stamp;
	item->reserved_bytes = replay->accounting.accounts.items[account].reported_reserved_bytes;
	item->site = site;
	item->account = account;
	return true;
}

static bool on_began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	struct gmt_page *page = user;
	uint32_t account = replay->accounting.sites.items[site].account;
	struct gmt_page_item *item;

	if (!add_change(page, replay, GMT_PAGE_ITEM_BEGAN, event->stamp, site,
			page->attribution->row_caches[account % GMT_ATTRIBUTION_ROW_CACHES].phase, &item))
		return false;
	if (item)
		item->size_bytes = event->size_bytes;
	return true;
}

static bool on_ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	struct gmt_page *page = user;
	struct gmt_page_item *item;

	if (!add_change(page, replay, GMT_PAGE_ITEM_ENDED, event->stamp, block->site,
			page->attribution->ended_phase, &item))
		return false;
	if (item) {
		item->size_bytes = block->size_bytes;
		item->address = event->address;
		item->begin_stamp = block->stamp;
		item->device = replay->accounting.accounts.items[item->account].device;
	}
	return true;
}

static bool on_compacted(void *user, const struct gmt_replay *replay)
{
	struct gmt_page *page = user;

	if (!gmt_page_worker_finish(&page->worker))
		return false;
	page->is_in_prefix = false;
	for (uint32_t i = 0; i < replay->accounting.accounts.count && i < GMT_PAGE_ACCOUNTS; i++) {
		const struct gmt_account *from = &replay->accounting.accounts.items[i];
		struct gmt_page_account *account = get_account(page, i);

		/* A damaged prefix may have blocks, but no allocation. */
		if (!account ||
			((from->alloc_count || from->live_blocks || from->peak_number) &&
				!gmt_page_prefix_set(account, &page->context, replay, i)))
			return false;
	}
	return true;
}

static bool add_live_blocks(struct gmt_page *page, const struct gmt_replay *replay)
{
	struct gmt_addressed_block addressed;

	for (uint8_t layer = 0; layer < GMT_ACCOUNTING_LAYERS; layer++) {
		size_t cursor = 0;

		while (gmt_accounting_next_block(&replay->accounting, layer, &cursor, &addressed)) {
			uint32_t account = replay->accounting.sites.items[addressed.block.site].account;
			struct gmt_page_device *device;

			if (account >= GMT_PAGE_ACCOUNTS)
				continue;
			device = get_device(page, replay->accounting.accounts.items[account].device);
			if (!device ||
				!gmt_page_blocks_add(&device->blocks, &addressed, page->context.clock.end_stamp,
					true))
				return false;
		}
	}
	return true;
}

static bool on_finished(void *user, const struct gmt_replay *replay)
{
	struct gmt_page *page = user;

	if (!gmt_page_worker_finish(&page->worker))
		return false;
	gmt_page_worker_fini(&page->worker);
	for (size_t i = 0; i < page->accounts.count; i++) {
		struct gmt_page_account *account = &page->accounts.items[i];
		struct gmt_page_device *device;
		uint32_t *slot;

		if (!account->is_used)
			continue;
		device = get_device(page, replay->accounting.accounts.items[i].device);
		if (!device || !(slot = gmt_vec_push(&device->accounts)) ||
			!gmt_page_account_finish(account, &page->context,
				replay->accounting.accounts.items[i].reported_reserved_bytes))
			return false;
		*slot = (uint32_t)i;
	}
	return add_live_blocks(page, replay);
}

enum gmt_status gmt_page_init(struct gmt_page *ret_page, const struct gmt_page_input *input,
	struct gmt_error *error)
{
	ret_page->attribution = input->attribution;
	ret_page->context.recording = input->recording;
	ret_page->observer = (struct gmt_replay_observer){
		.before = on_before,
		.next_needed_stamp = &ret_page->bounds.next_needed_stamp,
		.began = on_began,
		.ended = on_ended,
		.compacted = on_compacted,
		.finished = on_finished,
		.user = ret_page,
	};
	ret_page->worker.work = work;
	ret_page->worker.user = ret_page;
	if (!gmt_page_clock_init(&ret_page->context.clock, input->recording, input->until_ns) ||
		!gmt_page_bounds_init(&ret_page->bounds, &ret_page->context.clock) ||
		!gmt_page_phases_choose(ret_page, input->timeline))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	ret_page->is_in_prefix = ret_page->context.clock.has_prefix;
	return GMT_OK;
}

enum gmt_status gmt_page_finish(struct gmt_page *page, const struct gmt_page_results *results,
	struct gmt_error *error)
{
	page->ns_per_tick =
		(double)gmt_clock_span_ns(page->context.recording, UINT32_MAX) / (double)UINT32_MAX;
	if (!gmt_page_sites_compute(&page->sites, &results->sites) ||
		!gmt_page_finish_devices(page, results))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return GMT_OK;
}

const struct gmt_page_account *gmt_page_account_of(const struct gmt_page *page, uint32_t account)
{
	return account < page->accounts.count && page->accounts.items[account].is_used
		? &page->accounts.items[account]
		: NULL;
}

void gmt_page_fini(struct gmt_page *page)
{
	gmt_page_worker_fini(&page->worker);
	gmt_page_bounds_fini(&page->bounds);
	for (size_t i = 0; i < page->accounts.count; i++)
		gmt_page_account_fini(&page->accounts.items[i]);
	gmt_vec_fini(&page->accounts);
	for (size_t i = 0; i < page->devices.count; i++) {
		gmt_page_blocks_fini(&page->devices.items[i].blocks);
		gmt_vec_fini(&page->devices.items[i].accounts);
		gmt_vec_fini(&page->devices.items[i].refusals);
		gmt_vec_fini(&page->devices.items[i].samples);
	}
	gmt_vec_fini(&page->devices);
	gmt_page_sites_fini(&page->sites);
	gmt_vec_fini(&page->phase_names);
	gmt_vec_fini(&page->phase_of_name);
	gmt_vec_fini(&page->context.sites);
	gmt_page_clock_fini(&page->context.clock);
}
