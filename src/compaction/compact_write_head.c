/* SPDX-License-Identifier: MIT */
/*
 * Writes the head of a compacted recording: the survivors (the events that recreate what was live
 * at the cut), marks, refusals, notes and clocks from before the cut, the past_* rows (totals), and
 * the `fold` row. Then writes marks, samples and refusals after the cut that were already read.
 */
#include <stddef.h>
#include <string.h>

#include "compaction/compact_internal.h"
#include "format/encoding/torch_totals.h"

/*
 * REFUSAL_BIT: set in an item of the head's queue that is an index in `refusals`. All other items
 * are indices in `survivors`.
 */
enum { REFUSAL_BIT = INT32_MIN, MAX_REFERENCES = 65536, MAX_BACKWARD_CALLS = 8 };

static bool write(struct gmt_compactor *compactor, uint32_t kind, const void *rows, uint32_t count)
{
	return !count || compactor->options.write(compactor->options.user, kind, rows, count);
}

bool gmt_compact_write_events(struct gmt_compactor *compactor, struct gmt_event *rows,
	uint32_t count)
{
	gmt_torch_totals_to_differences(rows, count);
	return write(compactor, GMT_RECORD_EVENT, rows, count);
}

/* --- survivors ------------------------------------------------------------------------------- */

static bool queue_refusals(struct gmt_compactor *compactor)
{
	for (uint32_t i = 0; i < compactor->refusals.count; i++)
		if (!gmt_priority_queue_push(&compactor->head,
				(struct gmt_priority_queue_entry){
					.stamp = compactor->refusals.items[i].stamp,
					.order = (uint64_t)GMT_COMPACT_RANK_REFUSAL << 32,
					.item = i | (uint32_t)REFUSAL_BIT,
				}))
			return false;
	return true;
}

bool gmt_compact_begin_head(struct gmt_compactor *compactor)
{
	uint64_t cut = compactor->options.cut_stamp;

	compactor->head_part = 0;
	compactor->head_layer = 0;
	compactor->head_cursor = 0;
	return gmt_compact_process_marks_before(compactor, cut == UINT64_MAX ? cut : cut + 1) &&
		gmt_compact_close_steps(compactor) && gmt_compact_queue_memory(compactor) &&
		gmt_compact_queue_graphs(compactor) && queue_refusals(compactor) &&
		gmt_compact_close_oom_outcomes(compactor);
}

/*
 * Queues the events of live blocks, at most `max_rows` blocks per call. A block with several
 * references needs one event for each. A block without a tag has no survivor.
 */
static bool queue_blocks(struct gmt_compactor *compactor, uint32_t max_rows, bool *ret_done)
{
	static const uint8_t layers[] = { GMT_ACCOUNTING_ALL_OF_CUDA, GMT_LAYER_TORCH,
		GMT_LAYER_CUSTOM };
	struct gmt_addressed_block addressed;

	*ret_done = false;
	while (max_rows) {
		struct gmt_compact_survivor *survivor;

		if (!gmt_accounting_next_block(&compactor->accounting, layers[compactor->head_layer],
				&compactor->head_cursor, &addressed)) {
			compactor->head_cursor = 0;
			if (++compactor->head_layer < sizeof(layers))
				continue;
			*ret_done = true;
			return true;
		}
		max_rows--;
		if (!addressed.block.tag)
			continue;
		survivor = &compactor->survivors.items[addressed.block.tag - 1];
		survivor->stamp = addressed.block.stamp;
		survivor->size_bytes = addressed.block.size_bytes;
		for (uint32_t i = 0; i < addressed.block.references && i < MAX_REFERENCES; i++)
			if (!gmt_priority_queue_push(&compactor->head,
					(struct gmt_priority_queue_entry){
						.stamp = survivor->stamp,
						.order = (uint64_t)GMT_COMPACT_RANK_BLOCK << 32 | i,
						.item = addressed.block.tag - 1,
					}))
				return false;
	}
	return true;
}

/*
 * Returns the `caller` of a survivor: the stack of the backward call that its thread worked for. 0
 * lets the reader find the call. UINT32_MAX says that there was no call. It is written for
 * autograd's threads only, where the reader would otherwise look for a call.
 */
static uint32_t caller_of(const struct gmt_compactor *compactor,
	const struct gmt_compact_trace *trace, uint32_t thread)
{
	if (trace->caller || (!trace->stack && !trace->frames) ||
		!gmt_backward_attribution_is_autograd_thread(&compactor->backward_attribution, thread))
		return trace->caller;
	return UINT32_MAX;
}

static struct gmt_event event_of(const struct gmt_compactor *compactor,
	const struct gmt_compact_survivor *survivor)
{
	const struct gmt_compact_trace *trace = &compactor->traces.items[survivor->trace];

	return (struct gmt_event){
		.stamp = survivor->stamp,
		.thread = survivor->thread,
		.kind = survivor->kind,
		.layer = survivor->layer,
		.space = survivor->space,
		.device = survivor->device,
		.api = survivor->api,
		.address = survivor->address,
		.size_bytes = survivor->size_bytes,
		.stack = trace->stack,
		.frames = trace->frames,
		.stream = survivor->stream,
		.allocated_bytes = survivor->allocated_bytes,
		.reserved_bytes = survivor->reserved_bytes,
		.object = survivor->object,
		.context = survivor->context,
		.caller = caller_of(compactor, trace, survivor->thread),
	};
}

static bool write_survivors(struct gmt_compactor *compactor, uint32_t max_rows, bool *ret_done)
{
	struct gmt_priority_queue_entry entry;

	if (!gmt_vec_reserve(&compactor->out, GMT_COMPACT_ROWS_PER_BLOCK))
		return false;
	while (max_rows && compactor->head.entries.count) {
		uint32_t count = 0;

		while (count < GMT_COMPACT_ROWS_PER_BLOCK &&
			gmt_priority_queue_pop(&compactor->head, &entry))
			compactor->out.items[count++] = entry.item & (uint32_t)REFUSAL_BIT
				? compactor->refusals.items[entry.item & INT32_MAX]
				: event_of(compactor, &compactor->survivors.items[entry.item]);
		compactor->head_events += count;
		if (!gmt_compact_write_events(compactor, compactor->out.items, count))
			return false;
		max_rows -= count < max_rows ? count : max_rows;
	}
	*ret_done = !compactor->head.entries.count;
	return true;
}

/* --- marks, clocks, notes -------------------------------------------------------------------- */

static bool write_step_marks(struct gmt_compactor *compactor,
	const struct gmt_compact_series *series)
{
	for (size_t i = 0; i < series->rows.count; i++) {
		const struct gmt_past_step *row = &series->rows.items[i];
		struct gmt_mark mark = {
			.stamp = row->stamp,
			.thread = row->thread,
			.kind = GMT_MARK_KIND_STEP,
			.source = row->source,
			.name = row->name,
			.object = row->object,
		};

		if ((!i || row[-1].stamp != row->stamp) && !write(compactor, GMT_RECORD_MARK, &mark, 1))
			return false;
	}
	return true;
}

static bool write_marks(struct gmt_compactor *compactor)
{
	uint64_t index;

	for (size_t i = 0; i < compactor->series.count; i++)
		if (!write_step_marks(compactor, &compactor->series.items[i]))
			return false;
	for (size_t i = 0; i < compactor->heap_names.count; i++)
		if (gmt_map_find(&compactor->heap_events, compactor->heap_names.items[i].object, &index) &&
			!write(compactor, GMT_RECORD_MARK, &compactor->heap_names.items[i], 1))
			return false;
	return gmt_compact_write_rows(compactor, GMT_RECORD_MARK, compactor->kept_marks.items,
			   compactor->kept_marks.count) &&
		gmt_compact_write_rows(compactor, GMT_RECORD_MARK, compactor->kept_roles.items,
			compactor->kept_roles.count);
}

/* Writes the oom rows of the kept refusals. */
static bool write_ooms(struct gmt_compactor *compactor)
{
	for (size_t i = 0; i < compactor->ooms.count; i++) {
		const struct gmt_oom *row = &compactor->ooms.items[i];

		for (size_t j = 0; j < compactor->refusals.count; j++)
			if (compactor->refusals.items[j].stamp == row->stamp &&
				compactor->refusals.items[j].thread == row->thread) {
				if (!write(compactor, GMT_RECORD_OOM, row, 1))
					return false;
				break;
			}
	}
	return true;
}

static bool write_texts(struct gmt_compactor *compactor)
{
	for (size_t i = 0; i < compactor->drops.count; i++) {
		const struct gmt_compact_note *text = &compactor->drops.items[i];
		struct gmt_drop row = { text->thread, { text->text, text->length }, text->count };

		if (!write(compactor, GMT_RECORD_DROP, &row, 1))
			return false;
	}
	for (size_t i = 0; i < compactor->notes.count; i++) {
		const struct gmt_compact_note *text = &compactor->notes.items[i];
		struct gmt_note row = { { text->text, text->length } };

		if (!write(compactor, GMT_RECORD_NOTE, &row, 1))
			return false;
	}
	for (size_t i = 0; i < compactor->calls.capacity; i++) {
		const struct gmt_map_slot *slot = &compactor->calls.slots[i];
		struct gmt_calls row = { .api = (uint16_t)slot->key, .count = slot->value_plus_1 - 1 };

		if (slot->value_plus_1 && !write(compactor, GMT_RECORD_CALLS, &row, 1))
			return false;
	}
	return !compactor->has_overhead ||
		write(compactor, GMT_RECORD_OVERHEAD, &compactor->overhead, 1);
}

static bool write_rows_before_cut(struct gmt_compactor *compactor)
{
	bool has_last = compactor->clocks.count &&
		compactor->clocks.items[compactor->clocks.count - 1].stamp >= compactor->last_clock.stamp;

	return write_marks(compactor) && write_ooms(compactor) && write_texts(compactor) &&
		gmt_compact_write_rows(compactor, GMT_RECORD_CLOCK, compactor->clocks.items,
			compactor->clocks.count) &&
		(has_last || !compactor->clocks_seen ||
			write(compactor, GMT_RECORD_CLOCK, &compactor->last_clock, 1)) &&
		gmt_compact_write_rows(compactor, GMT_RECORD_POOL, compactor->pools.items,
			compactor->pools.count);
}

/* --- the end of the head ---------------------------------------------------------------------- */

static bool write_summary(struct gmt_compactor *compactor)
{
	const struct gmt_accounting_anomalies *anomalies = &compactor->accounting.anomalies;
	const char *why = compactor->options.why ? compactor->options.why : "";
	uint64_t last_stamp = compactor->last_interpreted_stamp > compactor->last_mark_stamp
		? compactor->last_interpreted_stamp
		: compactor->last_mark_stamp;
	uint64_t calls[MAX_BACKWARD_CALLS * 2]; /* pairs: thread id, stack of its backward call */
	uint32_t count = 0;

	for (size_t i = 0;
		i < compactor->backward_attribution.threads.count && count < MAX_BACKWARD_CALLS * 2; i++) {
		if (!compactor->backward_attribution.threads.items[i].call)
			continue;
		calls[count++] = compactor->backward_attribution.threads.items[i].id;
		calls[count++] = compactor->backward_attribution.threads.items[i].call;
	}

	struct gmt_fold row = {
		.stamp =
			compactor->options.cut_stamp == UINT64_MAX ? last_stamp : compactor->options.cut_stamp,
		.events = compactor->seen_events - compactor->queue.entries.count,
		.survivors = compactor->head_events,
		.why = { why, (uint32_t)strlen(why) },
		.unknown_frees = anomalies->unknown_frees + compactor->interpreter.physical.unknown_handles,
		.missed_frees = anomalies->missed_frees,
		.size_mismatches = anomalies->size_mismatches,
		.refused_frees = anomalies->refused_frees,
		.impossible_sizes = anomalies->impossible_sizes,
		.merged_sites = compactor->merged_sites,
		.calls = { calls, count },
		.oom_retries = compactor->oom_retries,
		.open_ooms = { compactor->open_ooms.items, (uint32_t)compactor->open_ooms.count },
	};
	compactor->compacted_events = row.events > row.survivors ? row.events - row.survivors : 0;
	return write(compactor, GMT_RECORD_FOLD, &row, 1);
}

/* Writes the marks, samples and refusals that were already read, and belong after the cut. */
static bool write_after_cut(struct gmt_compactor *compactor)
{
	for (size_t i = 0; i < compactor->ooms.count; i++)
		if (compactor->ooms.items[i].stamp > compactor->options.cut_stamp &&
			!write(compactor, GMT_RECORD_OOM, &compactor->ooms.items[i], 1))
			return false;
	for (size_t i = 0; i < compactor->samples_after_cut.count; i++)
		if (compactor->samples_after_cut.items[i].stamp > compactor->options.cut_stamp &&
			!write(compactor, GMT_RECORD_SAMPLE, &compactor->samples_after_cut.items[i], 1))
			return false;
	for (struct gmt_mark mark; gmt_compact_pop_mark(compactor, UINT64_MAX, &mark);)
		if (!write(compactor, GMT_RECORD_MARK, &mark, 1))
			return false;
	return true;
}

/* The parts of the head, in the order of the file. QUEUE_BLOCKS writes nothing. */
enum part { QUEUE_BLOCKS, SURVIVORS, MARKS, ACCOUNTS, SITES, STEPS, CURVES, SUMMARY };

bool gmt_compact_write_head(struct gmt_compactor *compactor, uint32_t max_rows, bool *ret_done)
{
	bool part_done = true, done = false;

	switch ((enum part)compactor->head_part) {
	case QUEUE_BLOCKS:
		done = queue_blocks(compactor, max_rows, &part_done);
		break;
	case SURVIVORS:
		done = write_survivors(compactor, max_rows, &part_done);
		break;
	case MARKS:
		done = write_rows_before_cut(compactor);
		break;
	case ACCOUNTS:
		compactor->head_cursor = 0;
		done = gmt_compact_write_accounts(compactor);
		break;
	case SITES:
		done = gmt_compact_write_sites(compactor, max_rows, &part_done);
		break;
	case STEPS:
		compactor->head_cursor = 0;
		done = gmt_compact_write_steps(compactor) && gmt_compact_write_counters(compactor);
		break;
	case CURVES:
		done = gmt_compact_write_curves(compactor, &part_done);
		break;
	case SUMMARY:
		done = write_summary(compactor) && write_after_cut(compactor);
		break;
	}
	*ret_done = done && compactor->head_part == SUMMARY;
	compactor->head_part += part_done;
	return done;
}
