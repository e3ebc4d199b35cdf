/* SPDX-License-Identifier: MIT */
/*
 * Where a fold of all there is ends. What lived at the end of the last step, and what was freed behind it, says whether a
 * line leaks. So the cut is there, and the events behind it stay, where they are few enough.
 */
#include "compaction/compact_parts.h"

/* Marks of one counter, those that are passed and those that wait. */
struct counter {
	struct gmt_mark mark; /* one of them */
	uint64_t first_stamp, last_stamp, marks;
};

struct end {
	GMT_VEC(struct counter) counters;
	uint64_t phase_stamp;    /* of the last end of a phase of the program's; 0: there is none */
	uint64_t teardown_stamp; /* of the first mark of teardown; UINT64_MAX: there is none */
};

static bool note_step(struct end *end, const struct gmt_mark *mark)
{
	struct counter *slot;

	for (size_t i = 0; i < end->counters.count; i++) {
		struct counter *counter = &end->counters.items[i];

		if (!gmt_compact_is_counter_of(&counter->mark, mark))
			continue;
		counter->marks++;
		counter->first_stamp = mark->stamp < counter->first_stamp ? mark->stamp : counter->first_stamp;
		counter->last_stamp = mark->stamp > counter->last_stamp ? mark->stamp : counter->last_stamp;
		return true;
	}
	/* A fold follows no more. */
	if (end->counters.count >= 2 * GMT_COMPACT_SERIES)
		return true;
	slot = gmt_vec_push(&end->counters);
	if (slot)
		*slot = (struct counter){ *mark, mark->stamp, mark->stamp, 1 };
	return slot;
}

static bool note_mark(struct end *end, const struct gmt_mark *mark)
{
	bool ends = mark->kind == GMT_MARK_KIND_POP || mark->kind == GMT_MARK_KIND_STOP;

	if (mark->kind == GMT_MARK_KIND_STEP)
		return note_step(end, mark);
	if (ends && mark->source == GMT_MARK_SOURCE_PROGRAM && mark->stamp > end->phase_stamp)
		end->phase_stamp = mark->stamp;
	if (mark->kind == GMT_MARK_KIND_TEARDOWN && mark->stamp < end->teardown_stamp)
		end->teardown_stamp = mark->stamp;
	return true;
}

static bool note_all(const struct gmt_compactor *compactor, struct end *end)
{
	for (size_t i = 0; i < compactor->series.count; i++) {
		const struct gmt_compact_series *series = &compactor->series.items[i];
		struct counter *slot = gmt_vec_push(&end->counters);

		if (!slot)
			return false;
		*slot = (struct counter){ gmt_compact_mark_of(series), series->first_stamp, series->last_stamp, series->marks };
	}
	for (size_t i = 0; i < compactor->kept_marks.count; i++)
		if (!note_mark(end, &compactor->kept_marks.items[i]))
			return false;
	for (size_t i = 0; i < compactor->mark_queue.entries.count; i++)
		if (!note_mark(end, &compactor->pending_marks.items[compactor->mark_queue.entries.items[i].item]))
			return false;
	return true;
}

/* Whether this moment lies behind the cut, or the cut can be there and leave few enough events. */
static bool may_stay(const struct gmt_compactor *compactor, uint64_t stamp)
{
	uint64_t past_stamp = compactor->compacted.has_fold ? compactor->compacted.fold.stamp : 0;
	size_t behind = 0;

	if (stamp >= compactor->options.cut_stamp)
		return true;
	if (!stamp || stamp < compactor->played_stamp || stamp < past_stamp)
		return false;
	for (size_t i = 0; i < compactor->queue.entries.count; i++)
		behind += compactor->queue.entries.items[i].stamp > stamp;
	return behind <= compactor->options.most_end_events;
}

/*
 * The earliest last step of those counters that the reader may take for the program's: marks of the program's own before
 * optimizers', none that was over before another one began, and those that count about as often as any. Calls of modules
 * are a counter of their own. 0: none may stay.
 */
static uint64_t last_step(const struct gmt_compactor *compactor, const struct end *end)
{
	uint64_t newest_stamp = 0, most = 0, stamp = 0;
	bool has_own = false;

	for (size_t i = 0; i < end->counters.count; i++)
		has_own |= end->counters.items[i].mark.source == GMT_MARK_SOURCE_PROGRAM;
#define IS_CALLS(counter) ((counter)->mark.source == GMT_MARK_SOURCE_READER)
#define COUNTS(counter) (!IS_CALLS(counter) && ((counter)->mark.source == GMT_MARK_SOURCE_PROGRAM) == has_own)
	for (size_t i = 0; i < end->counters.count; i++) {
		const struct counter *counter = &end->counters.items[i];

		if (COUNTS(counter) && counter->first_stamp > newest_stamp)
			newest_stamp = counter->first_stamp;
	}
	for (size_t i = 0; i < end->counters.count; i++) {
		const struct counter *counter = &end->counters.items[i];

		if (COUNTS(counter) && counter->last_stamp >= newest_stamp && counter->marks > most)
			most = counter->marks;
	}
	for (size_t i = 0; i < end->counters.count; i++) {
		const struct counter *counter = &end->counters.items[i];

		if ((IS_CALLS(counter) || (COUNTS(counter) && counter->last_stamp >= newest_stamp && counter->marks * 2 >= most)) &&
			(!stamp || counter->last_stamp < stamp) && may_stay(compactor, counter->last_stamp))
			stamp = counter->last_stamp;
	}
#undef COUNTS
#undef IS_CALLS
	return stamp;
}

bool gmt_compact_spare_end(struct gmt_compactor *compactor)
{
	struct end end = { .teardown_stamp = UINT64_MAX };
	bool done = note_all(compactor, &end);
	uint64_t stamp;

	compactor->has_spared = true;
	if (done && compactor->options.most_end_events) {
		stamp = last_step(compactor, &end);
		if (!stamp && end.phase_stamp && may_stay(compactor, end.phase_stamp))
			stamp = end.phase_stamp;
		if (!stamp && may_stay(compactor, end.teardown_stamp))
			stamp = end.teardown_stamp;
		if (stamp && stamp < compactor->options.cut_stamp)
			compactor->options.cut_stamp = stamp;
	}
	gmt_vec_fini(&end.counters);
	return done;
}
