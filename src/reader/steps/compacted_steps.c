/* SPDX-License-Identifier: MIT */
#include "reader/steps/compacted_steps.h"

#include <string.h>

#include "base/budget.h"

/* Maximum number of merged steps. With more, the series has no curve. */
enum { MAX_STEPS = 1 << 20 };

/*
 * Returns a number that identifies a counter of steps. The steps of an optimizer are counted by its
 * address, because any thread may call it. Other steps are counted by thread and name.
 */
static uint64_t id_of(enum gmt_mark_source source, uint64_t object, uint32_t thread,
	const char *name)
{
	return source == GMT_MARK_SOURCE_OPTIMIZER
		? gmt_hash_u64(object)
		: gmt_hash_u64(thread) ^ gmt_hash_bytes(name, strlen(name));
}

/*
 * Fills `counts`. A mark has one row for each account, so all rows but the first are skipped. With
 * more than MAX_STEPS merged steps, leaves `counts` empty.
 */
static bool find_counts(struct gmt_compacted_steps *compacted_steps, enum gmt_mark_source source)
{
	const struct gmt_compacted_prefix *compacted = &compacted_steps->recording->compacted;
	uint64_t sum = 0, before = 0;

	for (size_t i = 0; i < compacted->steps.count; i++) {
		const struct gmt_past_step *row = &compacted->steps.items[i];
		uint64_t id = id_of(source, row->object, row->thread,
						  gmt_recording_name(compacted_steps->recording, row->name)) ^
			gmt_hash_u64(row->stamp);

		if (row->source != source || row->steps < 2 || id == before)
			continue;
		before = id;
		if (row->steps > MAX_STEPS || (sum += row->steps) > MAX_STEPS ||
			!gmt_budget_spend_work(row->steps, GMT_BUDGET_ROWS)) {
			gmt_map_fini(&compacted_steps->counts);
			return true;
		}
		if (!gmt_map_put(&compacted_steps->counts, id, row->steps))
			return false;
	}
	return true;
}

uint32_t gmt_compacted_steps_count(const struct gmt_compacted_steps *compacted_steps,
	const struct gmt_recording_mark *mark)
{
	uint64_t count;

	if (!compacted_steps->counts.count ||
		mark->stamp > compacted_steps->recording->compacted.cut_stamp ||
		!gmt_map_find(&compacted_steps->counts,
			id_of((enum gmt_mark_source)mark->source, mark->object, mark->thread, mark->name) ^
				gmt_hash_u64(mark->stamp),
			&count))
		return 1;
	return (uint32_t)count;
}

bool gmt_compacted_steps_init(struct gmt_compacted_steps *compacted_steps,
	const struct gmt_recording *recording, enum gmt_mark_source source)
{
	compacted_steps->recording = recording;
	for (size_t i = 0; i < recording->compacted.counters.count; i++) {
		const struct gmt_past_counter *row = &recording->compacted.counters.items[i];
		uint64_t id, first;

		if (row->source != source)
			continue;
		id = id_of(source, row->object, row->thread, gmt_recording_name(recording, row->name));
		if (!gmt_map_find(&compacted_steps->ids, id, &first) &&
			!gmt_map_put(&compacted_steps->ids, id, i))
			return false;
	}
	return find_counts(compacted_steps, source);
}

bool gmt_compacted_steps_note(struct gmt_compacted_steps *compacted_steps,
	struct gmt_step_series *series, const struct gmt_recording_mark *mark)
{
	const struct gmt_recording *recording = compacted_steps->recording;
	struct gmt_step_compacted *row;
	uint32_t count = gmt_compacted_steps_count(compacted_steps, mark);
	uint64_t counter, index;

	if (!recording->compacted.exists || mark->stamp > recording->compacted.cut_stamp)
		return true;
	/* A mark with the same stamp as the previous mark ended no step: that is a mismatch. */
	compacted_steps->mismatches |=
		!series->steps.count || series->steps.items[series->steps.count - 1].end != mark->stamp;
	if (!gmt_map_find(&compacted_steps->ids,
			id_of((enum gmt_mark_source)mark->source, mark->object, mark->thread, mark->name),
			&counter)) {
		compacted_steps->mismatches = true;
		return true;
	}
	if (!gmt_map_find(&compacted_steps->rows, counter, &index)) {
		row = gmt_vec_push(&series->compacted);
		if (!row || !gmt_map_put(&compacted_steps->rows, counter, series->compacted.count - 1))
			return false;
		*row = (struct gmt_step_compacted){ .counter = (uint32_t)counter,
			.first_step = (uint32_t)series->steps.count - count };
		index = series->compacted.count - 1;
	}
	row = &series->compacted.items[index];
	compacted_steps->mismatches |= row->first_step + row->steps + count != series->steps.count;
	row->steps += count;
	return true;
}

void gmt_compacted_steps_end(struct gmt_compacted_steps *compacted_steps,
	struct gmt_step_series *series)
{
	const struct gmt_recording *recording = compacted_steps->recording;

	series->lacks_compacted_samples = compacted_steps->mismatches;
	for (size_t i = 0; i < series->compacted.count; i++)
		series->lacks_compacted_samples |=
			recording->compacted.counters.items[series->compacted.items[i].counter].marks !=
			series->compacted.items[i].steps;
	gmt_map_fini(&compacted_steps->ids);
	gmt_map_fini(&compacted_steps->counts);
	gmt_map_fini(&compacted_steps->rows);
}
