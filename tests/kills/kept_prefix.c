/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "kept_parts.h"

/*
 * Checks the compacted prefix of a recording whose program was killed: its live blocks, its totals,
 * and its sites.
 */

/* Returns the held block that the event allocated, or NULL. */
static struct kept_held *find(struct kept_case *kept_case, struct kept_held *held, size_t count,
	const struct gmt_recording_event *event)
{
	const struct gmt_thread *thread = gmt_recording_thread(kept_case->recording, event->thread);

	for (size_t i = 0; i < count; i++) {
		const struct kept_thread *its = &kept_case->kept->threads[held[i].thread];

		if (its->tid != thread->tid || held[i].size_bytes != event->size_bytes)
			continue;
		/*
		 * The kill came between this call and its note. The other threads went on until a fold
		 * included this call.
		 */
		if (!held[i].address)
			held[i].address = kept_case->parts[held[i].thread].pending_address = event->address;
		if (held[i].address == event->address)
			return &held[i];
	}
	return NULL;
}

/* Compares the blocks that were live at the compaction with `held`. Returns 1 if they differ. */
static int check_survivors(struct kept_case *kept_case, struct kept_held *held, size_t count)
{
	const struct gmt_recording *recording = kept_case->recording;

	for (size_t i = 0; i < recording->compacted_events; i++) {
		struct gmt_recording_event event = gmt_recording_event(recording, i);
		struct kept_held *found;

		if (event.layer != GMT_LAYER_CUDA)
			continue;
		found = find(kept_case, held, count, &event);
		if (!found || event.kind != GMT_KIND_ALLOC)
			return kept_wrong("what was compacted left another block", event.address,
				event.size_bytes);
		*found = held[--count];
	}
	return count ? kept_wrong("what was compacted left fewer blocks", held->address, count) : 0;
}

static int check_account(const struct gmt_past_account *account, const struct kept_sums *sums)
{
	if (account->alloc_count != sums->allocs || account->free_count != sums->frees)
		return kept_wrong("other counts were compacted", account->alloc_count, account->free_count);
	if (account->live_bytes != sums->live_bytes || account->live_blocks != sums->live_blocks)
		return kept_wrong("something else lived at the compaction", account->live_bytes,
			account->live_blocks);
	return account->total_bytes == sums->total_bytes
		? 0
		: kept_wrong("other sizes were compacted", account->total_bytes, sums->total_bytes);
}

static int check_sites(const struct gmt_compacted_prefix *compacted,
	const struct kept_sums *expected)
{
	struct kept_sums found = { 0 };

	for (size_t i = 0; i < compacted->sites.count; i++)
		if (compacted->sites.items[i].layer == GMT_LAYER_CUDA) {
			found.allocs += compacted->sites.items[i].alloc_count;
			found.frees += compacted->sites.items[i].free_count;
			found.total_bytes += compacted->sites.items[i].total_bytes;
		}
	if (found.allocs != expected->allocs || found.frees != expected->frees)
		return kept_wrong("sites with other counts were compacted", found.allocs, found.frees);
	return found.total_bytes == expected->total_bytes
		? 0
		: kept_wrong("sites with other sizes were compacted", found.total_bytes,
			  expected->total_bytes);
}

int kept_check_compacted(struct kept_case *kept_case)
{
	static struct kept_held held[KEPT_THREADS * KEPT_HELD + 1];
	const struct gmt_compacted_prefix *compacted = &kept_case->recording->compacted;
	struct kept_sums sums = { 0 };
	size_t count = 0;

	if (!compacted->has_compacted_prefix)
		return 0;
	for (size_t i = 0; i < KEPT_THREADS; i++)
		count += kept_hold(kept_case, i, kept_case->parts[i].folded, held + count, &sums);
	if (check_survivors(kept_case, held, count) || check_sites(compacted, &sums))
		return 1;
	for (size_t i = 0; i < compacted->accounts.count; i++)
		if (compacted->accounts.items[i].layer == GMT_LAYER_CUDA)
			return check_account(&compacted->accounts.items[i], &sums);
	/* No account: the fold found only events that were too new. */
	return sums.allocs
		? kept_wrong("nothing of the program was compacted", compacted->fold.events, sums.allocs)
		: 0;
}
