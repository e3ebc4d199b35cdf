/* SPDX-License-Identifier: MIT */
/*
 * What a compaction keeps for the analysis of growth. For each step counter it keeps, per site:
 * what the site held at the ends of some steps (the samples), the minimum between samples, and the
 * bytes of old blocks that ended.
 *
 * The samples are evenly spaced. If there are too many, every second sample is merged into the
 * next. So the reader judges growth by the same rules as for a whole recording.
 */
#include <stddef.h>
#include <string.h>

#include "compaction/compact_internal.h"

enum {
	MAX_SAMPLES = 256,   /* samples of one counter; the reader examines no more */
	MIN_SAMPLES = 16,   /* with fewer samples, growth cannot be judged */
	/* rows of all followed counters; above this number, samples are thinned out, ... */
	MANY_ROWS = 32768,
	MAX_ROWS = 131072,   /* ... and above this number, the curve is dropped */
};

static struct gmt_compact_curve_site *site_of(struct gmt_compact_curve *curve, uint32_t site)
{
	if (site >= curve->sites.count) {
		/* New entries are zero. */
		if (!gmt_vec_reserve(&curve->sites, site + 1 - curve->sites.count))
			return NULL;
		curve->sites.count = site + 1;
	}
	return &curve->sites.items[site];
}

static bool touch(struct gmt_compact_curve *curve, uint32_t site, uint64_t before_bytes)
{
	struct gmt_compact_curve_site *row = site_of(curve, site);
	uint32_t *slot;

	if (!row || row->is_touched)
		return row;
	slot = gmt_vec_push(&curve->touched);
	if (!slot)
		return false;
	*slot = site;
	row->is_touched = true;
	row->low_bytes = curve->has_end ? before_bytes : UINT64_MAX;
	row->ended_bytes = 0;
	return true;
}

bool gmt_compact_note_site_change(struct gmt_compactor *compactor, uint32_t site,
	uint64_t before_bytes, const struct gmt_account_block *ended)
{
	for (uint32_t i = 0; i < compactor->followed_count; i++) {
		struct gmt_compact_curve *curve = &compactor->series.items[compactor->followed[i]].curve;

		if (!touch(curve, site, before_bytes))
			return false;
		if (ended && ended->stamp <= curve->before_stamp)
			curve->sites.items[site].ended_bytes += ended->size_bytes;
	}
	return true;
}

/* --- merging samples ------------------------------------------------------------------------- */

/* A site while the samples of an interval are merged. */
struct merged {
	struct gmt_past_curve row;
	uint64_t before_bytes; /* what the site held at the beginning of the interval */
	bool is_in_interval;
};

struct merger {
	struct gmt_compact_curve *curve;
	GMT_VEC(struct merged) sites; /* indexed by site */
	GMT_VEC(uint32_t) interval_sites;
	size_t kept; /* number of the curve's rows that are complete */
};

static bool merge_row(struct merger *merger, const struct gmt_past_curve *row)
{
	struct merged *merged = &merger->sites.items[row->site - 1];

	if (!merged->is_in_interval) {
		uint32_t *slot = gmt_vec_push(&merger->interval_sites);

		if (!slot)
			return false;
		*slot = row->site - 1;
		*merged = (struct merged){
			.row = *row, .before_bytes = merged->row.live_bytes, .is_in_interval = true
		};
		/* At the dropped sample the site held the same as before. */
		if (row->step && row->step % merger->curve->stride == 0 &&
			merged->before_bytes < merged->row.low_bytes)
			merged->row.low_bytes = merged->before_bytes;
		return true;
	}
	merged->row.live_bytes = row->live_bytes;
	merged->row.ended_bytes += row->ended_bytes;
	if (row->low_bytes < merged->row.low_bytes)
		merged->row.low_bytes = row->low_bytes;
	return true;
}

/* Writes the rows of an interval whose last sample is kept. */
static void keep_interval(struct merger *merger, uint64_t step)
{
	for (size_t i = 0; i < merger->interval_sites.count; i++) {
		struct merged *merged = &merger->sites.items[merger->interval_sites.items[i]];

		merged->row.step = step;
		merged->is_in_interval = false;
		merger->curve->rows.items[merger->kept++] = merged->row;
	}
	merger->interval_sites.count = 0;
}

/* Reopens the rows of the last interval: its sample is still to come. */
static bool open_interval(struct merger *merger)
{
	struct gmt_compact_curve *curve = merger->curve;

	curve->has_end |= merger->interval_sites.count != 0;
	for (size_t i = 0; i < merger->interval_sites.count; i++) {
		struct merged *merged = &merger->sites.items[merger->interval_sites.items[i]];
		struct gmt_compact_curve_site *site = &curve->sites.items[merger->interval_sites.items[i]];

		if (!touch(curve, merger->interval_sites.items[i], merged->row.low_bytes))
			return false;
		site->low_bytes = merged->row.low_bytes;
		site->ended_bytes = merged->row.ended_bytes;
		merged->row.live_bytes = merged->before_bytes;
	}
	for (size_t i = 0; i < merger->sites.count; i++)
		if (curve->sites.items[i].has_row)
			curve->sites.items[i].live_bytes = merger->sites.items[i].row.live_bytes;
	return true;
}

/* Doubles the number of marks that a row represents. Called directly after a sample. */
static bool halve_samples(struct gmt_compact_curve *curve)
{
	struct merger merger = { .curve = curve };
	uint64_t stride = curve->stride *= 2, step = 0;
	bool done = gmt_vec_reserve(&merger.sites, curve->sites.count);

	if (done)
		merger.sites.count = curve->sites.count;
	for (size_t i = 0; done && i < curve->rows.count; i++) {
		/* Writing at `kept` is safe, because kept <= i: that row was already read. */
		struct gmt_past_curve row = curve->rows.items[i];
		uint64_t ends = (row.step + stride - 1) / stride * stride;

		if (ends != step)
			keep_interval(&merger, step);
		step = ends;
		done = merge_row(&merger, &row);
	}
	/* If the last sample is kept, its rows are kept too. */
	if (step < curve->marks)
		keep_interval(&merger, step);
	curve->rows.count = merger.kept;
	curve->has_end = (curve->marks - 1) % stride != 0;
	done = done && open_interval(&merger);
	gmt_vec_fini(&merger.sites);
	gmt_vec_fini(&merger.interval_sites);
	return done;
}

/* --- marks ----------------------------------------------------------------------------------- */

static bool add_row(struct gmt_compact_curve *curve, uint32_t site, uint64_t live_bytes)
{
	struct gmt_compact_curve_site *state = &curve->sites.items[site];
	struct gmt_past_curve *row;

	state->is_touched = false;
	if (state->has_row && state->live_bytes == live_bytes && state->low_bytes == live_bytes &&
		!state->ended_bytes)
		return true;
	row = gmt_vec_push(&curve->rows);
	if (!row)
		return false;
	*row = (struct gmt_past_curve){
		.step = curve->marks,
		.site = site + 1,
		.live_bytes = live_bytes,
		.low_bytes = state->low_bytes,
		.ended_bytes = state->ended_bytes,
	};
	state->has_row = true;
	state->live_bytes = live_bytes;
	return true;
}

/* Compares with an equal share of the limit: each followed curve may use the same part. */
static bool has_more(const struct gmt_compactor *compactor, const struct gmt_compact_curve *curve,
	size_t rows)
{
	return curve->rows.count * compactor->followed_count > rows;
}

static bool has_too_many_samples(const struct gmt_compactor *compactor,
	const struct gmt_compact_curve *curve)
{
	uint64_t samples = (curve->marks - 1) / curve->stride + 1;

	return samples > MAX_SAMPLES ||
		(has_more(compactor, curve, MANY_ROWS) && samples >= 2 * MIN_SAMPLES);
}

static void stop_following(struct gmt_compactor *compactor, uint32_t slot)
{
	struct gmt_compact_curve *curve = &compactor->series.items[compactor->followed[slot]].curve;

	curve->is_followed = false;
	compactor->followed[slot] = compactor->followed[--compactor->followed_count];
	gmt_vec_fini(&curve->touched);
	gmt_vec_fini(&curve->sites);
}

static void drop_curve(struct gmt_compactor *compactor, struct gmt_compact_curve *curve)
{
	for (uint32_t i = 0; i < compactor->followed_count; i++)
		if (&compactor->series.items[compactor->followed[i]].curve == curve) {
			stop_following(compactor, i);
			break;
		}
	curve->is_known = false;
	gmt_vec_fini(&curve->rows);
}

/*
 * Follows a new series. If the limit is reached, it replaces the series whose last mark is oldest.
 * That series is probably over: programs recreate optimizers.
 */
bool gmt_compact_start_curve(struct gmt_compactor *compactor, uint32_t series)
{
	struct gmt_compact_curve *curve = &compactor->series.items[series].curve;
	uint32_t oldest = 0;

	if (compactor->followed_count == GMT_COMPACT_MAX_FOLLOWED) {
		for (uint32_t i = 1; i < compactor->followed_count; i++)
			if (compactor->series.items[compactor->followed[i]].curve.last_stamp <
				compactor->series.items[compactor->followed[oldest]].curve.last_stamp)
				oldest = i;
		stop_following(compactor, oldest);
	}
	compactor->followed[compactor->followed_count++] = series;
	*curve = (struct gmt_compact_curve){ .is_followed = true, .is_known = true, .stride = 1 };
	/* For the new curve, everything that is live now is new. */
	for (uint32_t site = 0; site < compactor->accounting.sites.count; site++)
		if (!touch(curve, site, 0))
			return false;
	return true;
}

bool gmt_compact_mark_curve(struct gmt_compactor *compactor, struct gmt_compact_series *series,
	uint64_t stamp)
{
	struct gmt_compact_curve *curve = &series->curve;

	if (!curve->is_followed) {
		/*
		 * The compactor had stopped following this series because it seemed to be over. So the
		 * curve has a gap.
		 */
		drop_curve(compactor, curve);
		return true;
	}
	for (size_t i = 0; i < curve->touched.count; i++) {
		struct gmt_compact_curve_site *site = &curve->sites.items[curve->touched.items[i]];
		uint64_t live_bytes = compactor->accounting.sites.items[curve->touched.items[i]].live_bytes;

		site->low_bytes = live_bytes < site->low_bytes ? live_bytes : site->low_bytes;
	}
	curve->has_end = true;
	curve->before_stamp = curve->last_stamp;
	curve->last_stamp = stamp;
	if (curve->marks % curve->stride) {
		curve->marks++;
		return true;
	}
	for (size_t i = 0; i < curve->touched.count; i++)
		if (!add_row(curve, curve->touched.items[i],
				compactor->accounting.sites.items[curve->touched.items[i]].live_bytes))
			return false;
	curve->touched.count = 0;
	curve->has_end = false;
	curve->marks++;
	while (has_too_many_samples(compactor, curve))
		if (!halve_samples(curve))
			return false;
	if (has_more(compactor, curve, MAX_ROWS))
		drop_curve(compactor, curve);
	return true;
}

/* --- writing, and the prefix of a compacted input -------------------------------------------- */

bool gmt_compact_write_counters(struct gmt_compactor *compactor)
{
	for (size_t i = 0; i < compactor->series.count; i++) {
		const struct gmt_compact_series *series = &compactor->series.items[i];
		const struct gmt_compact_curve *curve = &series->curve;
		struct gmt_past_counter row = {
			.source = series->source,
			.object = series->object,
			.thread = series->thread,
			.name = series->name,
			.marks = curve->marks,
			.stride = curve->stride,
			.last_stamp = curve->last_stamp,
			.before_stamp = curve->before_stamp,
			.is_followed = curve->is_followed,
		};

		if (curve->is_known &&
			!compactor->options.write(compactor->options.user, GMT_RECORD_PAST_COUNTER, &row, 1))
			return false;
	}
	return true;
}

static bool write_rows(struct gmt_compactor *compactor, struct gmt_past_curve *rows, uint32_t count)
{
	return !count ||
		compactor->options.write(compactor->options.user, GMT_RECORD_PAST_CURVE, rows, count);
}

/* Writes the rows of one counter, then its open rows. */
static bool write_curve(struct gmt_compactor *compactor, const struct gmt_compact_curve *curve,
	uint32_t number)
{
	struct gmt_past_curve rows[GMT_COMPACT_ROWS_PER_BLOCK];
	uint32_t count = 0;

	for (size_t i = 0; i < curve->rows.count + curve->touched.count; i++) {
		struct gmt_past_curve *row = &rows[count++];

		if (i < curve->rows.count) {
			*row = curve->rows.items[i];
		} else {
			uint32_t site = curve->touched.items[i - curve->rows.count];
			const struct gmt_compact_curve_site *state = &curve->sites.items[site];
			uint64_t live_bytes = compactor->accounting.sites.items[site].live_bytes;

			*row = (struct gmt_past_curve){
				.step = curve->marks,
				.site = site + 1,
				.live_bytes = live_bytes,
				.low_bytes = curve->has_end ? state->low_bytes : live_bytes,
				.ended_bytes = state->ended_bytes,
			};
		}
		row->counter = number;
		if (count == GMT_COMPACT_ROWS_PER_BLOCK) {
			if (!write_rows(compactor, rows, count))
				return false;
			count = 0;
		}
	}
	return write_rows(compactor, rows, count);
}

bool gmt_compact_write_curves(struct gmt_compactor *compactor, bool *ret_done)
{
	uint32_t number = 0;

	/* Writes one counter per call. head_cursor is the number of series that are done. */
	for (size_t i = 0; i < compactor->series.count; i++) {
		const struct gmt_compact_curve *curve = &compactor->series.items[i].curve;

		number += curve->is_known;
		if (!curve->is_known || i < compactor->head_cursor)
			continue;
		compactor->head_cursor = i + 1;
		*ret_done = false;
		return write_curve(compactor, curve, number);
	}
	*ret_done = true;
	return true;
}

static struct gmt_compact_curve *find_curve(struct gmt_compactor *compactor,
	const struct gmt_past_counter *row, uint32_t *ret_series)
{
	for (size_t i = 0; i < compactor->series.count; i++) {
		const struct gmt_compact_series *series = &compactor->series.items[i];

		if (series->source == row->source && series->object == row->object &&
			series->thread == row->thread && series->name == row->name) {
			*ret_series = (uint32_t)i;
			return &compactor->series.items[i].curve;
		}
	}
	return NULL;
}

/* Restores a row of the input's prefix. An inconsistent row makes the whole curve unusable. */
static bool restore_row(struct gmt_compactor *compactor, struct gmt_compact_curve *curve,
	const struct gmt_past_curve *row)
{
	uint64_t last_step = curve->rows.count ? curve->rows.items[curve->rows.count - 1].step : 0;
	bool is_open = row->step >= curve->marks;
	struct gmt_compact_curve_site *site;
	struct gmt_past_curve *slot;
	uint32_t id;

	if (!row->site || row->site > compactor->prefix_sites.count ||
		!compactor->prefix_sites.items[row->site - 1] || row->step < last_step ||
		row->step > curve->marks || (!is_open && row->step % curve->stride)) {
		curve->is_known = false;
		return true;
	}
	id = compactor->prefix_sites.items[row->site - 1] - 1;
	site = site_of(curve, id);
	if (!site)
		return false;
	if (is_open) {
		if (!touch(curve, id, row->low_bytes))
			return false;
		site = site_of(curve, id);
		site->ended_bytes = row->ended_bytes;
		return true;
	}
	site->has_row = true;
	site->live_bytes = row->live_bytes;
	slot = gmt_vec_push(&curve->rows);
	if (!slot)
		return false;
	*slot = *row;
	slot->site = id + 1;
	return true;
}

bool gmt_compact_restore_curves(struct gmt_compactor *compactor)
{
	const struct gmt_compacted_prefix *prefix = &compactor->prefix;
	GMT_VEC(uint32_t) series = { 0 }; /* by row of prefix->counters: its series, plus 1 */
	bool done = gmt_vec_reserve(&series, prefix->counters.count + 1), are_consistent = true;

	compactor->followed_count = 0;
	for (size_t i = 0; i < compactor->series.count; i++) {
		gmt_compact_curve_fini(&compactor->series.items[i].curve);
		compactor->series.items[i].curve = (struct gmt_compact_curve){ 0 };
	}
	for (size_t i = 0; done && i < prefix->counters.count; i++) {
		const struct gmt_past_counter *row = &prefix->counters.items[i];
		uint32_t number;
		struct gmt_compact_curve *curve = find_curve(compactor, row, &number);

		if (!curve || curve->is_known || !row->marks || !row->stride)
			continue;
		*curve = (struct gmt_compact_curve){
			.marks = row->marks,
			.stride = row->stride,
			.last_stamp = row->last_stamp,
			.before_stamp = row->before_stamp,
			.is_known = true,
			.has_end = (row->marks - 1) % row->stride != 0,
			.is_followed = row->is_followed && compactor->followed_count < GMT_COMPACT_MAX_FOLLOWED,
		};
		if (curve->is_followed)
			compactor->followed[compactor->followed_count++] = number;
		series.items[i] = number + 1;
	}
	for (size_t i = 0; done && i < prefix->curves.count; i++) {
		const struct gmt_past_curve *row = &prefix->curves.items[i];
		bool has_counter = row->counter && row->counter <= prefix->counters.count;
		uint32_t number = has_counter ? series.items[row->counter - 1] : 0;

		are_consistent &= has_counter;
		done = !number || restore_row(compactor, &compactor->series.items[number - 1].curve, row);
	}
	for (size_t i = 0; i < compactor->series.count; i++)
		if (!are_consistent || !compactor->series.items[i].curve.is_known)
			drop_curve(compactor, &compactor->series.items[i].curve);
	gmt_vec_fini(&series);
	return done;
}

void gmt_compact_curve_fini(struct gmt_compact_curve *curve)
{
	gmt_vec_fini(&curve->sites);
	gmt_vec_fini(&curve->touched);
	gmt_vec_fini(&curve->rows);
}
