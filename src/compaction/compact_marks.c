/* SPDX-License-Identifier: MIT */
/*
 * Keeps marks: ends of steps as series, marks of phases and points, tensor roles, names of heaps.
 * Also restores series and answers from the input's prefix.
 */
#include <stddef.h>
#include <string.h>

#include "base/budget.h"
#include "compaction/compact_internal.h"

/* --- steps ----------------------------------------------------------------------------------- */

bool gmt_compact_have_same_counter(const struct gmt_mark *a, const struct gmt_mark *b)
{
	if (a->source != b->source)
		return false;
	/* An optimizer may step in any thread. A program's counters differ by thread and name. */
	return a->source == GMT_MARK_SOURCE_OPTIMIZER ? a->object == b->object
												  : a->thread == b->thread && a->name == b->name;
}

struct gmt_mark gmt_compact_mark_of(const struct gmt_compact_series *series)
{
	return (struct gmt_mark){
		.stamp = series->last_stamp,
		.source = series->source,
		.object = series->object,
		.thread = series->thread,
		.name = series->name,
	};
}

static struct gmt_compact_series *find_series(struct gmt_compactor *compactor,
	const struct gmt_mark *mark)
{
	for (size_t i = 0; i < compactor->series.count; i++) {
		struct gmt_mark last = gmt_compact_mark_of(&compactor->series.items[i]);

		if (gmt_compact_have_same_counter(&last, mark))
			return &compactor->series.items[i];
	}
	return NULL;
}

/* Adds a peak for each new account. A new account reached its peak since the last row group. */
static bool add_new_accounts(struct gmt_compactor *compactor, struct gmt_compact_series *series)
{
	while (series->peaks.count < compactor->accounting.accounts.count) {
		uint64_t *peak = gmt_vec_push(&series->peaks);

		if (!peak)
			return false;
		*peak = compactor->accounting.accounts.items[series->peaks.count - 1].peak_bytes;
	}
	return true;
}

static struct gmt_compact_series *get_series(struct gmt_compactor *compactor,
	const struct gmt_mark *mark)
{
	struct gmt_compact_series *series = find_series(compactor, mark);

	if (series)
		return series;
	series = gmt_vec_push(&compactor->series);
	if (series)
		*series = (struct gmt_compact_series){
			.object = mark->object,
			.thread = mark->thread,
			.name = mark->name,
			.source = mark->source,
			.stride = 1,
		};
	return series && gmt_compact_start_curve(compactor, (uint32_t)compactor->series.count - 1)
		? series
		: NULL;
}

bool gmt_compact_note_peak(struct gmt_compactor *compactor, uint32_t account)
{
	uint64_t live_bytes = compactor->accounting.accounts.items[account].live_bytes;

	for (size_t i = 0; i < compactor->series.count; i++) {
		struct gmt_compact_series *series = &compactor->series.items[i];

		if (!add_new_accounts(compactor, series))
			return false;
		if (live_bytes > series->peaks.items[account])
			series->peaks.items[account] = live_bytes;
	}
	return true;
}

/* Returns the index after the rows of one mark. */
static size_t group_end(const struct gmt_compact_series *series, size_t first)
{
	size_t end = first + 1;

	while (end < series->rows.count &&
		series->rows.items[end].stamp == series->rows.items[first].stamp)
		end++;
	return end;
}

/* Merges neighbouring groups: from now on, a group represents twice as many marks. */
static void thin_steps(struct gmt_compact_series *series)
{
	struct gmt_past_step *rows = series->rows.items;
	size_t kept = 0;

	for (size_t first = 0; first < series->rows.count;) {
		size_t second = group_end(series, first);
		size_t end = second < series->rows.count ? group_end(series, second) : second;
		size_t from = second < end ? second : first;

		for (size_t i = from; i < end; i++) {
			struct gmt_past_step row = rows[i];

			/* Accounts have the same order in each group. Later groups may have more accounts. */
			size_t before = first + (i - from);
			if (before < from && rows[before].layer == row.layer &&
				rows[before].device == row.device && rows[before].peak_bytes > row.peak_bytes)
				row.peak_bytes = rows[before].peak_bytes;
			if (from == second)
				row.steps += rows[first].steps;
			/* Overwriting is safe, because kept <= first: that row was already read. */
			rows[kept + (i - from)] = row;
		}
		kept += end - from;
		first = end;
	}
	series->rows.count = kept;
	series->groups = (series->groups + 1) / 2;
	series->stride *= 2;
}

static bool add_group(struct gmt_compactor *compactor, struct gmt_compact_series *series,
	const struct gmt_mark *mark)
{
	const struct gmt_accounting *accounting = &compactor->accounting;

	const size_t count = accounting->accounts.count < GMT_COMPACT_MAX_STEP_ACCOUNTS
		? accounting->accounts.count
		: GMT_COMPACT_MAX_STEP_ACCOUNTS;

	if (!gmt_budget_spend_work(count, GMT_BUDGET_ROWS))
		return true;
	/* A recording without any account still has its steps: one row. */
	for (size_t i = 0; i < (count ? count : 1); i++) {
		struct gmt_past_step *row = gmt_vec_push(&series->rows);

		if (!row)
			return false;
		*row = (struct gmt_past_step){
			.stamp = mark->stamp,
			.source = mark->source,
			.object = mark->object,
			.thread = mark->thread,
			.name = mark->name,
			.steps = series->waiting,
			.device = GMT_DEVICE_HOST,
		};
		if (!count)
			break;

		const struct gmt_account *account = &accounting->accounts.items[i];

		row->layer = account->layer;
		row->device = account->device;
		row->live_bytes = account->live_bytes;
		row->peak_bytes = series->peaks.items[i];
		series->peaks.items[i] = account->live_bytes;
	}
	series->waiting = 0;
	if (++series->groups > GMT_COMPACT_MAX_STEP_GROUPS)
		thin_steps(series);
	return true;
}

static bool end_step(struct gmt_compactor *compactor, const struct gmt_mark *mark)
{
	struct gmt_compact_series *series = get_series(compactor, mark);

	if (!series || !add_new_accounts(compactor, series))
		return false;
	series->waiting++;
	series->last_stamp = mark->stamp;
	series->first_stamp = series->marks++ ? series->first_stamp : mark->stamp;
	return gmt_compact_mark_curve(compactor, series, mark->stamp) &&
		(series->waiting < series->stride || add_group(compactor, series, mark));
}

bool gmt_compact_close_steps(struct gmt_compactor *compactor)
{
	for (size_t i = 0; i < compactor->series.count; i++) {
		struct gmt_compact_series *series = &compactor->series.items[i];
		struct gmt_mark mark = gmt_compact_mark_of(series);

		if (series->waiting && !add_group(compactor, series, &mark))
			return false;
	}
	return true;
}

/* --- other marks ----------------------------------------------------------------------------- */

static bool is_pair(const struct gmt_mark *begin, const struct gmt_mark *end)
{
	if (begin->source != end->source)
		return false;
	if (end->kind == GMT_MARK_KIND_STOP)
		return begin->kind == GMT_MARK_KIND_START && begin->object == end->object;
	return begin->kind == GMT_MARK_KIND_PUSH && begin->thread == end->thread;
}

/* Removes ended phases and points from the older half of the marks. */
static void thin_marks(struct gmt_compactor *compactor)
{
	struct gmt_mark *marks = compactor->kept_marks.items;
	size_t half = compactor->kept_marks.count / 2, kept = 0;

	for (size_t i = 0; i < half; i++) {
		bool ends = marks[i].kind == GMT_MARK_KIND_POP || marks[i].kind == GMT_MARK_KIND_STOP;

		if (ends)
			for (size_t j = kept; j-- > 0 && kept - j < 256;)
				if (is_pair(&marks[j], &marks[i])) {
					memmove(&marks[j], &marks[j + 1], (kept - j - 1) * sizeof(*marks));
					kept--;
					break;
				}
		if (!ends && marks[i].kind != GMT_MARK_KIND_POINT)
			marks[kept++] = marks[i];
	}
	/* The newest of the phases that never end are enough. */
	if (kept > half / 2) {
		memmove(marks, marks + (kept - half / 2), half / 2 * sizeof(*marks));
		kept = half / 2;
	}
	memmove(marks + kept, marks + half, (compactor->kept_marks.count - half) * sizeof(*marks));
	compactor->kept_marks.count -= half - kept;
}

/*
 * Keeps the tensor roles of the last time that modules and optimizers were examined. A mark ROLES
 * ends an examination. Further roles are dropped if there are too many.
 */
static bool keep_role(struct gmt_compactor *compactor, const struct gmt_mark *mark)
{
	size_t count = compactor->kept_roles.count;
	struct gmt_mark *slot;

	if (count && compactor->kept_roles.items[count - 1].kind == GMT_MARK_KIND_ROLES)
		compactor->kept_roles.count = count = 0;
	if (count >= GMT_COMPACT_MAX_ROLES && mark->kind != GMT_MARK_KIND_ROLES)
		return true;
	slot = gmt_vec_push(&compactor->kept_roles);
	if (slot)
		*slot = *mark;
	return slot;
}

static bool keep_mark(struct gmt_compactor *compactor, const struct gmt_mark *mark)
{
	struct gmt_mark *slot;

	if (mark->stamp > compactor->last_mark_stamp)
		compactor->last_mark_stamp = mark->stamp;
	if (mark->kind == GMT_MARK_KIND_HEAP)
		return true;
	if (mark->kind == GMT_MARK_KIND_STEP &&
		(find_series(compactor, mark) || compactor->series.count < GMT_COMPACT_MAX_SERIES))
		return end_step(compactor, mark);
	if (mark->kind >= GMT_MARK_KIND_PARAMETER && mark->kind <= GMT_MARK_KIND_ROLES)
		return keep_role(compactor, mark);
	if (compactor->kept_marks.count >= GMT_COMPACT_MAX_MARKS)
		thin_marks(compactor);
	slot = gmt_vec_push(&compactor->kept_marks);
	if (slot)
		*slot = *mark;
	return slot;
}

/*
 * Stores the name of a heap. It applies wherever it is in the file. If a heap has several names,
 * the first one applies.
 */
static bool name_heap(struct gmt_compactor *compactor, const struct gmt_mark *row)
{
	struct gmt_mark *slot;
	uint64_t before;

	if (gmt_map_find(&compactor->heap_marks, row->object, &before))
		return true;
	slot = gmt_vec_push(&compactor->heap_names);
	if (!slot || !gmt_map_put(&compactor->heap_marks, row->object, compactor->heap_names.count - 1))
		return false;
	*slot = *row;
	return true;
}

bool gmt_compact_take_mark(struct gmt_compactor *compactor, const struct gmt_mark *row)
{
	struct gmt_priority_queue_entry entry = { .stamp = row->stamp,
		.order = compactor->mark_arrivals++ };

	if (row->kind == GMT_MARK_KIND_HEAP && !name_heap(compactor, row))
		return false;
	entry.item = GMT_COMPACT_TAKE_SLOT(&compactor->pending_marks, &compactor->unused_marks);
	if (entry.item == UINT32_MAX)
		return false;
	compactor->pending_marks.items[entry.item] = *row;
	return gmt_priority_queue_push(&compactor->mark_queue, entry);
}

bool gmt_compact_pop_mark(struct gmt_compactor *compactor, uint64_t last_stamp,
	struct gmt_mark *ret_mark)
{
	struct gmt_priority_queue_entry entry;

	if (!compactor->mark_queue.entries.count ||
		compactor->mark_queue.entries.items[0].stamp > last_stamp)
		return false;
	gmt_priority_queue_pop(&compactor->mark_queue, &entry);
	*ret_mark = compactor->pending_marks.items[entry.item];
	GMT_COMPACT_FREE_SLOT(&compactor->unused_marks, entry.item);
	return true;
}

bool gmt_compact_process_marks_before(struct gmt_compactor *compactor, uint64_t stamp)
{
	struct gmt_mark mark;

	while (stamp && gmt_compact_pop_mark(compactor, stamp - 1, &mark))
		if (!keep_mark(compactor, &mark))
			return false;
	return gmt_compact_process_answers_before(compactor, stamp);
}

/* --- the prefix of a compacted input: it is more exact than the marks before it -------------- */

static void clear_series(struct gmt_compactor *compactor)
{
	for (size_t i = 0; i < compactor->series.count; i++) {
		struct gmt_compact_series *series = &compactor->series.items[i];

		series->rows.count = series->peaks.count = 0;
		series->groups = series->waiting = series->marks = 0;
		series->stride = 1;
	}
}

static bool restore_step(struct gmt_compactor *compactor, const struct gmt_past_step *row)
{
	struct gmt_mark mark = {
		.source = row->source,
		.object = row->object,
		.thread = row->thread,
		.name = row->name,
	};
	struct gmt_compact_series *series;
	struct gmt_past_step *slot;

	/* A compaction writes at most this many series. Only a damaged file has more. */
	if (compactor->series.count >= GMT_COMPACT_MAX_SERIES && !find_series(compactor, &mark))
		return true;
	series = get_series(compactor, &mark);
	slot = series ? gmt_vec_push(&series->rows) : NULL;
	if (!slot)
		return false;
	if (series->rows.count == 1 || slot[-1].stamp != row->stamp) {
		series->groups++;
		series->first_stamp = series->marks ? series->first_stamp : row->stamp;
		series->marks += row->steps;
		series->last_stamp = row->stamp;
	}
	if (row->steps > series->stride)
		series->stride = row->steps;
	*slot = *row;
	return true;
}

/* At the cut, the peak since the last row group is what each account holds. */
static bool restore_peaks(struct gmt_compactor *compactor, struct gmt_compact_series *series)
{
	for (size_t account = 0; account < compactor->accounting.accounts.count; account++) {
		uint64_t *peak = gmt_vec_push(&series->peaks);

		if (!peak)
			return false;
		*peak = compactor->accounting.accounts.items[account].live_bytes;
	}
	return true;
}

static bool restore_answers(struct gmt_compactor *compactor)
{
	compactor->pending_answers.count = compactor->unused_answers.count = 0;
	compactor->answers.count = 0;
	compactor->begin_queue.entries.count = compactor->end_queue.entries.count = 0;
	for (size_t i = 0; i < compactor->prefix.answers.count; i++)
		if (!gmt_compact_keep_answer(compactor, &compactor->prefix.answers.items[i]))
			return false;
	return true;
}

bool gmt_compact_restore_marks(struct gmt_compactor *compactor)
{
	clear_series(compactor);
	for (size_t i = 0; i < compactor->prefix.steps.count; i++)
		if (!restore_step(compactor, &compactor->prefix.steps.items[i]))
			return false;
	for (size_t i = 0; i < compactor->series.count; i++)
		if (!restore_peaks(compactor, &compactor->series.items[i]))
			return false;
	return restore_answers(compactor);
}

void gmt_compact_marks_fini(struct gmt_compactor *compactor)
{
	for (size_t i = 0; i < compactor->series.count; i++) {
		gmt_vec_fini(&compactor->series.items[i].peaks);
		gmt_vec_fini(&compactor->series.items[i].rows);
		gmt_compact_curve_fini(&compactor->series.items[i].curve);
	}
	gmt_vec_fini(&compactor->series);
	gmt_vec_fini(&compactor->pending_marks);
	gmt_vec_fini(&compactor->unused_marks);
	gmt_priority_queue_fini(&compactor->mark_queue);
	gmt_vec_fini(&compactor->kept_marks);
	gmt_vec_fini(&compactor->kept_roles);
	gmt_vec_fini(&compactor->pending_answers);
	gmt_vec_fini(&compactor->unused_answers);
	gmt_priority_queue_fini(&compactor->begin_queue);
	gmt_priority_queue_fini(&compactor->end_queue);
	gmt_priority_queue_fini(&compactor->kept_queue);
	gmt_vec_fini(&compactor->answers);
	gmt_vec_fini(&compactor->samples_after_cut);
	gmt_vec_fini(&compactor->clocks);
	gmt_vec_fini(&compactor->ooms);
	gmt_vec_fini(&compactor->notes);
	gmt_vec_fini(&compactor->drops);
	gmt_vec_fini(&compactor->pools);
}
