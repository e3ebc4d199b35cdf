/* SPDX-License-Identifier: MIT */
#include "analysis/page/page_finish.h"

#include <stdlib.h>

#include "reader/load/clock.h"

static int by_ordinal(const void *left, const void *right)
{
	const struct gmt_page_device *a = left, *b = right;

	return (a->device > b->device) - (a->device < b->device);
}

static int by_site(const void *left, const void *right)
{
	const struct gmt_page_entry *a = left, *b = right;

	return (a->site > b->site) - (a->site < b->site);
}

/* Sorts the entries of a bucket, and merges those of one site. Returns how many remain. */
static size_t merge_sites(struct gmt_page_entry *entries, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(entries, count, sizeof(*entries), by_site);
	for (size_t i = 0; i < count; i++) {
		struct gmt_page_entry *last = &entries[kept - 1];

		if (!kept || last->site != entries[i].site) {
			entries[kept++] = entries[i];
			continue;
		}
		last->at_max += entries[i].at_max;
		last->allocated += entries[i].allocated;
		last->freed += entries[i].freed;
		last->allocs += entries[i].allocs;
		last->frees += entries[i].frees;
	}
	return kept;
}

/* Replaces the accounting's numbers of sites by those of the page. */
static void number_sites(struct gmt_page_account *account, const struct gmt_page_sites *sites)
{
	size_t from = 0, to = 0;

	for (size_t i = 0; i < account->buckets.count; i++) {
		struct gmt_page_bucket *bucket = &account->buckets.items[i];
		size_t first = to;

		for (size_t k = 0; k < bucket->entries; k++, from++) {
			struct gmt_page_entry entry = account->entries.items[from];

			entry.site = sites->numbers.items[entry.site];
			account->entries.items[to++] = entry;
		}
		bucket->entries = merge_sites(gmt_vec_at(&account->entries, first), to - first);
		to = first + bucket->entries;
	}
	account->entries.count = to;
}

/* Adds the refusals of a device: the first half and the last half of GMT_PAGE_REFUSALS. */
static bool add_refusals(struct gmt_page *page, struct gmt_page_device *device,
	const struct gmt_replay *replay)
{
	const struct gmt_accounting *accounting = &replay->accounting;
	size_t count = 0, number = 0;

	for (size_t i = 0; i < 2 * replay->refusals.count; i++) {
		const struct gmt_replay_refusal *refusal =
			&replay->refusals.items[i % replay->refusals.count];
		const struct gmt_account *account =
			&accounting->accounts.items[accounting->sites.items[refusal->site].account];
		bool is_counted = i < replay->refusals.count;
		struct gmt_page_refusal *row;

		if (account->device != device->device)
			continue;
		count += is_counted;
		if (is_counted ||
			(number++ >= GMT_PAGE_REFUSALS / 2 && number + GMT_PAGE_REFUSALS / 2 <= count))
			continue;

		struct gmt_recording_event event =
			gmt_recording_event(page->context.recording, refusal->event);
		row = gmt_vec_push(&device->refusals);
		if (!row)
			return false;
		*row = (struct gmt_page_refusal){
			.time_ns = gmt_clock_time_ns(page->context.recording, event.stamp),
			.size_bytes = event.size_bytes,
			.site = page->sites.numbers.items[refusal->site],
			.layer = account->layer,
		};
	}
	return true;
}

/* Adds the device's answers: all, or of each interval the one with the most memory in use. */
static bool add_samples(const struct gmt_page *page, struct gmt_page_device *device,
	const struct gmt_ledger_watch *watch)
{
	const struct gmt_page_clock *clock = &page->context.clock;
	uint64_t length_ns = clock->end_ns / GMT_PAGE_SAMPLES + 1, last_part = UINT64_MAX;

	for (size_t i = 0; i < watch->answers.count; i++) {
		const struct gmt_sample *sample = &watch->answers.items[i].sample;
		struct gmt_page_sample row = {
			.time_ns = gmt_clock_time_ns(page->context.recording, sample->stamp),
			.total_bytes = sample->total_bytes,
		};
		struct gmt_page_sample *slot;

		if (device->device != (int16_t)sample->device || !(sample->known & GMT_SAMPLE_DRIVER) ||
			row.time_ns > clock->end_ns)
			continue;
		if (sample->total_bytes > sample->free_bytes)
			row.used_bytes = sample->total_bytes - sample->free_bytes;
		if (row.time_ns / length_ns == last_part) {
			slot = &device->samples.items[device->samples.count - 1];
			if (row.used_bytes > slot->used_bytes)
				*slot = row;
			continue;
		}
		last_part = row.time_ns / length_ns;
		slot = gmt_vec_push(&device->samples);
		if (!slot)
			return false;
		*slot = row;
	}
	return true;
}

bool gmt_page_finish_devices(struct gmt_page *page, const struct gmt_page_results *results)
{
	if (page->devices.count)
		qsort(page->devices.items, page->devices.count, sizeof(*page->devices.items), by_ordinal);
	for (size_t i = 0; i < page->accounts.count; i++)
		if (page->accounts.items[i].is_used)
			number_sites(&page->accounts.items[i], &page->sites);
	for (size_t i = 0; i < page->devices.count; i++) {
		struct gmt_page_device *device = &page->devices.items[i];

		gmt_page_blocks_sort(&device->blocks);
		if (!add_refusals(page, device, results->sites.replay) ||
			!add_samples(page, device, results->ledger_watch))
			return false;
	}
	return true;
}
