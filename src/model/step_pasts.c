/* SPDX-License-Identifier: MIT */
#include "model/step_pasts.h"

#include <string.h>

/* An optimizer steps in any thread; a program's counters are told apart by thread and name. */
static uint64_t id_of(enum gmt_mark_source source, uint64_t object, uint32_t thread, const char *name)
{
	return source == GMT_MARK_SOURCE_OPTIMIZER ? gmt_hash_u64(object) :
		gmt_hash_u64(thread) ^ gmt_hash_bytes(name, strlen(name));
}

bool gmt_step_pasts_init(struct gmt_step_pasts *pasts, const struct gmt_snapshot *snapshot, enum gmt_mark_source source)
{
	pasts->snapshot = snapshot;
	for (size_t i = 0; i < snapshot->past.counters.count; i++) {
		const struct gmt_past_counter *row = &snapshot->past.counters.items[i];
		uint64_t index, name;

		if (row->source != source)
			continue;
		index = id_of(source, row->object, row->thread, gmt_map_find(&snapshot->name_ids, row->name, &name) ?
			snapshot->names.items[name].text.text : "");
		if (!gmt_map_find(&pasts->ids, index, &name) && !gmt_map_put(&pasts->ids, index, i))
			return false;
	}
	return true;
}

bool gmt_step_pasts_note(struct gmt_step_pasts *pasts, struct gmt_step_series *series, const struct gmt_snapshot_mark *mark)
{
	const struct gmt_snapshot *snapshot = pasts->snapshot;
	struct gmt_step_past *row;
	uint64_t counter, index;

	if (!snapshot->past.has_fold || mark->stamp > snapshot->past.fold.stamp)
		return true;
	/* A mark without a step, because it stands where the one before does. */
	pasts->misfits |= !series->steps.count || series->steps.items[series->steps.count - 1].end != mark->stamp;
	if (!gmt_map_find(&pasts->ids, id_of((enum gmt_mark_source)mark->source, mark->object, mark->thread, mark->name), &counter)) {
		pasts->misfits = true;
		return true;
	}
	if (!gmt_map_find(&pasts->rows, counter, &index)) {
		row = gmt_vec_push(&series->past);
		if (!row || !gmt_map_put(&pasts->rows, counter, series->past.count - 1))
			return false;
		*row = (struct gmt_step_past){ .counter = (uint32_t)counter, .first_step = (uint32_t)series->steps.count - 1 };
		index = series->past.count - 1;
	}
	row = &series->past.items[index];
	pasts->misfits |= row->first_step + row->steps != series->steps.count - 1;
	row->steps++;
	return true;
}

void gmt_step_pasts_end(struct gmt_step_pasts *pasts, struct gmt_step_series *series)
{
	const struct gmt_snapshot *snapshot = pasts->snapshot;

	series->lacks_past = pasts->misfits;
	for (size_t i = 0; i < series->past.count; i++)
		series->lacks_past |= snapshot->past.counters.items[series->past.items[i].counter].marks != series->past.items[i].steps;
	gmt_map_fini(&pasts->ids);
	gmt_map_fini(&pasts->rows);
}
