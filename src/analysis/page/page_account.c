/* SPDX-License-Identifier: MIT */
#include "analysis/page/page_account.h"

#include "reader/load/clock.h"

struct gmt_page_site_state *gmt_page_site_state(struct gmt_page_context *context, uint32_t site)
{
	while (context->sites.count <= site) {
		struct gmt_page_site_state *slot = gmt_vec_push(&context->sites);

		if (!slot)
			return NULL;
	}
	return &context->sites.items[site];
}

bool gmt_page_account_touch(struct gmt_page_account *account, struct gmt_page_site_state *site,
	uint32_t id)
{
	uint32_t *slot;

	if (site->bucket == account->number)
		return true;
	site->bucket = account->number;
	site->allocated = site->freed = site->allocs = site->frees = 0;
	slot = gmt_vec_push(&account->touched);
	if (slot)
		*slot = id;
	return slot;
}

/* Opens the bucket that begins with an interval. */
static void open_bucket(struct gmt_page_account *account, const struct gmt_page_context *context,
	size_t interval)
{
	const struct gmt_page_interval *begin = &context->clock.intervals.items[interval];

	account->interval = interval;
	account->max_number++;
	account->max_stamp = UINT64_MAX;
	account->open = (struct gmt_page_bucket){
		.begin_ns = begin->begin_ns,
		.begin_event = begin->begin_event,
		.max_bytes = account->live_bytes,
		.max_ns = begin->begin_ns,
		.min_bytes = account->live_bytes,
		.reserved_bytes = account->reserved_bytes,
	};
}

static bool push_entry(struct gmt_page_account *account, struct gmt_page_context *context,
	uint32_t id, struct gmt_page_site_state *site)
{
	uint64_t at_max =
		site->saved_max_number == account->max_number ? site->saved_bytes : site->live_bytes;
	int64_t change = (int64_t)(at_max - site->last_bytes);
	struct gmt_page_entry *entry;

	site->last_bytes = at_max;
	/* A damaged compacted prefix may have bytes without allocations. */
	if (!change && !site->allocs && !site->frees && !site->allocated && !site->freed)
		return true;
	entry = gmt_vec_push(&account->entries);
	if (!entry)
		return false;
	*entry = (struct gmt_page_entry){
		.site = id,
		.at_max = change,
		.allocated = site->allocated,
		.freed = site->freed,
		.allocs = site->allocs,
		.frees = site->frees,
	};
	account->open.entries++;
	context->entries++;
	return true;
}

static bool push_phases(struct gmt_page_account *account)
{
	for (unsigned i = 0; account->has_phases && i < GMT_PAGE_PHASES; i++) {
		const struct gmt_page_phase *phase = &account->phases[i];
		uint64_t *slot = gmt_vec_push(&account->phases_at_max);

		if (!slot)
			return false;
		*slot =
			phase->saved_max_number == account->max_number ? phase->saved_bytes : phase->live_bytes;
	}
	return true;
}

static bool close_bucket(struct gmt_page_account *account, struct gmt_page_context *context)
{
	struct gmt_page_bucket *bucket;
	size_t count = account->touched.count, kept = 0;

	account->open.end_bytes = account->live_bytes;
	if (account->max_stamp != UINT64_MAX)
		account->open.max_ns = gmt_clock_time_ns(context->recording, account->max_stamp);
	account->number++;
	for (size_t i = 0; i < count; i++) {
		uint32_t id = account->touched.items[i];
		struct gmt_page_site_state *site = &context->sites.items[id];

		if (!push_entry(account, context, id, site))
			return false;
		if (site->live_bytes == site->last_bytes)
			continue;
		/* It changed after the maximum, so the next maximum has a difference. */
		site->bucket = account->number;
		site->allocated = site->freed = site->allocs = site->frees = 0;
		account->touched.items[kept++] = id;
	}
	account->touched.count = kept;
	bucket = gmt_vec_push(&account->buckets);
	if (!bucket || !push_phases(account))
		return false;
	*bucket = account->open;
	return true;
}

static bool push_fine(struct gmt_page_account *account, uint64_t begin_stamp, uint64_t max_bytes)
{
	struct gmt_page_fine *fine = gmt_vec_push(&account->fine);

	if (fine)
		*fine = (struct gmt_page_fine){ begin_stamp, max_bytes };
	return fine;
}

/* Begins the part of the finer curve that contains a stamp. */
static void open_fine(struct gmt_page_account *account, const struct gmt_page_clock *clock,
	uint64_t stamp)
{
	uint64_t begin = clock->intervals.items[account->interval].begin_stamp,
			 end = gmt_page_clock_end(clock, account->interval);
	unsigned __int128 length = end > begin ? end - begin : 1;
	uint64_t part = stamp < begin ? 0 : (uint64_t)((stamp - begin) * GMT_PAGE_FINE / length);

	account->fine_begin = begin + (uint64_t)(length * part / GMT_PAGE_FINE);
	account->fine_end = begin + (uint64_t)(length * (part + 1) / GMT_PAGE_FINE);
	if (account->fine_end <= stamp)
		account->fine_end = stamp + 1;
	account->fine_max = account->live_bytes;
}

/* Moves the finer curve to a stamp after its open part. */
static bool move_fine(struct gmt_page_account *account, const struct gmt_page_clock *clock,
	uint64_t stamp)
{
	uint64_t end = account->fine_end;

	if (!push_fine(account, account->fine_begin, account->fine_max))
		return false;
	open_fine(account, clock, stamp);
	/* The interval may have become longer. */
	if (account->fine_begin < end)
		account->fine_begin = end;
	/* Nothing changed in between. */
	return account->fine_begin == end || push_fine(account, end, account->live_bytes);
}

/* Moves to the interval of the clock. */
static bool move(struct gmt_page_account *account, struct gmt_page_context *context)
{
	if (!close_bucket(account, context))
		return false;
	open_bucket(account, context, account->interval + 1);
	if (account->interval == context->clock.current)
		return true;
	/* Nothing changed in the intervals in between: they are one bucket. */
	if (!close_bucket(account, context))
		return false;
	open_bucket(account, context, context->clock.current);
	return true;
}

bool gmt_page_account_begin(struct gmt_page_account *account, struct gmt_page_context *context)
{
	if (account->is_used)
		return true;
	account->is_used = true;
	account->number = 1;
	open_bucket(account, context, 0);
	open_fine(account, &context->clock, 0);
	return true;
}

static void save_phase(const struct gmt_page_account *account, struct gmt_page_phase *phase)
{
	if (phase->saved_max_number != account->max_number) {
		phase->saved_max_number = account->max_number;
		phase->saved_bytes = phase->live_bytes;
	}
}

static void change_phase(struct gmt_page_account *account, const struct gmt_page_change *change)
{
	struct gmt_page_phase *phase = &account->phases[change->phase];
	uint64_t left = change->size_bytes;

	save_phase(account, phase);
	if (!change->is_end) {
		phase->live_bytes += left;
		return;
	}
	/*
	 * A phase that lacks the block is not the one that made it: the attribution knows a block by
	 * its address only. The phases still sum to the total.
	 */
	for (unsigned i = 0;; phase = &account->phases[i++]) {
		uint64_t part = left < phase->live_bytes ? left : phase->live_bytes;

		save_phase(account, phase);
		phase->live_bytes -= part;
		left -= part;
		if (!left || i == GMT_PAGE_PHASES)
			return;
	}
}

bool gmt_page_account_change(struct gmt_page_account *account, struct gmt_page_context *context,
	const struct gmt_page_change *change)
{
	struct gmt_page_site_state *site = gmt_page_site_state(context, change->site);

	if (!site || !gmt_page_account_begin(account, context) ||
		(account->interval != context->clock.current && !move(account, context)) ||
		(change->stamp >= account->fine_end &&
			!move_fine(account, &context->clock, change->stamp)) ||
		!gmt_page_account_touch(account, site, change->site))
		return false;
	if (site->saved_max_number != account->max_number) {
		site->saved_max_number = account->max_number;
		site->saved_bytes = site->live_bytes;
	}
	if (account->has_phases)
		change_phase(account, change);
	account->reserved_bytes = change->reserved_bytes;
	if (change->reserved_bytes > account->open.reserved_bytes)
		account->open.reserved_bytes = change->reserved_bytes;
	if (change->is_end) {
		site->live_bytes -= change->size_bytes;
		site->freed += change->size_bytes;
		site->frees++;
		account->live_bytes -= change->size_bytes;
		if (account->live_bytes < account->open.min_bytes)
			account->open.min_bytes = account->live_bytes;
		return true;
	}
	site->live_bytes += change->size_bytes;
	site->allocated += change->size_bytes;
	site->allocs++;
	account->live_bytes += change->size_bytes;
	if (account->live_bytes > account->open.max_bytes) {
		account->open.max_bytes = account->live_bytes;
		account->max_stamp = change->stamp;
		account->max_number++;
	}
	if (account->live_bytes > account->fine_max)
		account->fine_max = account->live_bytes;
	return true;
}

bool gmt_page_account_finish(struct gmt_page_account *account, struct gmt_page_context *context,
	uint64_t reserved_bytes)
{
	size_t last = context->clock.intervals.count - 1;

	account->reserved_bytes = reserved_bytes;
	if (account->interval < last) {
		if (!close_bucket(account, context))
			return false;
		open_bucket(account, context, account->interval + 1);
	}
	if (!close_bucket(account, context) ||
		!push_fine(account, account->fine_begin, account->fine_max))
		return false;
	for (size_t i = 0; i < account->buckets.count; i++)
		if (account->buckets.items[i].max_bytes > account->peak_bytes) {
			account->peak_bytes = account->buckets.items[i].max_bytes;
			account->peak_ns = account->buckets.items[i].max_ns;
		}
	return account->fine_end > context->clock.end_stamp ||
		push_fine(account, account->fine_end, account->live_bytes);
}

void gmt_page_account_fini(struct gmt_page_account *account)
{
	gmt_vec_fini(&account->buckets);
	gmt_vec_fini(&account->entries);
	gmt_vec_fini(&account->fine);
	gmt_vec_fini(&account->phases_at_max);
	gmt_vec_fini(&account->touched);
}
