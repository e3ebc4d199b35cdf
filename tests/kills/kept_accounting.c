/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "containers/map.h"
#include "kept_parts.h"
#include "reader/replay/replay.h"

/*
 * Removes from `held` the blocks whose address another thread got later. The holder had freed such
 * a block, but was killed before it noted the free. If two threads hold one address, the call that
 * returned later got it later. Returns how many blocks it removed.
 */
static size_t drop_given_on(const struct kept_case *kept_case, struct kept_held *held,
	size_t *count, struct kept_sums *sums)
{
	struct gmt_map places = { 0 };
	size_t before = *count;
	uint64_t at;

	for (size_t i = 0; i < *count; i++) {
		uint64_t other;

		if (gmt_map_find(&places, held[i].address, &other) && held[other].end_ns > held[i].end_ns)
			continue;
		gmt_map_put(&places, held[i].address, i);
	}
	for (size_t thread = 0; thread < KEPT_THREADS; thread++)
		for (uint64_t i = 0; i < kept_case->parts[thread].total; i++) {
			const struct kept_call *call = &kept_case->kept->threads[thread].calls[i];

			uint64_t address = kept_address(kept_case, thread, i);

			if (call->size_bytes && gmt_map_find(&places, address, &at) &&
				held[at].thread != thread &&
				(i == kept_case->kept->threads[thread].done || held[at].end_ns < call->end_ns))
				gmt_map_remove(&places, address, NULL);
		}
	for (size_t i = *count; i-- > 0;)
		if (!gmt_map_find(&places, held[i].address, &at) || at != i) {
			sums->live_bytes -= held[i].size_bytes;
			held[i].address = 0;
		}
	for (size_t i = *count; i-- > 0;)
		if (!held[i].address)
			held[i] = held[--*count];
	sums->live_blocks = *count;
	gmt_map_fini(&places);
	return before - *count;
}

static int check_blocks(const struct gmt_accounting *accounting, const struct kept_held *held,
	size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct gmt_account_block *block =
			gmt_accounting_find(accounting, GMT_LAYER_CUDA, GMT_SPACE_DEVICE, held[i].address);

		if (!block || block->size_bytes != held[i].size_bytes)
			return kept_wrong("a block that lived is not there", held[i].address,
				held[i].size_bytes);
	}
	return 0;
}

static int check_account(const struct kept_case *kept_case, const struct gmt_account *account,
	const struct kept_sums *sums, uint64_t given_on)
{
	uint64_t min_bytes, max_bytes;

	if (account->live_blocks != sums->live_blocks || account->live_bytes != sums->live_bytes)
		return kept_wrong("another live set than was", account->live_blocks, sums->live_blocks);
	if (account->alloc_count != sums->allocs || account->total_bytes != sums->total_bytes ||
		account->free_count < sums->frees || account->free_count > sums->frees + given_on)
		return kept_wrong("other counts than were", account->alloc_count, account->free_count);
	if (!kept_peak(kept_case, &min_bytes, &max_bytes))
		return kept_wrong("out of memory", 0, 0);
	if (account->peak_bytes < min_bytes || account->peak_bytes > max_bytes) {
		kept_wrong("another peak than was", account->peak_bytes, min_bytes);
		return kept_wrong("which is not between", min_bytes, max_bytes);
	}
	return 0;
}

static int check_replay(const struct kept_case *kept_case, const struct gmt_replay *replay)
{
	static struct kept_held held[KEPT_THREADS * KEPT_HELD + 1];
	const struct gmt_accounting *accounting = &replay->accounting;
	struct kept_sums sums = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < KEPT_THREADS; i++)
		count += kept_hold(kept_case, i, kept_case->parts[i].total, held + count, &sums);

	size_t given_on = drop_given_on(kept_case, held, &count, &sums);
	if (replay->compacted_mismatches || accounting->anomalies.unknown_frees)
		return kept_wrong("compacted prefix and events disagree", replay->compacted_mismatches,
			accounting->anomalies.unknown_frees);
	if (accounting->anomalies.missed_frees != given_on)
		return kept_wrong("the number of missed frees is wrong", accounting->anomalies.missed_frees,
			given_on);
	if (check_blocks(accounting, held, count))
		return 1;
	for (size_t i = 0; i < accounting->accounts.count; i++)
		if (accounting->accounts.items[i].layer == GMT_LAYER_CUDA)
			return check_account(kept_case, &accounting->accounts.items[i], &sums, given_on);
	return sums.allocs ? kept_wrong("no account has the allocations", sums.allocs, sums.frees) : 0;
}

int kept_check_accounting(const struct kept_case *kept_case)
{
	struct gmt_replay replay = { 0 };
	struct gmt_replay_options options = { .until_ns = GMT_REPLAY_TO_END };
	struct gmt_traces traces = { 0 };
	struct gmt_error error;

	if (gmt_traces_compute(&traces, kept_case->recording, &(struct gmt_traces_options){ 0 },
			&error) ||
		gmt_replay_run(&replay, kept_case->recording, &traces, &options, &error)) {
		puts(error.text);
		return 1;
	}

	int answer = check_replay(kept_case, &replay);
	gmt_replay_fini(&replay);
	gmt_traces_fini(&traces);
	return answer;
}
