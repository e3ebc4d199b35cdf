/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "comparison.h"

/*
 * Checks the compacted prefix of a recording whose program was killed: its live blocks, its totals,
 * and its sites.
 */

/* Returns the live block that the event allocated, or NULL. */
static struct live_block *find(struct comparison *comparison, struct live_block *live, size_t count,
	const struct gmt_recording_event *event)
{
	const struct gmt_thread *thread = gmt_recording_thread(comparison->recording, event->thread);

	for (size_t i = 0; i < count; i++) {
		const struct logged_thread *logged = &comparison->call_log->threads[live[i].thread];

		if (logged->tid != thread->tid || live[i].size_bytes != event->size_bytes)
			continue;
		/*
		 * The kill came between this call and its entry in the log. The other threads went on until
		 * a compaction included this call.
		 */
		if (!live[i].address)
			live[i].address = comparison->parts[live[i].thread].pending_address = event->address;
		if (live[i].address == event->address)
			return &live[i];
	}
	return NULL;
}

/* Compares the blocks that were live at the compaction with `live`. Returns 1 if they differ. */
static int check_survivors(struct comparison *comparison, struct live_block *live, size_t count)
{
	const struct gmt_recording *recording = comparison->recording;

	for (size_t i = 0; i < recording->compacted_events; i++) {
		struct gmt_recording_event event = gmt_recording_event(recording, i);
		struct live_block *found;

		if (event.layer != GMT_LAYER_CUDA)
			continue;
		found = find(comparison, live, count, &event);
		if (!found || event.kind != GMT_KIND_ALLOC)
			return report_difference("a block of the compacted part is not live in the log",
				event.address, event.size_bytes);
		*found = live[--count];
	}
	return count ? report_difference("a block that is live in the log is not in the compacted part",
					   live->address, count)
				 : 0;
}

static int check_account(const struct gmt_past_account *account, const struct log_sums *sums)
{
	if (account->alloc_count != sums->allocs || account->free_count != sums->frees)
		return report_difference("the compacted part counts other calls", account->alloc_count,
			account->free_count);
	if (account->live_bytes != sums->live_bytes || account->live_blocks != sums->live_blocks)
		return report_difference("other bytes or blocks are live in the compacted part",
			account->live_bytes, account->live_blocks);
	return account->total_bytes == sums->total_bytes
		? 0
		: report_difference("the compacted part has other sizes", account->total_bytes,
			  sums->total_bytes);
}

static int check_sites(const struct gmt_compacted_prefix *compacted,
	const struct log_sums *expected)
{
	struct log_sums found = { 0 };

	for (size_t i = 0; i < compacted->sites.count; i++)
		if (compacted->sites.items[i].layer == GMT_LAYER_CUDA) {
			found.allocs += compacted->sites.items[i].alloc_count;
			found.frees += compacted->sites.items[i].free_count;
			found.total_bytes += compacted->sites.items[i].total_bytes;
		}
	if (found.allocs != expected->allocs || found.frees != expected->frees)
		return report_difference("the compacted sites count other calls", found.allocs,
			found.frees);
	return found.total_bytes == expected->total_bytes
		? 0
		: report_difference("the compacted sites have other sizes", found.total_bytes,
			  expected->total_bytes);
}

int compare_compacted(struct comparison *comparison)
{
	static struct live_block live[LOGGED_THREADS * MAX_LIVE_PER_THREAD + 1];
	const struct gmt_compacted_prefix *compacted = &comparison->recording->compacted;
	struct log_sums sums = { 0 };
	size_t count = 0;

	if (!compacted->exists)
		return 0;
	for (size_t i = 0; i < LOGGED_THREADS; i++)
		count +=
			live_blocks_after(comparison, i, comparison->parts[i].compacted, live + count, &sums);
	if (check_survivors(comparison, live, count) || check_sites(compacted, &sums))
		return 1;
	for (size_t i = 0; i < compacted->accounts.count; i++)
		if (compacted->accounts.items[i].layer == GMT_LAYER_CUDA)
			return check_account(&compacted->accounts.items[i], &sums);
	/* No account: at the compaction, all events were too new to be compacted. */
	return sums.allocs ? report_difference("the compacted part has no call of the program",
							 compacted->events, sums.allocs)
					   : 0;
}
