/* SPDX-License-Identifier: MIT */
#include "analysis/rise.h"

#include "analysis/slope.h"
#include "base/vec.h"

enum {
	LEAST_RISES = 3,     /* fewer may be anything */
	FEW_RISES = 8,       /* are judged by their distances */
	LATE_SAMPLES = 10,   /* that a late beginning must last */
	LEAST_BOTTOMS = 5,   /* of teeth, each above the one before */
};

static const double SURE = 0.9999; /* that a curve with ups and downs rises */

struct search {
	const struct gmt_rise_curve *curve;
	GMT_VEC(uint64_t) kept; /* by sample: the least that is held from there on */
	GMT_VEC(size_t) rises;  /* samples of the range at which more was kept than before */
	size_t first, last;     /* the range that is looked at */
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool find_kept(struct search *search, uint64_t later_bytes)
{
	const struct gmt_rise_curve *curve = search->curve;
	uint64_t least = later_bytes;

	if (!gmt_vec_reserve(&search->kept, curve->count + 1) || !gmt_vec_reserve(&search->rises, curve->count + 1))
		return false;
	search->kept.count = curve->count;
	for (size_t i = curve->count; i-- > 0;) {
		least = smaller(least, curve->held[i]);
		search->kept.items[i] = least;
		least = smaller(least, curve->low[i]);
	}
	return true;
}

static void find_rises(struct search *search)
{
	search->rises.count = 0;
	for (size_t i = search->first + 1; i <= search->last; i++)
		if (search->kept.items[i] > search->kept.items[i - 1])
			search->rises.items[search->rises.count++] = i;
}

static uint64_t rise_between(const struct search *search, size_t from, size_t to)
{
	return search->kept.items[to] - search->kept.items[from];
}

/* Most that was held above what was kept. */
static uint64_t height_of_teeth(const struct search *search)
{
	uint64_t most = 0;

	for (size_t i = search->first; i <= search->last; i++) {
		uint64_t above = search->curve->held[i] - search->kept.items[i];

		most = above > most ? above : most;
	}
	return most;
}

/* Where the curve last came down by about as much as it has risen since; `first` where it did not. */
static size_t last_bottom(const struct search *search)
{
	const struct gmt_rise_curve *curve = search->curve;

	for (size_t i = search->last; i > search->first; i--) {
		uint64_t before = curve->held[i - 1], low = smaller(curve->low[i], curve->held[i]);
		uint64_t since = search->kept.items[search->last] > low ? search->kept.items[search->last] - low : 0;

		if (before > low && before - low >= since - since / 4 && since)
			return i;
	}
	return search->first;
}

/*
 * Few rises: whether the next one is still to come. They come in equal distances, and rise by as much each time; or in
 * distances that grow as the rises do: a buffer that doubles.
 */
static bool are_regular(const struct search *search)
{
	const size_t *rises = search->rises.items;
	size_t count = search->rises.count;
	double first_gap = (double)(rises[1] - rises[0]), last_gap = (double)(rises[count - 1] - rises[count - 2]);
	double since = (double)(search->last - rises[count - 1]);
	uint64_t first_bytes = rise_between(search, rises[0] - 1, rises[0]);
	uint64_t last_bytes = rise_between(search, rises[count - 1] - 1, rises[count - 1]);
	double larger = (double)last_bytes / (double)first_bytes, longer = last_gap / first_gap;

	if (larger < 0.5)
		return false;
	if (larger > 1.5)
		return longer <= 1.5 * larger && since <= 2.2 * last_gap;
	return longer <= 2 && since <= 1.5 * last_gap;
}

static bool is_geometric(const struct search *search)
{
	const size_t *rises = search->rises.items;

	for (size_t i = 1; i < search->rises.count; i++)
		if (rise_between(search, rises[i] - 1, rises[i]) * 4 < rise_between(search, rises[i - 1] - 1, rises[i - 1]) * 5)
			return false;
	return search->rises.count <= FEW_RISES;
}

/* Many rises: whether the last quarter of the steps brought much less than an earlier one, and the second half less than the first. */
static bool tails_off(const struct search *search)
{
	size_t length = search->last - search->first;
	uint64_t quarters[4], most = 0;

	for (size_t q = 0; q < 4; q++) {
		quarters[q] = rise_between(search, search->first + length * q / 4, search->first + length * (q + 1) / 4);
		most = quarters[q] > most ? quarters[q] : most;
	}
	return (double)quarters[3] < 0.35 * (double)most && quarters[2] + quarters[3] < quarters[0] + quarters[1];
}

/* A curve with teeth: each of its bottoms lies above the one before. */
static bool do_bottoms_rise(const struct search *search)
{
	const struct gmt_rise_curve *curve = search->curve;
	uint64_t before = 0;
	size_t bottoms = 0;

	for (size_t i = search->first + 1; i < search->last; i++) {
		uint64_t low = smaller(curve->low[i], curve->held[i]);

		if (curve->held[i - 1] <= low || curve->held[i + 1] <= low)
			continue;
		if (bottoms && low <= before)
			return false;
		before = low;
		bottoms++;
	}
	return bottoms >= LEAST_BOTTOMS;
}

/* Whether ups and downs may have made the rise: `height` of the teeth against it. */
static bool is_sure(const struct search *search, uint64_t bytes, struct gmt_slope *ret_slope, bool *ret_sure)
{
	uint64_t height = height_of_teeth(search);

	if (!gmt_slope_of(search->curve->held + search->first, search->last - search->first + 1, ret_slope))
		return false;
	*ret_sure = !height || (ret_slope->confidence >= SURE && bytes >= height / 2) || do_bottoms_rise(search);
	return true;
}

/* Leaves out a beginning in which nothing was kept. */
static void begin_late(struct search *search)
{
	size_t first = search->rises.items[0] - 1;

	if (first > search->first) {
		search->first = first;
		find_rises(search);
	}
}

/* From rise to rise, so that neither the time before the first one counts nor that behind the last. */
static double rate_of(const struct search *search)
{
	const size_t *rises = search->rises.items;
	size_t count = search->rises.count;
	double bytes = (double)rise_between(search, rises[0], rises[count - 1]);

	return bytes / (double)(rises[count - 1] - rises[0]);
}

static enum gmt_rise_kind kind_of(struct search *search)
{
	bool is_late;

	find_rises(search);
	if (search->rises.count < LEAST_RISES)
		return GMT_RISE_NONE;
	is_late = search->rises.items[0] - search->first > (search->last - search->first) / 4;
	begin_late(search);
	if (is_late && search->last - search->first < LATE_SAMPLES)
		return GMT_RISE_NONE;
	if (search->rises.count <= FEW_RISES && search->rises.count * 2 < search->last - search->first)
		return are_regular(search) ? GMT_RISE_GROWS : GMT_RISE_FILLS;
	return tails_off(search) ? GMT_RISE_FILLS : GMT_RISE_GROWS;
}

/* In the range from first to last, which an unfinished tooth at its end is left out of. */
static bool judge(struct search *search, struct gmt_rise *ret_rise)
{
	struct gmt_slope slope;
	bool sure = false, had_tooth;
	size_t bottom = last_bottom(search);

	had_tooth = bottom > search->first;
	if (had_tooth)
		search->last = bottom;
	ret_rise->kind = kind_of(search);
	if (ret_rise->kind == GMT_RISE_GROWS || ret_rise->kind == GMT_RISE_FILLS) {
		ret_rise->first = search->first;
		ret_rise->last = search->last;
		ret_rise->last_rise = search->rises.items[search->rises.count - 1];
		ret_rise->is_geometric = is_geometric(search);
		ret_rise->bytes = rise_between(search, search->first, search->last);
		ret_rise->per_sample = rate_of(search);
		if (!is_sure(search, ret_rise->bytes, &slope, &sure))
			return false;
		ret_rise->confidence = slope.confidence;
		if (!sure)
			ret_rise->kind = GMT_RISE_NONE;
	}
	if (had_tooth && ret_rise->kind == GMT_RISE_NONE)
		ret_rise->kind = GMT_RISE_ENDS;
	return true;
}

static bool judge_with(struct search *search, uint64_t later_bytes, struct gmt_rise *ret_rise)
{
	const struct gmt_rise_curve *curve = search->curve;

	*ret_rise = (struct gmt_rise){ 0 };
	search->first = curve->first;
	search->last = curve->count - 1 - curve->margin;
	return find_kept(search, later_bytes) && judge(search, ret_rise);
}

bool gmt_rise_of(const struct gmt_rise_curve *curve, struct gmt_rise *ret_rise)
{
	struct search search = { .curve = curve };
	struct gmt_rise until_then;
	bool done = true;

	*ret_rise = (struct gmt_rise){ 0 };
	if (curve->count < curve->first + curve->margin + LEAST_RISES + 1)
		return true;
	done = judge_with(&search, curve->later_bytes, ret_rise);
	/* What would have been growth, had the program not given it back. */
	if (done && ret_rise->kind == GMT_RISE_NONE && curve->later_bytes < curve->held[curve->count - 1]) {
		done = judge_with(&search, UINT64_MAX, &until_then);
		if (done && until_then.kind == GMT_RISE_GROWS) {
			*ret_rise = until_then;
			ret_rise->kind = GMT_RISE_ENDS;
		}
	}
	gmt_vec_fini(&search.kept);
	gmt_vec_fini(&search.rises);
	return done;
}
