/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "containers/map.h"
#include "comparison.h"
#include "reader/replay/replay.h"

/*
 * Removes the blocks whose address another thread got later. Their thread had freed such a block,
 * but was killed before it logged the free. If an address is live in two threads, the call that
 * returned later got it later. Returns the number of removed blocks.
 */
static size_t remove_reused(const struct comparison *comparison, struct live_block *live,
	size_t *count, struct log_sums *sums)
{
	struct gmt_map owners = { 0 }; /* address: index in `live` */
	size_t count_before = *count;
	uint64_t index;

	for (size_t i = 0; i < *count; i++) {
		uint64_t other;

		if (gmt_map_find(&owners, live[i].address, &other) && live[other].end_ns > live[i].end_ns)
			continue;
		gmt_map_put(&owners, live[i].address, i);
	}
	for (size_t thread = 0; thread < LOGGED_THREADS; thread++)
		for (uint64_t i = 0; i < comparison->parts[thread].total; i++) {
			const struct logged_call *call = &comparison->call_log->threads[thread].calls[i];

			uint64_t address = address_of_call(comparison, thread, i);

			if (call->size_bytes && gmt_map_find(&owners, address, &index) &&
				live[index].thread != thread &&
				(i == comparison->call_log->threads[thread].done ||
					live[index].end_ns < call->end_ns))
				gmt_map_remove(&owners, address, NULL);
		}
	for (size_t i = *count; i-- > 0;)
		if (!gmt_map_find(&owners, live[i].address, &index) || index != i) {
			sums->live_bytes -= live[i].size_bytes;
			live[i].address = 0;
		}
	for (size_t i = *count; i-- > 0;)
		if (!live[i].address)
			live[i] = live[--*count];
	sums->live_blocks = *count;
	gmt_map_fini(&owners);
	return count_before - *count;
}

static int check_blocks(const struct gmt_accounting *accounting, const struct live_block *live,
	size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct gmt_account_block *block =
			gmt_accounting_find(accounting, GMT_LAYER_CUDA, GMT_SPACE_DEVICE, live[i].address);

		if (!block || block->size_bytes != live[i].size_bytes)
			return report_difference("a block that is live in the log is not live in the recording",
				live[i].address, live[i].size_bytes);
	}
	return 0;
}

static int check_account(const struct comparison *comparison, const struct gmt_account *account,
	const struct log_sums *sums, uint64_t reused)
{
	uint64_t min_bytes, max_bytes;

	if (account->live_blocks != sums->live_blocks || account->live_bytes != sums->live_bytes)
		return report_difference("other bytes or blocks are live", account->live_blocks,
			sums->live_blocks);
	if (account->alloc_count != sums->allocs || account->total_bytes != sums->total_bytes ||
		account->free_count < sums->frees || account->free_count > sums->frees + reused)
		return report_difference("the account counts other calls", account->alloc_count,
			account->free_count);
	if (!compute_peak_bounds(comparison, &min_bytes, &max_bytes))
		return report_difference("out of memory", 0, 0);
	if (account->peak_bytes < min_bytes || account->peak_bytes > max_bytes) {
		report_difference("the peak is wrong (recorded, lowest possible)", account->peak_bytes,
			min_bytes);
		return report_difference("the peak must lie between", min_bytes, max_bytes);
	}
	return 0;
}

static int check_replay(const struct comparison *comparison, const struct gmt_replay *replay)
{
	static struct live_block live[LOGGED_THREADS * MAX_LIVE_PER_THREAD + 1];
	const struct gmt_accounting *accounting = &replay->accounting;
	struct log_sums sums = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < LOGGED_THREADS; i++)
		count += live_blocks_after(comparison, i, comparison->parts[i].total, live + count, &sums);

	size_t reused = remove_reused(comparison, live, &count, &sums);
	if (replay->compacted_mismatches || accounting->anomalies.unknown_frees)
		return report_difference("compacted prefix and events disagree",
			replay->compacted_mismatches, accounting->anomalies.unknown_frees);
	if (accounting->anomalies.missed_frees != reused)
		return report_difference("the number of missed frees is wrong",
			accounting->anomalies.missed_frees, reused);
	if (check_blocks(accounting, live, count))
		return 1;
	for (size_t i = 0; i < accounting->accounts.count; i++)
		if (accounting->accounts.items[i].layer == GMT_LAYER_CUDA)
			return check_account(comparison, &accounting->accounts.items[i], &sums, reused);
	return sums.allocs
		? report_difference("no account has the allocations", sums.allocs, sums.frees)
		: 0;
}

int compare_accounts(const struct comparison *comparison)
{
	struct gmt_replay replay = { 0 };
	struct gmt_replay_options options = { .until_ns = GMT_REPLAY_TO_END };
	struct gmt_traces traces = { 0 };
	struct gmt_error error;

	if (gmt_traces_compute(&traces, comparison->recording, &(struct gmt_traces_options){ 0 },
			&error) ||
		gmt_replay_run(&replay, comparison->recording, &traces, &options, &error)) {
		puts(error.text);
		return 1;
	}

	int answer = check_replay(comparison, &replay);
	gmt_replay_fini(&replay);
	gmt_traces_fini(&traces);
	return answer;
}
