/* SPDX-License-Identifier: MIT */
/*
 * Makes answers of samples and of `oom` rows: the driver's numbers, with what the accounting held
 * at that moment. The reader's ledger explains the peaks by them.
 */
#include <stddef.h>
#include <string.h>

#include "base/budget.h"
#include "compaction/compact_internal.h"

/*
 * Returns the bytes that have no cache behind them, by the numbers of each space. Same sum as in
 * gmt_ledger_sums.
 */
static uint64_t steady_bytes_of(const uint64_t space_bytes[GMT_SPACE_COUNT])
{
	uint64_t sum = 0;

	for (unsigned space = 1; space < GMT_SPACE_COUNT; space++) {
		unsigned layer = gmt_space_layer(space);

		if ((layer == GMT_LAYER_CUDA || layer == GMT_LAYER_DRIVER) && space != GMT_SPACE_MANAGED &&
			space != GMT_SPACE_POOL && space != GMT_SPACE_GRAPH)
			sum += space_bytes[space];
	}
	return sum;
}

static bool queue_answer(struct gmt_compactor *compactor, const struct gmt_past_answer *row)
{
	struct gmt_priority_queue_entry entry = { .order = compactor->mark_arrivals++ };

	entry.item = GMT_COMPACT_TAKE_SLOT(&compactor->pending_answers, &compactor->unused_answers);
	if (entry.item == UINT32_MAX)
		return false;
	compactor->pending_answers.items[entry.item] = (struct gmt_compact_answer){ .row = *row };
	entry.stamp = row->begin_stamp;
	if (!gmt_priority_queue_push(&compactor->begin_queue, entry))
		return false;
	entry.stamp = row->stamp;
	return gmt_priority_queue_push(&compactor->end_queue, entry);
}

bool gmt_compact_take_sample(struct gmt_compactor *compactor, const struct gmt_sample *row)
{
	struct gmt_past_answer answer = {
		.stamp = row->stamp,
		.begin_stamp = row->begin_stamp,
		.device = row->device,
		.known = row->known,
		.free_bytes = row->free_bytes,
		.total_bytes = row->total_bytes,
		.process_bytes = row->process_bytes,
		.others_bytes = row->others_bytes,
		.pool_reserved_bytes = row->pool_reserved_bytes,
		.graph_reserved_bytes = row->graph_reserved_bytes,
	};
	struct gmt_sample *slot;

	/*
	 * Samples after the cut stay samples. Keep later samples, because the cut may still move to an
	 * earlier moment.
	 */
	if (row->stamp <= compactor->options.cut_stamp && !queue_answer(compactor, &answer))
		return false;
	if (row->stamp <= compactor->options.cut_stamp && !compactor->options.max_tail_events &&
		(!compactor->options.published_until_stamp ||
			row->stamp <= compactor->options.published_until_stamp))
		return true;
	/* The kept tail contains few samples, so the newest samples are enough. */
	if (compactor->options.cut_stamp == UINT64_MAX &&
		compactor->samples_after_cut.count >= 2 * GMT_COMPACT_MAX_ANSWERS) {
		memmove(compactor->samples_after_cut.items,
			compactor->samples_after_cut.items + GMT_COMPACT_MAX_ANSWERS,
			GMT_COMPACT_MAX_ANSWERS * sizeof(*row));
		compactor->samples_after_cut.count = GMT_COMPACT_MAX_ANSWERS;
	}
	slot = gmt_vec_push(&compactor->samples_after_cut);
	if (slot)
		*slot = *row;
	return slot;
}

bool gmt_compact_take_oom(struct gmt_compactor *compactor, const struct gmt_oom *row)
{
	struct gmt_past_answer answer = {
		.stamp = row->stamp,
		.begin_stamp = row->stamp,
		.device = (uint16_t)row->device,
		.known = GMT_SAMPLE_DRIVER,
		.free_bytes = row->free_bytes,
		.total_bytes = row->total_bytes,
	};
	struct gmt_oom *slot;

	if (compactor->ooms.count >= 2 * GMT_COMPACT_MAX_REFUSALS) {
		memmove(compactor->ooms.items, compactor->ooms.items + GMT_COMPACT_MAX_REFUSALS,
			(compactor->ooms.count - GMT_COMPACT_MAX_REFUSALS) * sizeof(*row));
		compactor->ooms.count -= GMT_COMPACT_MAX_REFUSALS;
	}
	slot = gmt_vec_push(&compactor->ooms);
	if (!slot)
		return false;
	*slot = *row;
	return row->stamp > compactor->options.cut_stamp || !row->total_bytes || row->device < 0 ||
		queue_answer(compactor, &answer);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/*
 * Returns how well an answer matches a moment, as in analysis/ledger. 0: the same bytes. 1: other
 * blocks within the reserved memory. 3: no information about that moment.
 */
static int cache_mismatch(uint64_t then_bytes, uint64_t now_bytes, bool known,
	uint64_t reserved_bytes)
{
	return then_bytes == now_bytes ? 0 : known && reserved_bytes >= now_bytes ? 1 : 3;
}

/* Marks the answer that the ledger would use for the device's peak, for one part. */
static void mark_best_answer(const struct gmt_compactor *compactor,
	const struct gmt_compact_device *device, uint64_t peak_stamp, unsigned part,
	uint8_t *explains_peak)
{
	uint64_t steady_bytes = steady_bytes_of(device->peak_space_bytes);
	size_t best = SIZE_MAX;
	int best_mismatch = 3;

	for (size_t i = 0; i < compactor->answers.count; i++) {
		const struct gmt_past_answer *row = &compactor->answers.items[i];
		int mismatch = row->before_steady_bytes != row->after_steady_bytes
			? 2
			: row->after_steady_bytes != steady_bytes;
		int cache = cache_mismatch(row->after_pool_bytes, device->peak_space_bytes[GMT_SPACE_POOL],
			row->known & GMT_SAMPLE_POOLS, row->pool_reserved_bytes);

		mismatch = cache > mismatch ? cache : mismatch;
		cache = cache_mismatch(row->after_graph_bytes, device->peak_space_bytes[GMT_SPACE_GRAPH],
			row->known & GMT_SAMPLE_GRAPHS, row->graph_reserved_bytes);
		mismatch = cache > mismatch ? cache : mismatch;

		if ((int16_t)row->device != device->device || !(row->known & part) ||
			mismatch > best_mismatch || mismatch == 3)
			continue;
		if (mismatch < best_mismatch ||
			distance(row->stamp, peak_stamp) <
				distance(compactor->answers.items[best].stamp, peak_stamp)) {
			best = i;
			best_mismatch = mismatch;
		}
	}
	if (best != SIZE_MAX)
		explains_peak[best] = 1;
}

/* Drops every second answer, except the newest ones and those that explain the peaks. */
static void thin_answers(struct gmt_compactor *compactor)
{
	uint8_t explains_peak[GMT_COMPACT_MAX_ANSWERS] = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < compactor->devices.count && i < GMT_COMPACT_MAX_BEST_ANSWER_DEVICES;
		i++) {
		const struct gmt_compact_device *device = &compactor->devices.items[i];
		const struct gmt_account *account =
			gmt_accounting_find_account(&compactor->accounting, GMT_LAYER_CUDA, device->device);

		for (unsigned part = 1; part <= GMT_SAMPLE_GRAPHS && account; part <<= 1)
			mark_best_answer(compactor, device, account->peak_stamp, part, explains_peak);
	}
	for (size_t i = 0; i < compactor->answers.count; i++)
		if (explains_peak[i] || i % 2 || i + GMT_COMPACT_MAX_ANSWERS / 8 > compactor->answers.count)
			compactor->answers.items[kept++] = compactor->answers.items[i];
	compactor->answers.count = kept;
}

bool gmt_compact_keep_answer(struct gmt_compactor *compactor, const struct gmt_past_answer *row)
{
	struct gmt_past_answer *slot;

	if (compactor->answers.count >= GMT_COMPACT_MAX_ANSWERS)
		thin_answers(compactor);
	slot = gmt_vec_push(&compactor->answers);
	if (slot)
		*slot = *row;
	return slot;
}

/* Removes the next entry whose stamp is less than `stamp`. */
static bool pop_before(struct gmt_priority_queue *queue, uint64_t stamp,
	struct gmt_priority_queue_entry *ret_entry)
{
	return queue->entries.count && queue->entries.items[0].stamp < stamp &&
		gmt_priority_queue_pop(queue, ret_entry);
}

static void free_complete_answer(struct gmt_compactor *compactor, uint32_t index)
{
	const struct gmt_compact_answer *answer = &compactor->pending_answers.items[index];

	if (answer->has_begun && answer->has_ended)
		GMT_COMPACT_FREE_SLOT(&compactor->unused_answers, index);
}

/* Processes questions and answers before this moment, as ledger_watch does. */
bool gmt_compact_process_answers_before(struct gmt_compactor *compactor, uint64_t stamp)
{
	struct gmt_priority_queue_entry entry;

	while (pop_before(&compactor->begin_queue, stamp, &entry)) {
		struct gmt_compact_answer *answer = &compactor->pending_answers.items[entry.item];
		const struct gmt_compact_device *device =
			gmt_compact_intern_device(compactor, (int16_t)answer->row.device);

		if (!device)
			return false;
		answer->row.before_steady_bytes = steady_bytes_of(device->space_bytes);
		answer->has_begun = true;
		free_complete_answer(compactor, entry.item);
	}
	while (pop_before(&compactor->end_queue, stamp, &entry)) {
		entry.stamp = 0;
		if (!gmt_priority_queue_push(&compactor->kept_queue, entry))
			return false;
	}
	while (gmt_priority_queue_pop(&compactor->kept_queue, &entry)) {
		struct gmt_compact_answer *answer = &compactor->pending_answers.items[entry.item];
		const struct gmt_compact_device *device =
			gmt_compact_intern_device(compactor, (int16_t)answer->row.device);

		if (!device)
			return false;
		answer->row.after_steady_bytes = steady_bytes_of(device->space_bytes);
		answer->row.after_pool_bytes = device->space_bytes[GMT_SPACE_POOL];
		answer->row.after_graph_bytes = device->space_bytes[GMT_SPACE_GRAPH];
		if (!gmt_compact_keep_answer(compactor, &answer->row))
			return false;
		answer->has_ended = true;
		free_complete_answer(compactor, entry.item);
	}
	return true;
}
