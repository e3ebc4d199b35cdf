/* SPDX-License-Identifier: MIT */
/* What a fold keeps of moments: ends of steps, phases, samples, refusals, clocks, and what is said once. */
#include <stddef.h>
#include <string.h>

#include "base/budget.h"
#include "books/fold_room.h"

/* --- steps -------------------------------------------------------------------------------------------- */

static bool is_of(const struct gmt_fold_series *series, const struct gmt_mark *mark)
{
	if (series->source != mark->source)
		return false;
	/* An optimizer may step in any thread; a program's counters are told apart by thread and name. */
	return mark->source == GMT_MARK_SOURCE_OPTIMIZER ? series->object == mark->object :
		series->thread == mark->thread && series->name == mark->name;
}

static struct gmt_fold_series *find_series(struct gmt_folder *folder, const struct gmt_mark *mark)
{
	for (size_t i = 0; i < folder->series.count; i++)
		if (is_of(&folder->series.items[i], mark))
			return &folder->series.items[i];
	return NULL;
}

/* Room for a peak of each account; those that are new had their peak in the steps that run. */
static bool make_room(struct gmt_folder *folder, struct gmt_fold_series *series)
{
	while (series->peaks.count < folder->books.accounts.count) {
		uint64_t *peak = gmt_vec_push(&series->peaks);

		if (!peak)
			return false;
		*peak = folder->books.accounts.items[series->peaks.count - 1].peak_bytes;
	}
	return true;
}

static struct gmt_fold_series *get_series(struct gmt_folder *folder, const struct gmt_mark *mark)
{
	struct gmt_fold_series *series = find_series(folder, mark);

	if (series)
		return series;
	series = gmt_vec_push(&folder->series);
	if (series)
		*series = (struct gmt_fold_series){
			.object = mark->object, .thread = mark->thread, .name = mark->name, .source = mark->source, .stride = 1,
		};
	return series;
}

bool gmt_fold_see_peak(struct gmt_folder *folder, uint32_t account)
{
	uint64_t live_bytes = folder->books.accounts.items[account].live_bytes;

	for (size_t i = 0; i < folder->series.count; i++) {
		struct gmt_fold_series *series = &folder->series.items[i];

		if (!make_room(folder, series))
			return false;
		if (live_bytes > series->peaks.items[account])
			series->peaks.items[account] = live_bytes;
	}
	return true;
}

/* Behind the rows of one mark. */
static size_t group_end(const struct gmt_fold_series *series, size_t first)
{
	size_t end = first + 1;

	while (end < series->rows.count && series->rows.items[end].stamp == series->rows.items[first].stamp)
		end++;
	return end;
}

/* Puts neighbours together: rows stand for twice as many marks from now on. */
static void thin_steps(struct gmt_fold_series *series)
{
	struct gmt_past_step *rows = series->rows.items;
	size_t kept = 0;

	for (size_t first = 0; first < series->rows.count;) {
		size_t second = group_end(series, first);
		size_t end = second < series->rows.count ? group_end(series, second) : second;
		size_t from = second < end ? second : first;

		for (size_t i = from; i < end; i++) {
			struct gmt_past_step row = rows[i];

			/* Accounts stand in the same order in each group; later groups have more of them. */
			size_t before = first + (i - from);
			if (before < from && rows[before].layer == row.layer && rows[before].device == row.device &&
				rows[before].peak_bytes > row.peak_bytes)
				row.peak_bytes = rows[before].peak_bytes;
			if (from == second)
				row.steps += rows[first].steps;
			/* What stood here was read: kept <= first. */
			rows[kept + (i - from)] = row;
		}
		kept += end - from;
		first = end;
	}
	series->rows.count = kept;
	series->groups = (series->groups + 1) / 2;
	series->stride *= 2;
}

static bool add_group(struct gmt_folder *folder, struct gmt_fold_series *series, const struct gmt_mark *mark)
{
	const struct gmt_books *books = &folder->books;

	if (!gmt_budget_spend(books->accounts.count < GMT_FOLD_STEP_ACCOUNTS ? books->accounts.count :
			GMT_FOLD_STEP_ACCOUNTS, GMT_BUDGET_ROWS))
		return true;
	for (size_t i = 0; i < books->accounts.count && i < GMT_FOLD_STEP_ACCOUNTS; i++) {
		const struct gmt_books_account *account = &books->accounts.items[i];
		struct gmt_past_step *row = gmt_vec_push(&series->rows);

		if (!row)
			return false;
		*row = (struct gmt_past_step){
			.stamp = mark->stamp, .source = mark->source, .object = mark->object, .thread = mark->thread,
			.name = mark->name, .steps = series->waiting, .layer = account->layer, .device = account->device,
			.live_bytes = account->live_bytes, .peak_bytes = series->peaks.items[i],
		};
		series->peaks.items[i] = account->live_bytes;
	}
	/* A recording without any account still has its steps. */
	if (!books->accounts.count) {
		struct gmt_past_step *row = gmt_vec_push(&series->rows);

		if (!row)
			return false;
		*row = (struct gmt_past_step){
			.stamp = mark->stamp, .source = mark->source, .object = mark->object, .thread = mark->thread,
			.name = mark->name, .steps = series->waiting, .device = GMT_DEVICE_HOST,
		};
	}
	series->waiting = 0;
	if (++series->groups > GMT_FOLD_STEPS)
		thin_steps(series);
	return true;
}

static bool end_step(struct gmt_folder *folder, const struct gmt_mark *mark)
{
	struct gmt_fold_series *series = get_series(folder, mark);

	if (!series || !make_room(folder, series))
		return false;
	series->waiting++;
	return series->waiting < series->stride || add_group(folder, series, mark);
}

/* --- other marks -------------------------------------------------------------------------------------- */

static bool is_pair(const struct gmt_mark *begin, const struct gmt_mark *end)
{
	if (begin->source != end->source)
		return false;
	if (end->kind == GMT_MARK_KIND_STOP)
		return begin->kind == GMT_MARK_KIND_START && begin->object == end->object;
	return begin->kind == GMT_MARK_KIND_PUSH && begin->thread == end->thread;
}

/* Takes the older half of phases that have ended, and of points, out. */
static void thin_marks(struct gmt_folder *folder)
{
	struct gmt_mark *marks = folder->kept_marks.items;
	size_t half = folder->kept_marks.count / 2, kept = 0;

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
	/* Phases that never end: the newest of them say enough. */
	if (kept > half / 2) {
		memmove(marks, marks + (kept - half / 2), half / 2 * sizeof(*marks));
		kept = half / 2;
	}
	memmove(marks + kept, marks + half, (folder->kept_marks.count - half) * sizeof(*marks));
	folder->kept_marks.count -= half - kept;
}

static bool keep_mark(struct gmt_folder *folder, const struct gmt_mark *mark)
{
	struct gmt_mark *slot;

	if (mark->stamp > folder->marked_stamp)
		folder->marked_stamp = mark->stamp;
	if (mark->kind == GMT_MARK_KIND_HEAP)
		return true;
	if (mark->kind == GMT_MARK_KIND_STEP && (find_series(folder, mark) || folder->series.count < GMT_FOLD_SERIES))
		return end_step(folder, mark);
	if (folder->kept_marks.count >= GMT_FOLD_MARKS)
		thin_marks(folder);
	slot = gmt_vec_push(&folder->kept_marks);
	if (slot)
		*slot = *mark;
	return slot;
}

/* The name of a heap counts wherever it stands in the file; the first one does. */
static bool name_heap(struct gmt_folder *folder, const struct gmt_mark *row)
{
	struct gmt_mark *slot;
	uint64_t before;

	if (gmt_map_find(&folder->heap_marks, row->object, &before))
		return true;
	slot = gmt_vec_push(&folder->heap_names);
	if (!slot || !gmt_map_put(&folder->heap_marks, row->object, folder->heap_names.count - 1))
		return false;
	*slot = *row;
	return true;
}

/* A place in a list whose unused entries are known; UINT32_MAX: out of memory. */
#define TAKE_PLACE(list, unused) \
	((unused)->count ? (unused)->items[--(unused)->count] : \
		gmt_vec_reserve((unused), (list)->count + 1) && gmt_vec_push(list) ? (uint32_t)(list)->count - 1 : UINT32_MAX)

/* There is room: each entry of the list was counted when it was made. */
#define GIVE_PLACE(unused, place) ((unused)->items[(unused)->count++] = (place))

bool gmt_fold_take_mark(struct gmt_folder *folder, const struct gmt_mark *row)
{
	struct gmt_queue_entry entry = { .stamp = row->stamp, .order = folder->moment_arrivals++ };

	if (row->kind == GMT_MARK_KIND_HEAP && !name_heap(folder, row))
		return false;
	entry.item = TAKE_PLACE(&folder->pending_marks, &folder->unused_marks);
	if (entry.item == UINT32_MAX)
		return false;
	folder->pending_marks.items[entry.item] = *row;
	return gmt_queue_push(&folder->mark_queue, entry);
}

bool gmt_fold_next_mark(struct gmt_folder *folder, uint64_t last_stamp, struct gmt_mark *ret_mark)
{
	struct gmt_queue_entry entry;

	if (!folder->mark_queue.entries.count || folder->mark_queue.entries.items[0].stamp > last_stamp)
		return false;
	gmt_queue_pop(&folder->mark_queue, &entry);
	*ret_mark = folder->pending_marks.items[entry.item];
	GIVE_PLACE(&folder->unused_marks, entry.item);
	return true;
}

/* --- samples ------------------------------------------------------------------------------------------ */

/* As gmt_ledger_sums has it. */
static uint64_t steady_of(const struct gmt_fold_device *device)
{
	uint64_t sum = 0;

	for (unsigned space = 1; space < GMT_SPACE_COUNT; space++) {
		unsigned layer = gmt_space_layer(space);

		if ((layer == GMT_LAYER_CUDA || layer == GMT_LAYER_DRIVER) && space != GMT_SPACE_MANAGED &&
			space != GMT_SPACE_POOL && space != GMT_SPACE_GRAPH)
			sum += device->now[space];
	}
	return sum;
}

static bool wait_answer(struct gmt_folder *folder, const struct gmt_past_answer *row)
{
	struct gmt_queue_entry entry = { .order = folder->moment_arrivals++ };

	entry.item = TAKE_PLACE(&folder->pending_answers, &folder->unused_answers);
	if (entry.item == UINT32_MAX)
		return false;
	folder->pending_answers.items[entry.item] = (struct gmt_fold_answer){ .row = *row };
	entry.stamp = row->begin_stamp;
	if (!gmt_queue_push(&folder->begin_queue, entry))
		return false;
	entry.stamp = row->stamp;
	return gmt_queue_push(&folder->end_queue, entry);
}

bool gmt_fold_take_sample(struct gmt_folder *folder, const struct gmt_sample *row)
{
	struct gmt_past_answer answer = {
		.stamp = row->stamp, .begin_stamp = row->begin_stamp, .device = row->device, .known = row->known,
		.free_bytes = row->free_bytes, .total_bytes = row->total_bytes, .process_bytes = row->process_bytes,
		.others_bytes = row->others_bytes, .pool_reserved_bytes = row->pool_reserved_bytes,
		.graph_reserved_bytes = row->graph_reserved_bytes,
	};
	struct gmt_sample *slot;

	/* Behind the cut it stays a sample; the cut may still come earlier. */
	if (row->stamp <= folder->options.cut_stamp && !wait_answer(folder, &answer))
		return false;
	if (row->stamp <= folder->options.cut_stamp && (!folder->options.sure_stamp || row->stamp <= folder->options.sure_stamp))
		return true;
	slot = gmt_vec_push(&folder->late_samples);
	if (slot)
		*slot = *row;
	return slot;
}

bool gmt_fold_take_oom(struct gmt_folder *folder, const struct gmt_oom *row)
{
	struct gmt_past_answer answer = {
		.stamp = row->stamp, .begin_stamp = row->stamp, .device = (uint16_t)row->device, .known = GMT_SAMPLE_DRIVER,
		.free_bytes = row->free_bytes, .total_bytes = row->total_bytes,
	};
	struct gmt_oom *slot;

	if (folder->ooms.count >= 2 * GMT_FOLD_REFUSALS) {
		memmove(folder->ooms.items, folder->ooms.items + GMT_FOLD_REFUSALS,
			(folder->ooms.count - GMT_FOLD_REFUSALS) * sizeof(*row));
		folder->ooms.count -= GMT_FOLD_REFUSALS;
	}
	slot = gmt_vec_push(&folder->ooms);
	if (!slot)
		return false;
	*slot = *row;
	return row->stamp > folder->options.cut_stamp || !row->total_bytes || row->device < 0 ||
		wait_answer(folder, &answer);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Marks the answer that the ledger would take for the device's peak, for one part. */
static void spare(const struct gmt_folder *folder, const struct gmt_fold_device *device, uint64_t peak_stamp,
	unsigned part, uint8_t *spared)
{
	uint64_t steady_bytes = 0;
	size_t best = SIZE_MAX;
	int best_misfit = 3;

	for (unsigned space = 1; space < GMT_SPACE_COUNT; space++) {
		unsigned layer = gmt_space_layer(space);

		if ((layer == GMT_LAYER_CUDA || layer == GMT_LAYER_DRIVER) && space != GMT_SPACE_MANAGED &&
			space != GMT_SPACE_POOL && space != GMT_SPACE_GRAPH)
			steady_bytes += device->held[space];
	}
	for (size_t i = 0; i < folder->answers.count; i++) {
		const struct gmt_past_answer *row = &folder->answers.items[i];
		int misfit = row->before_steady_bytes != row->after_steady_bytes ? 2 : row->after_steady_bytes != steady_bytes;

		if ((int16_t)row->device != device->device || !(row->known & part) || misfit > best_misfit)
			continue;
		if (misfit < best_misfit || distance(row->stamp, peak_stamp) < distance(folder->answers.items[best].stamp, peak_stamp)) {
			best = i;
			best_misfit = misfit;
		}
	}
	if (best != SIZE_MAX)
		spared[best] = 1;
}

/* Every second answer goes, but for the newest and those that the peaks are explained with. */
static void thin_answers(struct gmt_folder *folder)
{
	uint8_t spared[GMT_FOLD_ANSWERS] = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < folder->devices.count && i < GMT_FOLD_SPARED_DEVICES; i++) {
		const struct gmt_fold_device *device = &folder->devices.items[i];
		const struct gmt_books_account *account =
			gmt_books_find_account(&folder->books, GMT_LAYER_CUDA, device->device);

		for (unsigned part = 1; part <= GMT_SAMPLE_GRAPHS && account; part <<= 1)
			spare(folder, device, account->peak_stamp, part, spared);
	}
	for (size_t i = 0; i < folder->answers.count; i++)
		if (spared[i] || i % 2 || i + GMT_FOLD_ANSWERS / 8 > folder->answers.count)
			folder->answers.items[kept++] = folder->answers.items[i];
	folder->answers.count = kept;
}

static bool keep_answer(struct gmt_folder *folder, const struct gmt_past_answer *row)
{
	struct gmt_past_answer *slot;

	if (folder->answers.count >= GMT_FOLD_ANSWERS)
		thin_answers(folder);
	slot = gmt_vec_push(&folder->answers);
	if (slot)
		*slot = *row;
	return slot;
}

/* The next entry whose stamp is before `stamp`. */
static bool pop_before(struct gmt_queue *queue, uint64_t stamp, struct gmt_queue_entry *ret_entry)
{
	return queue->entries.count && queue->entries.items[0].stamp < stamp && gmt_queue_pop(queue, ret_entry);
}

static void forget_passed(struct gmt_folder *folder, uint32_t place)
{
	const struct gmt_fold_answer *answer = &folder->pending_answers.items[place];

	if (answer->has_begun && answer->has_ended)
		GIVE_PLACE(&folder->unused_answers, place);
}

/* As ledger_watch has it: what was asked, or complete, before this moment. */
static bool pass_answers(struct gmt_folder *folder, uint64_t stamp)
{
	struct gmt_queue_entry entry;

	while (pop_before(&folder->begin_queue, stamp, &entry)) {
		struct gmt_fold_answer *answer = &folder->pending_answers.items[entry.item];
		const struct gmt_fold_device *device = gmt_fold_device(folder, (int16_t)answer->row.device);

		if (!device)
			return false;
		answer->row.before_steady_bytes = steady_of(device);
		answer->has_begun = true;
		forget_passed(folder, entry.item);
	}
	while (pop_before(&folder->end_queue, stamp, &entry)) {
		entry.stamp = 0;
		if (!gmt_queue_push(&folder->kept_queue, entry))
			return false;
	}
	while (gmt_queue_pop(&folder->kept_queue, &entry)) {
		struct gmt_fold_answer *answer = &folder->pending_answers.items[entry.item];
		const struct gmt_fold_device *device = gmt_fold_device(folder, (int16_t)answer->row.device);

		if (!device)
			return false;
		answer->row.after_steady_bytes = steady_of(device);
		answer->row.after_pool_bytes = device->now[GMT_SPACE_POOL];
		answer->row.after_graph_bytes = device->now[GMT_SPACE_GRAPH];
		if (!keep_answer(folder, &answer->row))
			return false;
		answer->has_ended = true;
		forget_passed(folder, entry.item);
	}
	return true;
}

bool gmt_fold_pass_moments(struct gmt_folder *folder, uint64_t stamp)
{
	struct gmt_mark mark;

	while (stamp && gmt_fold_next_mark(folder, stamp - 1, &mark))
		if (!keep_mark(folder, &mark))
			return false;
	return pass_answers(folder, stamp);
}

/* --- a past that the input has: it says better what the survivors' marks and ooms seemed to say ----------- */

bool gmt_fold_take_past_moments(struct gmt_folder *folder)
{
	for (size_t i = 0; i < folder->series.count; i++) {
		folder->series.items[i].rows.count = 0;
		folder->series.items[i].groups = folder->series.items[i].waiting = 0;
		folder->series.items[i].stride = 1;
		folder->series.items[i].peaks.count = 0;
	}
	for (size_t i = 0; i < folder->past.steps.count; i++) {
		const struct gmt_past_step *row = &folder->past.steps.items[i];
		struct gmt_mark mark = {
			.source = row->source, .object = row->object, .thread = row->thread, .name = row->name,
		};
		struct gmt_fold_series *series;
		struct gmt_past_step *slot;

		/* No fold writes more: a file that has more was not written by one. */
		if (folder->series.count >= GMT_FOLD_SERIES && !find_series(folder, &mark))
			continue;
		series = get_series(folder, &mark);
		slot = series ? gmt_vec_push(&series->rows) : NULL;
		if (!slot)
			return false;
		series->groups += series->rows.count == 1 || slot[-1].stamp != row->stamp;
		if (row->steps > series->stride)
			series->stride = row->steps;
		*slot = *row;
	}
	for (size_t i = 0; i < folder->series.count; i++) {
		struct gmt_fold_series *series = &folder->series.items[i];

		for (size_t account = 0; account < folder->books.accounts.count; account++) {
			uint64_t *peak = gmt_vec_push(&series->peaks);

			if (!peak)
				return false;
			*peak = folder->books.accounts.items[account].live_bytes;
		}
	}
	folder->pending_answers.count = folder->unused_answers.count = folder->answers.count = 0;
	folder->begin_queue.entries.count = folder->end_queue.entries.count = 0;
	for (size_t i = 0; i < folder->past.answers.count; i++)
		if (!keep_answer(folder, &folder->past.answers.items[i]))
			return false;
	return true;
}

void gmt_fold_moments_fini(struct gmt_folder *folder)
{
	for (size_t i = 0; i < folder->series.count; i++) {
		gmt_vec_fini(&folder->series.items[i].peaks);
		gmt_vec_fini(&folder->series.items[i].rows);
	}
	gmt_vec_fini(&folder->series);
	gmt_vec_fini(&folder->pending_marks);
	gmt_vec_fini(&folder->unused_marks);
	gmt_queue_fini(&folder->mark_queue);
	gmt_vec_fini(&folder->kept_marks);
	gmt_vec_fini(&folder->pending_answers);
	gmt_vec_fini(&folder->unused_answers);
	gmt_queue_fini(&folder->begin_queue);
	gmt_queue_fini(&folder->end_queue);
	gmt_queue_fini(&folder->kept_queue);
	gmt_vec_fini(&folder->answers);
	gmt_vec_fini(&folder->late_samples);
	gmt_vec_fini(&folder->clocks);
	gmt_vec_fini(&folder->ooms);
	gmt_vec_fini(&folder->notes);
	gmt_vec_fini(&folder->drops);
	gmt_vec_fini(&folder->pools);
}
