/* SPDX-License-Identifier: MIT */
/*
 * Moves the cut to the end of the last step, if few enough events follow it. To decide whether a
 * line leaks, `check` needs the blocks at the end of the last step, and the frees after it.
 */
#include "compaction/compact_internal.h"

/* The marks of one counter, both processed and waiting. */
struct counter {
	struct gmt_mark mark; /* any of these marks: identifies the counter */
	uint64_t first_stamp, last_stamp, marks;
};

struct tail_marks {
	GMT_VEC(struct counter) counters;
	/* stamp of the last end of a program phase; 0: there is no such phase */
	uint64_t phase_stamp;
	/* stamp of the first teardown mark; UINT64_MAX: there is no such mark */
	uint64_t teardown_stamp;
};

static bool note_step(struct tail_marks *marks, const struct gmt_mark *mark)
{
	struct counter *slot;

	for (size_t i = 0; i < marks->counters.count; i++) {
		struct counter *counter = &marks->counters.items[i];

		if (!gmt_compact_have_same_counter(&counter->mark, mark))
			continue;
		counter->marks++;
		counter->first_stamp =
			mark->stamp < counter->first_stamp ? mark->stamp : counter->first_stamp;
		counter->last_stamp = mark->stamp > counter->last_stamp ? mark->stamp : counter->last_stamp;
		return true;
	}
	/* Damaged files can have more counters. */
	if (marks->counters.count >= 2 * GMT_COMPACT_MAX_SERIES)
		return true;
	slot = gmt_vec_push(&marks->counters);
	if (slot)
		*slot = (struct counter){ *mark, mark->stamp, mark->stamp, 1 };
	return slot;
}

static bool note_mark(struct tail_marks *marks, const struct gmt_mark *mark)
{
	bool ends = mark->kind == GMT_MARK_KIND_POP || mark->kind == GMT_MARK_KIND_STOP;

	if (mark->kind == GMT_MARK_KIND_STEP)
		return note_step(marks, mark);
	if (ends && mark->source == GMT_MARK_SOURCE_PROGRAM && mark->stamp > marks->phase_stamp)
		marks->phase_stamp = mark->stamp;
	if (mark->kind == GMT_MARK_KIND_TEARDOWN && mark->stamp < marks->teardown_stamp)
		marks->teardown_stamp = mark->stamp;
	return true;
}

static bool note_all(const struct gmt_compactor *compactor, struct tail_marks *marks)
{
	for (size_t i = 0; i < compactor->series.count; i++) {
		const struct gmt_compact_series *series = &compactor->series.items[i];
		struct counter *slot = gmt_vec_push(&marks->counters);

		if (!slot)
			return false;
		*slot = (struct counter){ gmt_compact_mark_of(series), series->first_stamp,
			series->last_stamp, series->marks };
	}
	for (size_t i = 0; i < compactor->kept_marks.count; i++)
		if (!note_mark(marks, &compactor->kept_marks.items[i]))
			return false;
	for (size_t i = 0; i < compactor->mark_queue.entries.count; i++)
		if (!note_mark(marks,
				&compactor->pending_marks.items[compactor->mark_queue.entries.items[i].item]))
			return false;
	return true;
}

/*
 * Returns whether the events after this moment can be kept: it is after the cut, or the cut can
 * move there, because few enough events follow it.
 */
static bool can_keep_after(const struct gmt_compactor *compactor, uint64_t stamp)
{
	uint64_t prefix_cut_stamp = compactor->prefix.exists ? compactor->prefix.cut_stamp : 0;
	size_t later_events = 0;

	if (stamp >= compactor->options.cut_stamp)
		return true;
	if (!stamp || stamp < compactor->last_interpreted_stamp || stamp < prefix_cut_stamp)
		return false;
	for (size_t i = 0; i < compactor->queue.entries.count; i++)
		later_events += compactor->queue.entries.items[i].stamp > stamp;
	return later_events <= compactor->options.max_tail_events;
}

/* Returns whether the counter counts calls of modules. The reader derives these marks. */
static bool counts_module_calls(const struct counter *counter)
{
	return counter->mark.source == GMT_MARK_SOURCE_READER;
}

/*
 * Returns whether the counter counts steps of the program. If the program marks its own steps, the
 * marks of optimizers do not count.
 */
static bool counts_steps(const struct counter *counter, bool has_own_marks)
{
	return !counts_module_calls(counter) &&
		(counter->mark.source == GMT_MARK_SOURCE_PROGRAM) == has_own_marks;
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
static uint64_t last_step(const struct gmt_compactor *compactor, const struct tail_marks *marks)
{
	uint64_t newest_stamp = 0, max_marks = 0, stamp = 0;
	bool has_own_marks = false;

	for (size_t i = 0; i < marks->counters.count; i++)
		has_own_marks |= marks->counters.items[i].mark.source == GMT_MARK_SOURCE_PROGRAM;
	for (size_t i = 0; i < marks->counters.count; i++) {
		const struct counter *counter = &marks->counters.items[i];

		if (counts_steps(counter, has_own_marks) && counter->first_stamp > newest_stamp)
			newest_stamp = counter->first_stamp;
	}
	for (size_t i = 0; i < marks->counters.count; i++) {
		const struct counter *counter = &marks->counters.items[i];

		if (counts_steps(counter, has_own_marks) && counter->last_stamp >= newest_stamp &&
			counter->marks > max_marks)
			max_marks = counter->marks;
	}
	for (size_t i = 0; i < marks->counters.count; i++) {
		const struct counter *counter = &marks->counters.items[i];
		bool may_be_steps = counts_module_calls(counter) ||
			(counts_steps(counter, has_own_marks) && counter->last_stamp >= newest_stamp &&
				counter->marks * 2 >= max_marks);

		if (may_be_steps && (!stamp || counter->last_stamp < stamp) &&
			can_keep_after(compactor, counter->last_stamp))
			stamp = counter->last_stamp;
	}
	return stamp;
}

bool gmt_compact_keep_tail(struct gmt_compactor *compactor)
{
	struct tail_marks marks = { .teardown_stamp = UINT64_MAX };
	bool done = note_all(compactor, &marks);
	uint64_t stamp;

	compactor->has_chosen_cut = true;
	if (done && compactor->options.max_tail_events) {
		stamp = last_step(compactor, &marks);
		if (!stamp && marks.phase_stamp && can_keep_after(compactor, marks.phase_stamp))
			stamp = marks.phase_stamp;
		if (!stamp && can_keep_after(compactor, marks.teardown_stamp))
			stamp = marks.teardown_stamp;
		if (stamp && stamp < compactor->options.cut_stamp)
			compactor->options.cut_stamp = stamp;
	}
	gmt_vec_fini(&marks.counters);
	return done;
}
