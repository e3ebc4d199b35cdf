/* SPDX-License-Identifier: MIT */
#include "analysis/steps/step_parts.h"

#include "analysis/leaks/leak_evidence.h"

enum {
	EPOCH_STEPS_DIVISOR = 4
}; /* the lines of an epoch allocate in fewer than one of this many steps */

/* Sums over all sites of one part of an account. They become a row. */
struct sums {
	uint64_t made_bytes, left_bytes, peak_bytes;
	uint32_t max_steps; /* maximum over the sites */
	size_t first, count; /* range in builder.sites */
};

struct builder {
	const struct gmt_step_parts *parts;
	const struct gmt_replay *replay;
	struct gmt_leak_search search;
	GMT_VEC(struct sums) sums;   /* by row */
	GMT_VEC(uint32_t) row_of;    /* by site */
	GMT_VEC(uint32_t) sites;     /* sorted by row */
};

/* Returns whether there is only one step. Then the first step counts too. */
static bool has_one_step(const struct gmt_step_parts *parts)
{
	return parts->timeline->series[0].steps.count == 1;
}

/* Returns the step of a series that contains the event, + 1. 0: the event is in no step. */
static uint32_t step_of(struct gmt_step_parts *parts, size_t series, uint64_t stamp)
{
	return series < parts->timeline->series_count &&
			gmt_series_find_next(&parts->timeline->series[series], stamp, &parts->cursors[series])
		? parts->cursors[series] + 1
		: 0;
}

static bool began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	struct gmt_step_parts *parts = user;
	const struct gmt_accounting *accounting = &replay->accounting;
	uint64_t live_bytes =
		accounting->accounts.items[accounting->sites.items[site].account].live_bytes;
	uint32_t step = step_of(parts, 0, event->stamp), call = step_of(parts, 1, event->stamp);
	struct gmt_step_parts_site *row;

	if (!gmt_vec_grow_to(&parts->sites, accounting->sites.count))
		return false;
	row = &parts->sites.items[site];
	row->allocs++;
	row->evaluation_allocs += call != 0;
	row->calls += call && row->last_call_plus_1 != call;
	row->last_call_plus_1 = call;
	if (!step || (step == 1 && !has_one_step(parts)))
		return true;
	row->made_bytes = gmt_saturating_add_i64(row->made_bytes, event->size_bytes);
	row->left_bytes = gmt_saturating_add_i64(row->left_bytes, event->size_bytes);
	row->peak_bytes = live_bytes > row->peak_bytes ? live_bytes : row->peak_bytes;
	row->steps += row->last_plus_1 != step;
	row->last_plus_1 = step;
	return true;
}

static bool ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	struct gmt_step_parts *parts = user;
	uint32_t step = step_of(parts, 0, event->stamp);

	(void)replay;
	if (step && block->stamp > parts->timeline->series[0].steps.items[step - 1].begin &&
		parts->sites.items[block->site].left_bytes >= block->size_bytes)
		parts->sites.items[block->site].left_bytes -= block->size_bytes;
	return true;
}

void gmt_step_parts_init(struct gmt_step_parts *parts, const struct gmt_timeline *timeline,
	const struct gmt_traces *traces)
{
	parts->timeline = timeline;
	parts->traces = traces;
	if (timeline->series_count)
		parts->observer =
			(struct gmt_replay_observer){ .began = began, .ended = ended, .user = parts };
}

static unsigned part_of(const struct gmt_step_parts *parts, const struct gmt_replay *replay,
	uint32_t site)
{
	const struct gmt_step_parts_site *row = &parts->sites.items[site];
	enum gmt_part part =
		gmt_part_of(parts->traces->stack_frame_kinds.items[replay->site_stacks.items[site]]);
	size_t steps = parts->timeline->series[0].steps.count;

	/*
	 * The last call of an evaluation extends to the end of the step. Allocations after that call do
	 * not belong to evaluation.
	 */
	if (row->evaluation_allocs * 2 > row->allocs &&
		(part == GMT_PART_FORWARD ||
			(uint64_t)row->calls * 2 > parts->timeline->series[1].steps.count))
		return GMT_STEP_PARTS_EVALUATION;
	return part == GMT_PART_OTHER && (uint64_t)row->steps * EPOCH_STEPS_DIVISOR < steps - 1
		? GMT_STEP_PARTS_EPOCH
		: part;
}

static void sum_up(struct builder *builder)
{
	const struct gmt_accounting *accounting = &builder->replay->accounting;
	size_t first = 0;

	for (uint32_t i = 0; i < accounting->sites.count; i++) {
		const struct gmt_step_parts_site *site = &builder->parts->sites.items[i];
		uint32_t row = (uint32_t)(accounting->sites.items[i].account * GMT_STEP_PARTS +
			part_of(builder->parts, builder->replay, i));
		struct sums *sums = &builder->sums.items[row];

		builder->row_of.items[i] = row;
		sums->count++;
		sums->made_bytes = gmt_saturating_add_i64(sums->made_bytes, site->made_bytes);
		sums->left_bytes = gmt_saturating_add_i64(sums->left_bytes, site->left_bytes);
		sums->peak_bytes =
			site->peak_bytes > sums->peak_bytes ? site->peak_bytes : sums->peak_bytes;
		sums->max_steps = site->steps > sums->max_steps ? site->steps : sums->max_steps;
	}
	for (size_t row = 0; row < accounting->accounts.count * GMT_STEP_PARTS; row++) {
		builder->sums.items[row].first = first;
		first += builder->sums.items[row].count;
		builder->sums.items[row].count = 0;
	}
	for (uint32_t i = 0; i < accounting->sites.count; i++) {
		struct sums *sums = &builder->sums.items[builder->row_of.items[i]];

		builder->sites.items[sums->first + sums->count++] = i;
	}
}

/*
 * Finds by how much the memory of a row's sites rises per step. Below 0: there are too few steps.
 * False when out of memory.
 */
static bool find_kept(struct builder *builder, const struct sums *sums, double *ret_bytes)
{
	const struct gmt_leak_span *span = &builder->search.span;
	struct gmt_rise rise;

	*ret_bytes = -1;
	if (!gmt_leak_is_long_enough(span))
		return true;
	if (!gmt_leak_curve_begin(&builder->search))
		return false;
	for (size_t i = 0; i < sums->count; i++)
		gmt_leak_curve_add(&builder->search, builder->sites.items[sums->first + i]);
	if (!gmt_leak_curve_judge(&builder->search, UINT64_MAX, &rise))
		return false;
	*ret_bytes = rise.kind == GMT_RISE_GROWS ? rise.per_sample / (double)span->stride : 0;
	return true;
}

static uint64_t times_of(const struct gmt_step_parts *parts, unsigned part, const struct sums *sums)
{
	if (part == GMT_STEP_PARTS_EVALUATION)
		return parts->timeline->series[1].steps.count;
	return part == GMT_STEP_PARTS_EPOCH
		? sums->max_steps
		: parts->timeline->series[0].steps.count - !has_one_step(parts);
}

static bool make_row(struct builder *builder, unsigned part, const struct sums *sums,
	struct gmt_step_parts_row *row)
{
	double kept_bytes;

	if (!sums->made_bytes)
		return true;
	if (!find_kept(builder, sums, &kept_bytes))
		return false;
	row->times = times_of(builder->parts, part, sums);
	row->times += !row->times;
	row->made_bytes = sums->made_bytes / row->times;
	row->kept_bytes = kept_bytes;
	if (kept_bytes > 0 && part >= GMT_PARTS)
		row->kept_bytes = kept_bytes * (double)builder->search.span.steps / (double)row->times;
	row->carried_bytes = sums->left_bytes / row->times;
	if (row->kept_bytes > 0)
		row->carried_bytes -= row->kept_bytes < (double)row->carried_bytes
			? (uint64_t)row->kept_bytes
			: row->carried_bytes;
	row->peak_bytes = sums->peak_bytes;
	return true;
}

bool gmt_step_parts_finish(struct gmt_step_parts *parts, const struct gmt_replay *replay,
	const struct gmt_history *history)
{
	static const struct gmt_leaks_options defaults = { .warmup_steps = UINT32_MAX };
	struct gmt_leak_builder leaks = {
		.timeline = parts->timeline, .history = history, .replay = replay, .options = &defaults
	};
	struct builder builder = { .parts = parts, .replay = replay, .search = { .builder = &leaks } };
	size_t rows = replay->accounting.accounts.count * GMT_STEP_PARTS,
		   sites = replay->accounting.sites.count;
	bool done;

	if (!parts->timeline->series_count || !history->series[0].step_count)
		return true;
	builder.search.span = gmt_leak_span_of(&leaks, 0);
	/* The reserved memory is zeroed. It is indexed. */
	done = gmt_vec_grow_to(&parts->sites, sites) && gmt_vec_reserve(&builder.sums, rows + 1) &&
		gmt_vec_reserve(&builder.row_of, sites + 1) && gmt_vec_reserve(&builder.sites, sites + 1) &&
		gmt_vec_reserve(&parts->rows, rows + 1);
	if (done)
		sum_up(&builder);
	for (size_t i = 0; done && i < rows; i++)
		done = make_row(&builder, (unsigned)(i % GMT_STEP_PARTS), &builder.sums.items[i],
			&parts->rows.items[i]);
	if (done)
		parts->rows.count = rows;
	gmt_vec_fini(&builder.sums);
	gmt_vec_fini(&builder.row_of);
	gmt_vec_fini(&builder.sites);
	gmt_leak_search_fini(&builder.search);
	return done;
}

const char *gmt_step_parts_name(unsigned part)
{
	if (part < GMT_PARTS)
		return gmt_part_name((enum gmt_part)part);
	return part == GMT_STEP_PARTS_EVALUATION ? "evaluation" : "epoch";
}

void gmt_step_parts_fini(struct gmt_step_parts *parts)
{
	gmt_vec_fini(&parts->sites);
	gmt_vec_fini(&parts->rows);
}
