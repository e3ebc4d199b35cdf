/* SPDX-License-Identifier: MIT */
/*
 * Chooses the cut when the whole recording is compacted. To decide whether a line leaks, the
 * verdict needs the blocks at the end of the last step, and the frees after it. So the cut is
 * there, and the events after it are kept if there are few enough.
 */
#include "compaction/compactor.h"

/* Marks of one counter: processed marks and waiting marks. */
struct counter {
	struct gmt_mark mark; /* one of these marks */
	uint64_t first_stamp, last_stamp, marks;
};

struct end {
	GMT_VEC(struct counter) counters;
	/* stamp of the last end of a program phase; 0: there is no such phase */
	uint64_t phase_stamp;
	/* stamp of the first teardown mark; UINT64_MAX: there is no such mark */
	uint64_t teardown_stamp;
};

static bool note_step(struct end *end, const struct gmt_mark *mark)
{
	struct counter *slot;

	for (size_t i = 0; i < end->counters.count; i++) {
		struct counter *counter = &end->counters.items[i];

		if (!gmt_compact_is_counter_of(&counter->mark, mark))
			continue;
		counter->marks++;
		counter->first_stamp =
			mark->stamp < counter->first_stamp ? mark->stamp : counter->first_stamp;
		counter->last_stamp = mark->stamp > counter->last_stamp ? mark->stamp : counter->last_stamp;
		return true;
	}
	/* A compaction follows no more counters than this. */
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
		*slot = (struct counter){ gmt_compact_mark_of(series), series->first_stamp,
			series->last_stamp, series->marks };
	}
	for (size_t i = 0; i < compactor->kept_marks.count; i++)
		if (!note_mark(end, &compactor->kept_marks.items[i]))
			return false;
	for (size_t i = 0; i < compactor->mark_queue.entries.count; i++)
		if (!note_mark(end,
				&compactor->pending_marks.items[compactor->mark_queue.entries.items[i].item]))
			return false;
	return true;
}

/*
 * Returns whether this moment is after the cut, or can become the cut with few enough events after
 * it.
 */
static bool may_stay(const struct gmt_compactor *compactor, uint64_t stamp)
{
	uint64_t compacted_until_stamp =
		compactor->compacted.has_compacted_prefix ? compactor->compacted.fold.stamp : 0;
	size_t later_events = 0;

	if (stamp >= compactor->options.cut_stamp)
		return true;
	if (!stamp || stamp < compactor->interpreted_stamp || stamp < compacted_until_stamp)
		return false;
	for (size_t i = 0; i < compactor->queue.entries.count; i++)
		later_events += compactor->queue.entries.items[i].stamp > stamp;
	return later_events <= compactor->options.max_tail_events;
}

/*
 * Returns the earliest last step of the counters that the reader may take as the program's steps.
 * The rules:
 *
 * - The program's own marks take precedence over optimizers' marks.
 * - A counter that ended before another one began does not count.
 * - A counter must have at least half as many marks as the counter with the most marks.
 * - Module calls are a separate counter.
 *
 * Returns 0 if no such step can become the cut.
 */
static uint64_t last_step(const struct gmt_compactor *compactor, const struct end *end)
{
	uint64_t newest_stamp = 0, max = 0, stamp = 0;
	bool has_own = false;

	for (size_t i = 0; i < end->counters.count; i++)
		has_own |= end->counters.items[i].mark.source == GMT_MARK_SOURCE_PROGRAM;
#define IS_CALLS(counter) ((counter)->mark.source == GMT_MARK_SOURCE_READER)
#define COUNTS(counter) \
	(!IS_CALLS(counter) && ((counter)->mark.source == GMT_MARK_SOURCE_PROGRAM) == has_own)
	for (size_t i = 0; i < end->counters.count; i++) {
		const struct counter *counter = &end->counters.items[i];

		if (COUNTS(counter) && counter->first_stamp > newest_stamp)
			newest_stamp = counter->first_stamp;
	}
	for (size_t i = 0; i < end->counters.count; i++) {
		const struct counter *counter = &end->counters.items[i];

		if (COUNTS(counter) && counter->last_stamp >= newest_stamp && counter->marks > max)
			max = counter->marks;
	}
	for (size_t i = 0; i < end->counters.count; i++) {
		const struct counter *counter = &end->counters.items[i];

		if ((IS_CALLS(counter) ||
				(COUNTS(counter) && counter->last_stamp >= newest_stamp &&
					counter->marks * 2 >= max)) &&
			(!stamp || counter->last_stamp < stamp) && may_stay(compactor, counter->last_stamp))
			stamp = counter->last_stamp;
	}
#undef COUNTS
#undef IS_CALLS
	return stamp;
}

bool gmt_compact_keep_tail(struct gmt_compactor *compactor)
{
	struct end end = { .teardown_stamp = UINT64_MAX };
	bool done = note_all(compactor, &end);
	uint64_t stamp;

	compactor->has_chosen_cut = true;
	if (done && compactor->options.max_tail_events) {
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
